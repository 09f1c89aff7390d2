-- Codes of failures, and how the callbacks of a project are sent.
-- Additive: servers of the version before store no code, and send all callbacks unsigned and
-- without metadata.

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
