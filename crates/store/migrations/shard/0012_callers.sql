-- What callers' tools need: groups of cargo, cancelling, a feed that wakes waiting requests,
-- and traces.
-- Additive: servers of the version before store cargo without a group and write no feed.

set local lock_timeout = '5s';

-- The caller has asked to cancel it while a provider had it. If its batch comes back without an
-- answer, it is cancelled instead of gathered again.
alter table shard.cargo add column cancel_requested_at timestamptz;
alter table shard.cargo add column group_id uuid;
-- The trace of a sampled load: trace id, span id of the load and flags, 25 bytes. Null: not traced.
alter table shard.cargo add column trace bytea;
alter table shard.cargo add column group_position bigint;

-- The caller's name for the cargo, encrypted like the request. Null: not named.
alter table shard.request add column custom_id text;

-- Which attempts of a callback were resends. Servers of the version before log every attempt as an
-- ordinary one.
alter table shard.attempt add column resend boolean not null default false;

-- A set of cargo of one project. Its counts change under its row's lock, which is always taken after
-- the account's.
create table shard.cargo_group (
    id uuid primary key,
    organization uuid not null,
    project uuid not null,
    -- Unique in the project: creating a group again under its name finds it.
    name text not null,
    -- JSON, encrypted like a request's metadata.
    metadata bytea,
    -- One POST when the group is completed; encrypted like a cargo's.
    callback_url text,
    callback_host text,
    created_at timestamptz not null,
    -- Of the newest cargo.
    loaded_at timestamptz,
    sealed_at timestamptz,
    cancel_requested_at timestamptz,
    completed_at timestamptz,
    total bigint not null default 0,
    succeeded bigint not null default 0,
    -- Cancelled cargo are not among the failed.
    failed bigint not null default 0,
    cancelled bigint not null default 0,
    -- One more than the largest position.
    next_position bigint not null default 0,
    -- Results are numbered without a gap in order of completion.
    next_number bigint not null default 1,
    input_tokens bigint not null default 0,
    output_tokens bigint not null default 0,
    -- Of cargo that is not completed.
    held bigint not null default 0,
    charged bigint not null default 0,
    -- Of cargo that succeeded and has a realtime price, as in its outcome.
    realtime bigint not null default 0,
    saved bigint not null default 0
) with (fillfactor = 50);
create unique index cargo_group_name on shard.cargo_group (project, name);
create index cargo_group_project on shard.cargo_group (project, id);
create index cargo_group_unfinished on shard.cargo_group (project) where completed_at is null;
create index cargo_group_cancelling on shard.cargo_group (cancel_requested_at)
    where cancel_requested_at is not null and completed_at is null;

create table shard.group_member (
    group_id uuid not null,
    position bigint not null,
    -- Of the custom id, or of the position as text; keyed as idempotency digests are.
    custom_id_digest bytea not null,
    -- Of params, callback and metadata: another load under the same custom id is refused.
    load_digest bytea not null,
    cargo uuid not null,
    primary key (group_id, position)
);
create unique index group_member_custom_id on shard.group_member (group_id, custom_id_digest);
-- Lists of cargo are newest first. The primary key is by position, which is the caller's.
create unique index group_member_cargo on shard.group_member (group_id, cargo);

create table shard.group_result (
    group_id uuid not null,
    number bigint not null,
    position bigint not null,
    cargo uuid not null,
    primary key (group_id, number)
);
create unique index group_result_position on shard.group_result (group_id, position);

-- How often each failure occurred in a group, with one cargo as an example.
create table shard.group_failure (
    group_id uuid not null,
    label text not null,
    count bigint not null,
    cargo uuid not null,
    primary key (group_id, label)
);

-- Cargo that completed, or whose callback ended, in one transaction. It only wakes requests that
-- wait for them: losing it in a crash costs them seconds, so it is not logged. Sweep deletes rows
-- after a minute.
create unlogged table shard.feed (
    id bigint generated always as identity primary key,
    -- The server's clock, after all locks of the transaction.
    at timestamptz not null default clock_timestamp(),
    cargo uuid[] not null,
    group_id uuid[] not null
);
create index feed_at on shard.feed (at);

-- The listen tunnel: callbacks to listen://NAME go to a program that holds a stream open. Workers of
-- the version before fail such an attempt, because they cannot call the URL. Both tables are unlogged:
-- a row matters for seconds. A listener renews its row every 2 seconds, and the deliver stage waits
-- for a handover no longer than one attempt. After a crash of the server they are empty: listeners
-- write their rows again, the attempts fail, and the retry schedule continues.

