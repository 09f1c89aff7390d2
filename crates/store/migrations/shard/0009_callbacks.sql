-- Codes of failures, how the callbacks of a project are sent, and the spending of API keys with a
-- monthly cap.
-- Additive: servers of the version before store no code, and send all callbacks unsigned and
-- without metadata. Their workers do not settle the spending of keys: create keys with a cap only
-- when every process runs this version.

set local lock_timeout = '5s';

-- The code of a failure, for programs; the text beside it is for people.
alter table shard.outcome add column failure_code text;

-- Callbacks of a project: signed or not, with the load's metadata or not. No row: neither.
-- Secrets are not here: they are derived from a key outside the database.
create table shard.callback_setting (
    project uuid primary key,
    -- Null: callbacks are not signed.
    scheme text check (scheme = 'v1'),
    -- The number of the newest secret. No number is used twice.
    version integer not null check (version >= 0),
    -- The secret before it also signs until then.
    previous integer,
    previous_until timestamptz,
    metadata boolean not null default false,
    check (scheme is null or version > 0),
    check ((previous is null) = (previous_until is null)),
    check (previous is null or (scheme is not null and previous < version))
);

-- Spending of API keys: one row for each key with a cap and month. Read and written only under the
-- lock of the organization's account.
create table shard.key_spending (
    api_key uuid not null,
    -- The first day of the month (UTC) in which the cargo was loaded.
    month date not null,
    organization uuid not null,
    held bigint not null check (held >= 0),
    spent bigint not null check (spent >= 0),
    primary key (api_key, month)
) with (fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);

-- The key in whose row the hold is counted. Null where the key has no cap or nothing is held.
alter table shard.cargo add column spending_key uuid;
