-- What pages are read from, so that none of them reads more than it shows; and what
-- they ask for: a callback sent again, a lane that rests.
-- Everything is new beside what stands, so that servers of the version before go on
-- meanwhile; what they complete in that time is not among the troubles.

set local lock_timeout = '5s';

-- A project's cargo, newest first. It names no column that changes: updates stay in place.
create index cargo_project on shard.cargo (project, id);

-- A project's files, of every status and kind.
create index file_project on shard.file (project, id);

-- What went wrong, found without walking over all that went well.
create table shard.trouble (
    project uuid not null,
    kind text not null check (kind in ('failed', 'callback_failed')),
    cargo uuid not null,
    -- The error's group, or the callback's host.
    label text not null,
    primary key (project, kind, cargo)
) partition by range (cargo);
create index trouble_label on shard.trouble (project, kind, label, cargo);

create or replace function shard.make_day(day date) returns boolean
language plpgsql as $$
declare
    first uuid := shard.id_floor(day::timestamp at time zone 'UTC');
    beyond uuid := shard.id_floor((day + 1)::timestamp at time zone 'UTC');
    made boolean := false;
    parent text;
    part text;
begin
    foreach parent in array array['cargo', 'request', 'outcome', 'trouble', 'attempt'] loop
        part := parent || '_' || to_char(day, 'YYYYMMDD');
        continue when to_regclass('shard.' || part) is not null;
        made := true;
        execute format('create table shard.%I (like shard.%I including all)', part, parent);
        if parent = 'cargo' then
            execute format('alter table shard.%I set (fillfactor = 60)', part);
        elsif parent in ('request', 'outcome') then
            -- Compressed already; trying again would only cost time.
            execute format('alter table shard.%I alter column body set storage external', part);
        end if;
        execute format('alter table shard.%I attach partition shard.%I for values from (%L) to (%L)',
            parent, part, first, beyond);
    end loop;
    return made;
end
$$;
select shard.make_day(to_date(right(c.relname, 8), 'YYYYMMDD'))
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'shard.cargo'::regclass;

insert into shard.trouble (project, kind, cargo, label)
select project, 'failed', id, 'before this was noted' from shard.cargo where not success
union all
select project, 'callback_failed', id, callback_host from shard.cargo where callback_state = 'failed';

-- Whose cargo a batch carries, and how far they are.
create table shard.share (
    project uuid not null,
    batch uuid not null,
    cargo integer not null,
    succeeded integer not null default 0,
    failed integer not null default 0,
    primary key (project, batch)
) with (fillfactor = 80);
create index share_batch on shard.share (batch);
-- Every batch of a lane, newest first.
create index batch_lane on shard.batch (lane, id);

-- Callback attempts by host, counted as usage is: appended once per group, folded by sweep.
create table shard.callback_delta (
    id bigint generated always as identity primary key,
    hour timestamptz not null,
    project uuid[] not null,
    host text[] not null,
    -- delivered, refused (another status) or unreachable (none).
    ending text[] not null,
    -- Which of domain::callback_health's classes the time taken falls into.
    class smallint[] not null,
    count bigint[] not null
);
create table shard.callback_hour (
    project uuid not null,
    hour timestamptz not null,
    host text not null,
    ending text not null check (ending in ('delivered', 'refused', 'unreachable')),
    class smallint not null,
    count bigint not null,
    primary key (project, hour, host, ending, class)
);

-- A callback that somebody asked for again: one attempt, whatever becomes of it.
alter table shard.delivery add column resend boolean not null default false;

-- Many of them: what failed at a host, in the order of their ids, a few each second.
create table shard.resend (
    id uuid primary key,
    organization uuid not null,
    project uuid not null,
    host text not null,
    -- Of the cargo that are meant, both included.
    first uuid not null,
    last uuid not null,
    -- The last that was sent on its way.
    position uuid,
    total bigint not null,
    sent bigint not null default 0,
    per_second integer not null check (per_second between 1 and 1000),
    state text not null default 'running' check (state in ('running', 'stopped', 'done')),
    next_at timestamptz not null,
    started_by text not null,
    started_at timestamptz not null,
    ended_at timestamptz,
    check ((state = 'running') = (ended_at is null))
);
create index resend_next on shard.resend (next_at) where state = 'running';
create index resend_project on shard.resend (project, id);

-- An operator's word: nothing is gathered here until it is taken back.
alter table shard.lane
    add column paused_at timestamptz,
    add column paused_by text,
    add column pause_reason text,
    add constraint lane_paused check ((paused_at is null) = (paused_by is null));
