-- The processes that serve: each knows from here how many share a limit while
-- the counters that all of them see are away.

-- Nobody waits behind a migration that itself waits for a lock.
set local lock_timeout = '5s';

create table control.node (
    node       uuid primary key,
    -- For people: host and process.
    name       text not null,
    -- By this server's clock; a node beats every two seconds.
    seen_until timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000);
