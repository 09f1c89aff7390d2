-- For each cargo: when it is loaded, its owner and its request. Nothing is written to the schema's tables yet.

-- The kinds of work of a project, their shares, models and max_tokens.
create temporary table work as
select * from (values
    (1, 'support', 4, 0.0, 0.55, 2000), (1, 'support', 3, 0.55, 0.85, 400), (1, 'moderation', 7, 0.85, 1.0, 60),
    (2, 'embedding', 6, 0.0, 1.0, 0),
    (3, 'translation', 3, 0.0, 0.6, 300), (3, 'translation', 5, 0.6, 1.0, 300),
    (4, 'invoice', 4, 0.0, 0.5, 500), (4, 'invoice', 3, 0.5, 1.0, 500),
    (5, 'moderation', 7, 0.0, 0.5, 60), (5, 'claim', 4, 0.5, 1.0, 250),
    (6, 'summary', 5, 0.0, 0.5, 350), (6, 'translation', 3, 0.5, 1.0, 300),
    (7, 'embedding', 6, 0.0, 1.0, 0),
    (8, 'support', 1, 0.0, 0.6, 200), (8, 'summary', 2, 0.6, 1.0, 200),
    (9, 'support', 4, 0.0, 0.2, 2000), (9, 'invoice', 3, 0.2, 0.5, 500), (9, 'embedding', 6, 0.5, 0.8, 0),
    (9, 'translation', 5, 0.8, 1.0, 300)
) as it (project, work, model, share_from, share_to, max_tokens);

-- The callback receivers of a project, each with its share. Some cargo has no callback.
create temporary table receiver as
select * from (values
    (1, 'hooks.nordlicht-retail.example', '/longshore/tickets', 0.0, 0.7),
    (1, 'moderation.nordlicht-retail.example', '/verdicts', 0.7, 0.97),
    (2, 'search-ingest.nordlicht-retail.example', '/v2/vectors', 0.0, 0.95),
    (3, 'i18n.nordlicht-retail.example', '/callbacks/longshore', 0.0, 1.0),
    (4, 'api.kestrel-claims.example', '/intake/answers', 0.0, 0.9),
    (5, 'risk.kestrel-claims.example', '/scores?source=longshore', 0.0, 1.0),
    (6, 'cms.polyglot-press.example', '/hooks/drafts', 0.0, 0.6),
    (6, 'wire.polyglot-press.example', '/translated', 0.6, 0.95),
    (7, 'archive.polyglot-press.example', '/embeddings', 0.0, 0.8),
    (8, 'juniper-labs.webhooks.example', '/try/7f3a', 0.0, 0.5),
    (9, 'hooks.nordlicht-retail.example', '/longshore/big', 0.0, 0.9),
    (9, 'search-ingest.nordlicht-retail.example', '/v2/big', 0.9, 1.0)
) as it (project, host, path, share_from, share_to);

-- Every hour of the thirty days, and the number of a project's cargo in it: by day and night,
-- workdays and Sundays, growth, some noise, and a peak now, so that some cargo is in flight.
create temporary table hour as
with weighed as (
    select p.number as project, at, least(at + interval '1 hour', :'now'::timestamptz - interval '5 seconds') as until,
        (0.15 + case when p.nights then exp(-power((extract(hour from at at time zone 'UTC') - 2) / 3.0, 2))
             else exp(-power((extract(hour from at at time zone 'UTC') - 13) / 4.5, 2)) end)
        * case when p.nights then 1.0
             else case extract(isodow from at at time zone 'UTC') when 6 then 0.35 when 7 then 0.22 when 5 then 0.9 else 1 end
          end
        * (1 + (p.growth - 1) * (extract(epoch from at - (:'now'::timestamptz - interval '30 days')) / 2592000))
        * case when at > :'now'::timestamptz - interval '3 hours' then 3 else 1 end
        * (0.75 + 0.5 * pg_temp.chance(extract(epoch from at)::bigint, p.number)) as weight
    from project p
    cross join generate_series(date_trunc('hour', :'now'::timestamptz - interval '716 hours'),
        date_trunc('hour', :'now'::timestamptz - interval '5 seconds'), interval '1 hour') as at
), partial as (
    select project, at, until, weight * extract(epoch from until - at) / 3600 as weight from weighed
), summed as (
    select *, sum(weight) over (partition by project order by at) / sum(weight) over (partition by project) as upto,
        sum(weight) over (partition by project) as whole
    from partial
)
select s.project, s.at, s.until,
    floor((s.upto - s.weight / s.whole) * p.share * :cargo + 0.000001)::bigint as first,
    floor(s.upto * p.share * :cargo + 0.000001)::bigint as last
from summed s join project p on p.number = s.project;

create temporary table load as
with placed as (
    select h.project, i + h.project * 1000000000::bigint as n,
        date_trunc('microseconds', h.at + (h.until - h.at) * ((i - h.first - pg_temp.chance(i + h.project * 1000000000::bigint, 10))
            / (h.last - h.first))) as created_at
    from hour h cross join lateral generate_series(h.first + 1, h.last) as i
)
select l.n, p.organization, p.organization_number, p.id as project, p.berth, l.created_at,
    pg_temp.id(l.created_at, p.berth, l.n, 11) as id, k.id as api_key, w.work, w.model as model_number, w.max_tokens,
    r.host || ':443' as host, 'https://' || r.host || r.path as url
from placed l
join project p on p.number = l.project
join api_key k on k.project_number = l.project
    and pg_temp.chance(l.n, 12) >= k.share_from and pg_temp.chance(l.n, 12) < k.share_to
join work w on w.project = l.project
    and pg_temp.chance(l.n, 13) >= w.share_from and pg_temp.chance(l.n, 13) < w.share_to
left join receiver r on r.project = l.project
    and pg_temp.chance(l.n, 14) >= r.share_from and pg_temp.chance(l.n, 14) < r.share_to;
create index on load (id);
analyze load;

select count(shard.make_day(day::date)) as days
from generate_series((:'now'::timestamptz - interval '30 days') at time zone 'UTC', (:'now'::timestamptz + interval '7 days') at time zone 'UTC',
    interval '1 day') as day \gset