-- The open streams. A row that was not renewed for 10 seconds is dead.
create unlogged table shard.listener (
    project uuid not null,
    name text not null,
    -- Of the newest stream under this name.
    id uuid not null,
    seen_at timestamptz not null,
    primary key (project, name)
);

-- Callback attempts on their way to a listener. The deliver stage writes and deletes the row; the
-- process with the stream takes it and stores the answer.
create unlogged table shard.handover (
    id uuid primary key,
    listener uuid not null,
    project uuid not null,
    cargo uuid not null,
    number integer not null,
    header_names text[] not null,
    header_values text[] not null,
    -- Packed and encrypted like an outcome. A copy: the headers contain a signature of its bytes.
    codec smallint not null,
    body bytea not null,
    created_at timestamptz not null,
    taken_at timestamptz,
    answered_at timestamptz,
    status smallint,
    error text,
    latency_ms integer,
    -- The beginning of the receiver's answer, packed and encrypted like the body.
    answer_codec smallint,
    answer bytea
);
create index handover_untaken on shard.handover (listener, created_at) where taken_at is null;
create index handover_created on shard.handover (created_at);
create index handover_project on shard.handover (project);

-- Batches in the formats of other providers. The items of a batch are kept as they came until they are
-- loaded into its group.

-- The items of one batch, or of one input file, in the order in which they came.
create table shard.parcel (
    id uuid primary key,
    organization uuid not null,
    project uuid not null,
    -- Whose format it has: 1 is Anthropic's, 2 is OpenAI's.
    facade smallint not null,
    -- The name of an input file, encrypted like a request.
    filename text,
    created_at timestamptz not null,
    -- Set when its last block is stored. Without it, it is a body that broke off.
    completed_at timestamptz,
    items bigint not null default 0,
    -- Of all items, unpacked. It grows with each block.
    bytes bigint not null default 0,
    -- Its rows are deleted after this time, unless a batch still has to load its items.
    expires_at timestamptz not null
);
create index parcel_project on shard.parcel (project, id);
create index parcel_organization on shard.parcel (organization);
create index parcel_expires_at on shard.parcel (expires_at);

-- About a megabyte of items, compressed, and encrypted like a request.
create table shard.parcel_block (
    parcel uuid not null,
    block integer not null,
    first_item bigint not null,
    codec smallint not null,
    body bytea not null,
    primary key (parcel, block)
);
create unique index parcel_block_first_item on shard.parcel_block (parcel, first_item);

-- A batch in the format of another provider: a group, and how far its items are loaded. The group's
-- own row is locked by every outcome, so the unpacker writes here.
create table shard.dropin_batch (
    group_id uuid primary key,
    organization uuid not null,
    project uuid not null,
    api_key uuid not null,
    facade smallint not null,
    parcel uuid not null,
    created_at timestamptz not null,
    -- What the format shows as the end of its window.
    expires_at timestamptz not null,
    items bigint not null,
    -- JSON: what the request set for the whole batch. Encrypted like a request's metadata.
    options bytea,
    -- The same request within minutes is the same batch. Keyed as idempotency digests are.
    body_digest bytea not null,
    idempotency_key text,
    -- Whether a client sent the request again, by its own count.
    is_retry boolean not null,
    -- Items before this one are loaded or failed.
    unpacked bigint not null default 0,
    unpacked_at timestamptz,
    -- Since when the next item waits for credit.
    stalled_at timestamptz,
    -- JSON: why the whole batch failed. Encrypted like a request's metadata.
    failure bytea,
    failed_at timestamptz,
    -- The caller has deleted it. Its group stays until the retention.
    hidden_at timestamptz,
    -- When the retention deleted its group.
    archived_at timestamptz,
    -- The process that loads its items, and until when.
    lease uuid,
    leased_until timestamptz
);
create index dropin_batch_project on shard.dropin_batch (project, facade, group_id);
create index dropin_batch_body on shard.dropin_batch (project, body_digest, created_at);
create index dropin_batch_key on shard.dropin_batch (project, idempotency_key, created_at)
    where idempotency_key is not null;
create index dropin_batch_packed on shard.dropin_batch (group_id) where unpacked_at is null;
create index dropin_batch_parcel on shard.dropin_batch (parcel);
