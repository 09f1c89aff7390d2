-- The counts that pages read. Each follows from the rows before.

insert into shard.usage (project, hour, api_key, model, event, count, input_tokens, output_tokens, money, realtime, saved, cached_tokens, thinking_tokens)
select project, date_trunc('hour', created_at), api_key, model, 'loaded', count(*), 0, 0, 0, 0, 0, 0, 0
from priced_cargo group by 1, 2, 3, 4
union all
select project, date_trunc('hour', completed_at), api_key, model, case when success then 'succeeded' else 'failed' end, count(*),
    sum(input_tokens), sum(output_tokens), coalesce(sum(charged), 0), coalesce(sum(realtime), 0),
    coalesce(sum(greatest(realtime - charged, 0)), 0), sum(cached_tokens), sum(thinking_tokens)
from priced_cargo where completed_at is not null group by 1, 2, 3, 4, 5
union all
select c.project, date_trunc('hour', c.callback_ended_at), c.api_key, c.model,
    case c.callback_state when 'delivered' then 'delivered' else 'callback_failed' end, count(*), 0, 0, 0, 0, 0, 0, 0
from shard.cargo c where c.callback_ended_at is not null and c.project in (select id from project) group by 1, 2, 3, 4, 5;

insert into shard.trouble (project, kind, cargo, label)
select project, 'failed', id, -- As domain::failure_label does.
    case when length(uncut) > 80 then rtrim(left(uncut, 79)) || '…' else uncut end
from priced_cargo
cross join lateral (
    select rtrim(regexp_replace(regexp_replace(error, '`[^`]*`', '…', 'g'), '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '#', 'g')) as uncut
) as labelled
where not success
union all
select c.project, 'callback_failed', c.id, c.host from callback c join delivered d on d.id = c.id where d.over and not d.arrives;

insert into shard.share (project, batch, cargo, succeeded, failed)
select project, batch, count(*), count(*) filter (where success), count(*) filter (where not success)
from priced_cargo where stage <> 'waiting' group by project, batch;

insert into shard.callback_hour (project, hour, host, ending, class, count)
select project, date_trunc('hour', started_at + took), host,
    case when delivered then 'delivered' when fault like 'status%' or fault = 'redirect' then 'refused' else 'unreachable' end,
    -- The latency buckets of domain::callback_health.
    width_bucket((extract(epoch from took) * 1000)::int - 1, array[50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000]), count(*)
from attempt group by 1, 2, 3, 4, 5;
