-- Days made safely by several processes, cargo that came back found by time, counts folded from a
-- known floor, and the marker that tells whether this database is older than its bucket.
-- Everything is new beside the existing rows, so servers of the version before go on meanwhile.

set local lock_timeout = '5s';

-- Makes the partitions of one day (UTC), unless they exist. Sweep, a load that found no partition
-- and `longshored migrate` may call it at the same moment: they take turns.
create or replace function shard.make_day(day date) returns boolean
language plpgsql as $$
declare
    first uuid := shard.id_floor(day::timestamp at time zone 'UTC');
    beyond uuid := shard.id_floor((day + 1)::timestamp at time zone 'UTC');
    made boolean := false;
    parent text;
    part text;
begin
    perform pg_advisory_xact_lock(hashtext('longshore.make_day'));
    foreach parent in array array['cargo', 'request', 'outcome', 'trouble', 'attempt'] loop
        part := parent || '_' || to_char(day, 'YYYYMMDD');
        continue when to_regclass('shard.' || part) is not null;
        made := true;
        execute format('create table shard.%I (like shard.%I including all)', part, parent);
        if parent = 'cargo' then
            execute format('alter table shard.%I set (fillfactor = 60)', part);
        elsif parent in ('request', 'outcome') then
            -- The bodies are compressed already.
            execute format('alter table shard.%I alter column body set storage external', part);
        end if;
        -- Attached, not created in place: that would lock out every load.
        execute format('alter table shard.%I attach partition shard.%I for values from (%L) to (%L)',
            parent, part, first, beyond);
    end loop;
    return made;
end
$$;

-- Cargo that came back to a lane has an old id: gather finds it by the moment at which it may go
-- again. New loads have no such moment, so they cost nothing here.
create index waiting_returned on shard.waiting (lane, due_at) where due_at is not null;

-- Up to here (included) every row of a table of counts has been folded.
create table shard.fold_floor (
    queue text primary key check (queue in ('usage', 'callback')),
    floor bigint not null
);

-- What this database knows about its marker in the bucket. A bucket whose marker is newer, or
-- another server, timeline or database than the one that wrote here last, means that rows may
-- have been lost: then no bytes are removed until an operator confirms.
create table shard.bucket_marker (
    one boolean primary key default true check (one),
    -- Server, timeline and database that wrote the marker last.
    origin text,
    generation bigint not null default 0,
    -- Which of two databases wrote this generation.
    nonce uuid,
    written_at timestamptz,
    held_at timestamptz,
    held_reason text,
    -- The generation that was found in the bucket when removal was held.
    found_generation bigint,
    check ((held_at is null) = (held_reason is null))
);
insert into shard.bucket_marker default values;
