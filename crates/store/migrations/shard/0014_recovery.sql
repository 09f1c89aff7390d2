-- Recovery of a database that was restored to an earlier moment, or copied.
-- Additive: servers of the version before do not pause.

set local lock_timeout = '5s';

create table shard.recovery (
    is_single boolean primary key default true check (is_single),
    -- Jobs at providers carry it, so that no other installation's jobs are touched. A copy of this
    -- database has the same.
    identity uuid not null default gen_random_uuid(),
    -- While it is set, no load is accepted and the workers change nothing.
    paused_at timestamptz,
    pause_reason text,
    -- The last moment that the rows certainly know: later jobs at providers may be unknown to them.
    known_until timestamptz,
    accepted_at timestamptz,
    check ((paused_at is null) = (pause_reason is null))
);
insert into shard.recovery default values;
