-- The organizations, projects, keys and models of the demo, for control and for every shard.
-- Variables: now, berth_1 to berth_4, project (the slug of an extra project that gets all cargo, or empty).

-- A pseudorandom number in [0, 1) that depends only on a row and a purpose.
create function pg_temp.chance(row_number bigint, purpose bigint) returns double precision
language sql immutable as $$
    select (hashint8extended(row_number, purpose) & 9007199254740991)::double precision / 9007199254740992
$$;

-- Selects one of several texts by such a number.
create function pg_temp.one(several text[], chance double precision) returns text
language sql immutable as $$ select several[1 + floor(chance * cardinality(several))::int] $$;

-- An id as domain::id creates them: time, berth, and bits that depend on two numbers.
create function pg_temp.id(moment timestamptz, berth integer, row_number bigint, purpose bigint) returns uuid
language sql immutable as $$
    select (lpad(to_hex((extract(epoch from moment) * 1000000)::bigint / 1000), 12, '0')
        || to_hex(28672 + (extract(epoch from moment) * 1000000)::bigint % 1000 * 4096 / 1000)
        || to_hex(2048 + berth)
        || lpad(to_hex(hashint8extended(row_number, purpose) & 4503599627370495), 13, '0'))::uuid
$$;

create temporary table organization as
select number, name, plan, berth, shard, created_at, pg_temp.id(created_at, berth, number, 1) as id
from (values
    (1, 'Nordlicht Retail', 'enterprise', :berth_1, 'north', :'now'::timestamptz - interval '74 days'),
    (2, 'Kestrel Claims', 'pro', :berth_2, 'north', :'now'::timestamptz - interval '61 days'),
    (3, 'Polyglot Press', 'starter', :berth_3, 'south', :'now'::timestamptz - interval '48 days'),
    (4, 'Juniper Labs', 'free', :berth_4, 'south', :'now'::timestamptz - interval '33 days')
) as it (number, name, plan, berth, shard, created_at);

-- The share of each project in all cargo, and its growth. Projects with `nights` load at night.
create temporary table project as
select it.number, it.organization as organization_number, o.id as organization, o.berth, o.shard, slug, it.share,
    nights, growth, pg_temp.id(o.created_at + interval '5 minutes' * it.number, o.berth, it.number, 2) as id,
    o.created_at + interval '5 minutes' * it.number as created_at
from (values
    (1, 1, 'customer-support', 0.24, false, 1.6),
    (2, 1, 'catalogue-search', 0.20, true, 1.2),
    (3, 1, 'shop-translations', 0.12, false, 2.4),
    (4, 2, 'claims-intake', 0.14, false, 1.4),
    (5, 2, 'fraud-review', 0.08, true, 1.0),
    (6, 3, 'newsroom', 0.10, false, 1.8),
    (7, 3, 'archive-embeddings', 0.10, true, 0.7),
    (8, 4, 'playground', 0.02, false, 3.0)
) as it (number, organization, slug, share, nights, growth)
join organization o on o.number = it.organization;

-- One project with all cargo, for measurements; the others then have none.
insert into project
select 9, 1, o.id, o.berth, o.shard, :'project', 1, false, 1.2,
    pg_temp.id(o.created_at + interval '1 hour', o.berth, 9, 2), o.created_at + interval '1 hour'
from organization o where o.number = 1 and :'project' <> '';
update project set share = 0 where :'project' <> '' and number < 9;

-- Three active keys for each project, one that was rotated and has expired, one that is deactivated.
create temporary table api_key as
select p.number * 10 + k.number as number, p.number as project_number, p.id as project, p.shard,
    k.number as place, k.name,
    'svc_sk_' || substr(translate(encode(sha256(convert_to('key ' || p.slug || k.number, 'UTF8')), 'base64'),
        '+/=', 'xyz'), 1, 32) as secret,
    k.works, k.share_from, k.share_to, k.expires_at, k.used_ago,
    pg_temp.id(case when k.ago is null then p.created_at + k.after else :'now'::timestamptz - k.ago end, p.berth,
        p.number * 10 + k.number, 3) as id,
    case when k.ago is null then p.created_at + k.after else :'now'::timestamptz - k.ago end as created_at
from project p cross join (values
    (1, 'production', true, 0.0, 0.72, null::timestamptz, interval '4 seconds', null::interval, interval '32 days'),
    (2, 'nightly jobs', true, 0.72, 0.92, null, interval '9 hours', interval '1 day', null),
    (3, 'staging', true, 0.92, 1.0, :'now'::timestamptz + interval '59 days', interval '26 hours', null, interval '31 days'),
    (4, 'production (before rotation)', true, 2.0, 2.0, :'now'::timestamptz - interval '31 days', interval '31 days',
        interval '10 minutes', null),
    (5, 'old laptop', false, 2.0, 2.0, null, interval '32 days', interval '2 hours', null)
) as k (number, name, works, share_from, share_to, expires_at, used_ago, after, ago);

-- Models, their providers and prices: dollars for a million tokens, in billionths.
create temporary table model as
select it.*, it.provider = 'mock' as is_mock from (values
    (1, 'svc-mock', 'mock', 'chat', 'batch', null::bigint, null::bigint, null::bigint, null::bigint, 15, 40.0),
    (2, 'example-small', 'mock', 'chat', 'batch', 75000000, 300000000, 150000000, 600000000, 15, 45.0),
    (3, 'gpt-5-mini', 'openai-main', 'chat', 'batch', 125000000, 1000000000, 250000000, 2000000000, 60, 3100.0),
    (4, 'claude-sonnet', 'claude-' || :'shard', 'chat', 'batch', 1500000000, 7500000000, 3000000000, 15000000000, 60, 2400.0),
    (5, 'gemini-flash', 'gemini-main', 'chat', 'batch', 150000000, 1250000000, 300000000, 2500000000, 60, 4200.0),
    (6, 'text-embedding-3-small', 'openai-main', 'embedding', 'batch', 10000000, 0, 20000000, 0, 60, 1700.0),
    (7, 'qwen', 'our-vllm', 'chat', 'realtime', 50000000, 100000000, null, null, 15, 110.0)
) as it (number, name, provider, kind, via, price_input, price_output, realtime_input, realtime_output,
    minutes, turnaround);
