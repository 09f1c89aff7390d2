-- Callbacks: every attempt, the open deliveries, and then the rows of cargo.

-- One receiver was down for two hours on an earlier day, and one has an expired certificate.
select date_trunc('hour', :'now'::timestamptz - interval '1 day' * (case extract(isodow from :'now'::timestamptz at time zone 'UTC' - interval '4 days') when 6 then 5 when 7 then 6 else 4 end + 1)) + interval '1 hour' * (9 - extract(hour from :'now'::timestamptz at time zone 'UTC')::int)
    as down_from \gset

-- Retries follow 30 seconds, 2, 10, 30 and 60 minutes after the end of the attempt before.
create temporary table schedule as
select * from (values (1, 0), (2, 30), (3, 150), (4, 750), (5, 2550), (6, 6150)) as it (number, seconds);

create temporary table callback as
with begun as (
    select id, n, organization, project, host, completed_at,
        completed_at + interval '1 millisecond' * (40 + floor(900 * pg_temp.chance(n, 80))) as begins_at,
        case when pg_temp.chance(n, 81) < 0.965 then 1 when pg_temp.chance(n, 81) < 0.985 then 2
            when pg_temp.chance(n, 81) < 0.991 then 3 when pg_temp.chance(n, 81) < 0.994 then 4 else 7 end as usual
    from priced_cargo where completed_at is not null and host is not null
), needed as (
    select b.*, case
        when host = 'hooks.nordlicht-retail.example:443' and begins_at >= :'down_from'::timestamptz and begins_at < :'down_from'::timestamptz + interval '2 hours'
            then coalesce((select min(s.number) from schedule s where begins_at + interval '1 second' * s.seconds >= :'down_from'::timestamptz + interval '2 hours'), 7)
        when host = 'wire.polyglot-press.example:443' and begins_at >= :'now'::timestamptz - interval '7 hours' then 7
        else usual end as needs,
        case
        when host = 'hooks.nordlicht-retail.example:443' and begins_at >= :'down_from'::timestamptz and begins_at < :'down_from'::timestamptz + interval '2 hours' then 'refused'
        when host = 'wire.polyglot-press.example:443' and begins_at >= :'now'::timestamptz - interval '7 hours' then 'certificate'
        else pg_temp.one('{status500,status500,status502,status429,timeout,timeout,reset,redirect,name}', pg_temp.chance(n, 82)) end as fault
    from begun b
)
-- Attempts that would end in the future are deleted below.
select *, least(needs, 6) as wanted, needs <= 6 as arrives from needed;

create temporary table attempt as
select c.id, c.n, c.project, c.host, s.number, c.begins_at + interval '1 second' * s.seconds + interval '1 millisecond' * 700 * (s.number - 1) as started_at,
    c.arrives and s.number = c.needs as delivered, c.fault, c.wanted,
    interval '1 millisecond' * case when c.arrives and s.number = c.needs then 45 + floor(700 * power(pg_temp.chance(c.n * 7 + s.number, 83), 3))
        when c.fault = 'timeout' then 30000 when c.fault in ('refused', 'name') then 3
        else 60 + floor(300 * pg_temp.chance(c.n * 7 + s.number, 83)) end as took
from callback c join schedule s on s.number <= c.wanted;
delete from attempt where started_at + took > :'now'::timestamptz - interval '2 seconds';
create index on attempt (id);
analyze attempt;

insert into shard.attempt (cargo, number, started_at, ended_at, status, error, answer)
select id, number, started_at, started_at + took,
    case when delivered then case when n % 5 = 0 then 202 when n % 7 = 0 then 204 else 200 end
        else case fault when 'status500' then 500 when 'status502' then 502 when 'status429' then 429 when 'redirect' then 301 end end,
    case when not delivered then case fault when 'timeout' then 'timed out after 30 s' when 'refused' then 'connection refused'
        when 'reset' then 'connection reset' when 'certificate' then 'TLS failed: certificate has expired'
        when 'redirect' then 'redirects are not followed' when 'name' then 'host name could not be resolved' end end,
    convert_to(case when delivered then case when n % 7 = 0 and n % 5 <> 0 then null when n % 3 = 0 then '{"ok":true}' else 'OK' end
        else case fault when 'status500' then '{"error":"could not connect to the database"}'
            when 'status502' then '<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>'
            when 'status429' then '{"message":"Too Many Requests","retry_after":20}' end end, 'UTF8')
from attempt order by id, number;

create temporary table delivered as
select c.id, coalesce(max(a.number), 0) as made, max(a.started_at + a.took) as ended_at, c.wanted, c.arrives,
    coalesce(max(a.number), 0) = c.wanted as over
from callback c left join attempt a on a.id = c.id group by c.id, c.wanted, c.arrives;
create index on delivered (id);
analyze delivered;

insert into shard.delivery (cargo, organization, host, number, due_at)
select c.id, c.organization, c.host, d.made + 1, greatest(c.begins_at + interval '1 second' * s.seconds, :'now'::timestamptz + interval '1 second' * (60 + c.n % 900))
from callback c join delivered d on d.id = c.id join schedule s on s.number = d.made + 1
where not d.over;

insert into shard.cargo (id, organization, project, api_key, lane, model, created_at, callback_url, callback_host, batch, attempt,
    completed_at, success, callback_state, callback_ended_at, held, price_input, price_output, reserved_tokens, response_shape, returned_at)
select t.id, t.organization, t.project, t.api_key, t.lane, t.model, t.created_at, t.url, t.host,
    case when t.stage <> 'waiting' then t.batch end,
    case when t.stage = 'waiting' and t.n % 5 = 0 then 2 else 1 end, t.completed_at, t.success,
    case when d.over and d.arrives then 'delivered' when d.over then 'failed' else 'open' end,
    case when d.over then d.ended_at end,
    case when t.reserved_tokens is not null then coalesce(t.held, 0) end, t.price_input, t.price_output, t.reserved_tokens, t.response_shape,
    case when t.stage = 'waiting' and t.n % 5 = 0 then :'now'::timestamptz - interval '2 minutes' end
from priced_cargo t left join delivered d on d.id = t.id order by t.id;

-- Cargo without a batch waits; some of it is in backoff, because its batch ended without an answer.
insert into shard.waiting (lane, organization, cargo, due_at)
select lane, organization, id, case when n % 5 = 0 then :'now'::timestamptz + interval '5 hours' end
from priced_cargo where stage = 'waiting';

update shard.batch b set tokens = s.tokens from (
    select batch, sum(reserved_tokens) as tokens from priced_cargo where stage <> 'waiting' group by batch
) s where s.batch = b.id and b.encoder is not null;
