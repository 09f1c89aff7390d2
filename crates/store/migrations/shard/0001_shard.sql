-- Everything of the organizations whose berths lie here. No transaction and
-- no foreign key leaves this schema.
create schema if not exists shard;

-- The one row that every group of loads of an organization locks first.
create table shard.account (
    organization uuid primary key,
    opened_at timestamptz not null
);

-- What may travel together. One worker gathers a lane at a time, so that it can
-- remember how far each organization has been gathered.
create table shard.lane (
    id integer generated always as identity primary key,
    provider text not null,
    model text not null,
    kind text not null,
    node uuid,
    epoch integer,
    unique (provider, model, kind)
);
create index lane_node on shard.lane (node) where node is not null;

-- Thin and hot: what stages and lists filter on. A row is updated three times
-- (gathered, completed, called back), always in place: no index names a column
-- that changes, and the partitions leave room on their pages.
create table shard.cargo (
    id uuid primary key,
    organization uuid not null,
    project uuid not null,
    api_key uuid not null,
    lane integer not null,
    model text not null,
    created_at timestamptz not null,
    callback_url text,
    callback_host text,
    batch uuid,
    attempt integer not null default 1,
    completed_at timestamptz,
    success boolean,
    callback_state text not null default 'open'
        check (callback_state in ('open', 'delivered', 'failed')),
    callback_ended_at timestamptz,
    check ((completed_at is null) = (success is null))
) partition by range (id);

-- Bodies are bytes: a prompt may contain what text cannot. key_id is for
-- encryption per project, later, without a rewrite.
create table shard.request (
    cargo uuid primary key,
    codec smallint not null,
    key_id uuid,
    body bytea not null,
    metadata bytea
) partition by range (cargo);

create table shard.outcome (
    cargo uuid primary key,
    success boolean not null,
    codec smallint not null,
    key_id uuid,
    -- The response as JSON, or the text of the error.
    body bytea not null,
    input_tokens bigint not null,
    output_tokens bigint not null
) partition by range (cargo);

-- Every POST that was made and ended.
create table shard.attempt (
    cargo uuid not null,
    number smallint not null,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    status smallint,
    error text,
    answer bytea,
    primary key (cargo, number)
) partition by range (cargo);

-- What waits to be gathered, and nothing else: its size follows the backlog.
-- The primary key serves an organization's turn, the index discovers who came.
create table shard.waiting (
    lane integer not null,
    organization uuid not null,
    cargo uuid not null,
    primary key (lane, organization, cargo)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
create index waiting_arrived on shard.waiting (lane, cargo);

create table shard.batch (
    id uuid primary key,
    lane integer not null,
    state text not null check (state in ('gathered', 'submitting', 'running', 'ended')),
    -- In the order in which they are submitted.
    cargo uuid[] not null,
    gathered_at timestamptz not null,
    submitting_at timestamptz,
    running_at timestamptz,
    ended_at timestamptz,
    -- The provider's name for it.
    job text,
    next_poll_at timestamptz,
    node uuid,
    epoch integer,
    takeovers integer not null default 0,
    check ((state in ('running', 'ended')) or job is null)
) with (fillfactor = 70);
alter table shard.batch alter column cargo set storage external;
create index batch_gathered on shard.batch (gathered_at)
    where state in ('gathered', 'submitting') and node is null;
create index batch_polled on shard.batch (next_poll_at)
    where state = 'running' and node is null;
create index batch_node on shard.batch (node) where node is not null;
create index batch_ended on shard.batch (ended_at) where state = 'ended';

-- Callbacks that are still to be made: gone once acknowledged or given up.
-- A claimed row stands in neither of the two queue indexes.
create table shard.delivery (
    cargo uuid primary key,
    organization uuid not null,
    host text not null,
    -- Of the attempt that comes next, from 1.
    number smallint not null default 1,
    due_at timestamptz not null,
    node uuid,
    epoch integer,
    takeovers integer not null default 0
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
create index delivery_due on shard.delivery (due_at) where node is null;
create index delivery_turn on shard.delivery (organization, host, due_at) where node is null;
create index delivery_node on shard.delivery (node) where node is not null;

-- A worker process, alive until seen_until by this server's own clock. Its
-- claims name (node, epoch); raising the epoch frees them all.
create table shard.node (
    node uuid primary key,
    name text not null,
    epoch integer not null default 1,
    seen_until timestamptz not null,
    dead_at timestamptz
) with (fillfactor = 50);

create table shard.idempotency (
    project uuid not null,
    key text not null,
    digest bytea not null,
    cargo uuid not null,
    created_at timestamptz not null,
    primary key (project, key)
);
create index idempotency_age on shard.idempotency (created_at);

-- One row per group that was committed, its counts in arrays; sweep folds them.
create table shard.usage_delta (
    id bigint generated always as identity primary key,
    hour timestamptz not null,
    project uuid[] not null,
    api_key uuid[] not null,
    model text[] not null,
    event text[] not null,
    count bigint[] not null,
    input_tokens bigint[] not null,
    output_tokens bigint[] not null
);

create table shard.usage (
    project uuid not null,
    hour timestamptz not null,
    api_key uuid not null,
    model text not null,
    event text not null,
    count bigint not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    money bigint not null default 0,
    primary key (project, hour, api_key, model, event)
);

-- The smallest id of a moment.
create function shard.id_floor(moment timestamptz) returns uuid
language sql immutable as $$
    select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0')
        || repeat('0', 20))::uuid
$$;

-- Makes the partitions of one day (UTC), unless they exist. Attached, not
-- created in place: that would lock out every load.
create function shard.make_day(day date) returns boolean
language plpgsql as $$
declare
    first uuid := shard.id_floor(day::timestamp at time zone 'UTC');
    beyond uuid := shard.id_floor((day + 1)::timestamp at time zone 'UTC');
    parent text;
    part text;
begin
    if to_regclass('shard.attempt_' || to_char(day, 'YYYYMMDD')) is not null then
        return false;
    end if;
    foreach parent in array array['cargo', 'request', 'outcome', 'attempt'] loop
        part := parent || '_' || to_char(day, 'YYYYMMDD');
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
    return true;
end
$$;
