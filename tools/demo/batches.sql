-- Batches: cargo of a lane and of one period of time, and the state of each batch.

insert into shard.lane (provider, model, kind, via, turnaround_seconds)
select provider, name, kind, via, turnaround from model order by number
on conflict (provider, model, kind, via) do update set turnaround_seconds = excluded.turnaround_seconds;

create temporary table lane as
select l.id, m.number as model_number, m.minutes, m.provider, m.via, m.is_mock, m.turnaround
from shard.lane l join model m on (l.provider, l.model, l.kind, l.via) = (m.provider, m.name, m.kind, m.via);

-- One account is paused because it is out of credit.
insert into shard.provider (name, paused_at, reason, retry_at)
values ('gemini-main', :'now'::timestamptz - interval '3 hours', 'provider account is out of credit (billing limit reached)', :'now'::timestamptz + interval '20 hours')
on conflict (name) do nothing;

create temporary table load_in_batch as
select l.id, l.n, l.model_number, l.created_at,
    date_bin(make_interval(mins => lane.minutes), l.created_at, '2026-01-01Z') as stretch
from load l join lane on lane.model_number = l.model_number;

-- The state of a batch: ended, at its provider, not accepted by it, or not gathered.
create temporary table batch as
with stretches as (
    select b.model_number, b.stretch, lane.id as lane, lane.provider, lane.via, lane.is_mock, lane.turnaround,
        min(b.n) as n, count(*) as size, shard.berth((array_agg(b.id order by b.id))[1])::int as berth,
        array_agg(b.id order by b.id) as cargo,
        b.stretch + make_interval(mins => lane.minutes)
            + interval '1 millisecond' * floor(2000 * pg_temp.chance(min(b.n), 20)) as gathered_at
    from load_in_batch b join lane on lane.model_number = b.model_number
    group by b.model_number, b.stretch, lane.id, lane.provider, lane.via, lane.is_mock, lane.turnaround, lane.minutes
), timed as (
    select *, greatest(gathered_at + interval '9 seconds'
        + make_interval(secs => turnaround * case
            when not is_mock and pg_temp.chance(n, 21) < 0.015 then 5 + 4 * pg_temp.chance(n, 22)
            else 0.4 + 1.2 * power(pg_temp.chance(n, 22), 2) end),
        -- The latest batches are still running.
        case when not is_mock and gathered_at > :'now'::timestamptz - interval '1 second' * turnaround * 1.5
            then :'now'::timestamptz + interval '20 minutes' end) as ends_at
    from stretches
)
select *, pg_temp.id(gathered_at, berth, n, 23) as id,
    case when gathered_at > :'now'::timestamptz - interval '3 seconds' then 'waiting'
        when provider = 'gemini-main' and gathered_at > :'now'::timestamptz - interval '3 hours' then 'refused'
        when provider = 'openai-main' and gathered_at > :'now'::timestamptz - interval '40 minutes' then 'full'
        when ends_at > :'now'::timestamptz - interval '3 seconds' then 'running'
        else 'ended' end as stage
from timed;
create index on batch (model_number, stretch);
analyze batch;

insert into shard.batch (id, lane, state, cargo, gathered_at, submitting_at, running_at, ended_at, job, next_poll_at,
    encoder, digest, tokens, enqueued_at, upload, sent_at, delay)
select id, lane, case stage when 'full' then 'submitting' when 'refused' then 'submitting' else stage end,
    cargo, gathered_at, gathered_at + interval '1 second',
    case when stage in ('running', 'ended') then gathered_at + interval '9 seconds' end,
    case when stage = 'ended' then ends_at end,
    case when stage in ('running', 'ended') then case
        when is_mock then 'mock_' || replace(id::text, '-', '')
        when via = 'realtime' then 'realtime'
        when provider = 'openai-main' then 'batch_' || md5(id::text)
        when provider = 'gemini-main' then 'batches/' || substr(md5(id::text), 1, 20)
        else 'msgbatch_01' || substr(md5(id::text), 1, 22) end end,
    case when stage = 'ended' or (stage = 'running' and is_mock) then ends_at
        -- No server answers, so the next poll is hours away.
        else :'now'::timestamptz + interval '6 hours' end,
    case when via = 'batch' and not is_mock then 1 end,
    case when via = 'batch' and not is_mock then sha256(convert_to(id::text, 'UTF8')) end,
    0,
    case when via = 'batch' and not is_mock and stage in ('running', 'ended') then gathered_at + interval '3 seconds' end,
    case when provider = 'openai-main' and stage in ('running', 'ended') then 'file-' || substr(md5('lines' || id), 1, 22) end,
    case when via = 'batch' and not is_mock and stage in ('running', 'ended') then gathered_at + interval '8 seconds' end,
    case when stage in ('full', 'refused') then stage end
from batch where stage <> 'waiting';
