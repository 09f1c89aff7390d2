-- The sums that pages are read from. Each follows from the rows above it.

insert into shard.usage (project, hour, api_key, model, event, count, input_tokens, output_tokens, money, realtime, saved)
select project, date_trunc('hour', created_at), api_key, model, 'loaded', count(*), 0, 0, 0, 0, 0
from told group by 1, 2, 3, 4
union all
select project, date_trunc('hour', completed_at), api_key, model, case when success then 'succeeded' else 'failed' end, count(*),
    sum(input_tokens), sum(output_tokens), coalesce(sum(charged), 0), coalesce(sum(realtime), 0),
    coalesce(sum(greatest(realtime - charged, 0)), 0)
from told where completed_at is not null group by 1, 2, 3, 4, 5
union all
select c.project, date_trunc('hour', c.callback_ended_at), c.api_key, c.model,
    case c.callback_state when 'delivered' then 'delivered' else 'callback_failed' end, count(*), 0, 0, 0, 0, 0
from shard.cargo c where c.callback_ended_at is not null and c.project in (select id from project) group by 1, 2, 3, 4, 5;

insert into shard.trouble (project, kind, cargo, label)
select project, 'failed', id, regexp_replace(error, '[0-9]+', '#', 'g') from told where not success
union all
select c.project, 'callback_failed', c.id, c.host from callback c join delivered d on d.id = c.id where d.over and not d.arrives;

insert into shard.share (project, batch, cargo, succeeded, failed)
select project, batch, count(*), count(*) filter (where success), count(*) filter (where not success)
from told where stage <> 'waiting' group by project, batch;

insert into shard.callback_hour (project, hour, host, ending, class, count)
select project, date_trunc('hour', started_at + took), host,
    case when delivered then 'delivered' when fault like 'status%' or fault = 'redirect' then 'refused' else 'unreachable' end,
    case when took < interval '100 milliseconds' then 0 when took < interval '300 milliseconds' then 1
        when took < interval '1 second' then 2 when took < interval '3 seconds' then 3
        when took < interval '10 seconds' then 4 else 5 end, count(*)
from attempt group by 1, 2, 3, 4, 5;
