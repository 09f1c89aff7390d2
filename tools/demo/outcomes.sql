-- The outcome of each cargo: its batch, whether it succeeded, and its error.

-- For one hour of a working day a provider did not know the model, so most requests failed.
select date_trunc('hour', :'now'::timestamptz - interval '1 day' * (case extract(isodow from :'now'::timestamptz at time zone 'UTC' - interval '4 days') when 6 then 5 when 7 then 6 else 4 end)) + interval '1 hour' * (14 - extract(hour from :'now'::timestamptz at time zone 'UTC')::int)
    as incident \gset

create temporary table result as
with classified as (
    select l.*, m.name as model, lane.id as lane, b.id as batch, b.stage,
        case when b.stage = 'ended' then b.ends_at - interval '1 second' end as completed_at,
        case
            when b.model_number in (3, 4) and b.gathered_at >= :'incident'::timestamptz and b.gathered_at < :'incident'::timestamptz + interval '1 hour'
                and pg_temp.chance(l.n, 30) < 0.83 then 'incident'
            when pg_temp.chance(l.n, 30) < 0.988 then 'success'
            when pg_temp.chance(l.n, 31) < 0.35 then 'context'
            when pg_temp.chance(l.n, 31) < 0.6 then 'blocked'
            when pg_temp.chance(l.n, 31) < 0.75 then 'tools'
            when pg_temp.chance(l.n, 31) < 0.9 then 'invalid'
            else 'status' end as ending
    from load l
    join model m on m.number = l.model_number
    join lane on lane.model_number = l.model_number
    join batch b on b.model_number = l.model_number
        and b.stretch = date_bin(make_interval(mins => lane.minutes), l.created_at, '2026-01-01Z')
)
select *, case when stage = 'ended' then ending = 'success' end as success,
    case ending
        when 'incident' then 'The model `' || model || '` does not exist or you do not have access to it.'
        when 'context' then 'This model''s maximum context length is 8192 tokens. However, your messages resulted in '
            || 8200 + floor(4000 * pg_temp.chance(n, 32))::int || ' tokens.'
        when 'blocked' then 'blocked by provider: ' || pg_temp.one('{content_filter,SAFETY,RECITATION}', pg_temp.chance(n, 32))
        when 'tools' then 'the model stopped for an unsupported feature: tool_calls'
        when 'invalid' then 'Invalid value for messages[0].content: expected a string with at least 1 character.'
        when 'status' then 'the provider answered with status 400' end as error
from classified;
create index on result (id);
analyze result;
