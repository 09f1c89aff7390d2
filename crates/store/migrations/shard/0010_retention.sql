-- How long bodies are kept, and encryption at rest.
-- Additive: servers of the version before erase nothing and encrypt nothing.

set local lock_timeout = '5s';

-- When the bodies of a cargo were erased: its request, outcome and attempts are empty, and its
-- status, times, tokens and charge stay.
alter table shard.cargo add column erased_at timestamptz;

-- How long the bodies of a project's cargo are kept. No row: as long as the installation keeps
-- cargo.
create table shard.retention (
    project uuid primary key,
    -- After the load. 0: until the callback is acknowledged.
    days smallint not null check (days >= 0),
    -- Each cargo of the project up to this id was erased, or has a row in shard.erasure.
    position uuid not null default '00000000-0000-0000-0000-000000000000',
    -- When sweep continues there.
    next_at timestamptz not null
);
create index retention_next on shard.retention (next_at);

-- Cargo that was open, or not due yet, when sweep passed it.
create table shard.erasure (
    cargo uuid primary key,
    project uuid not null,
    due_at timestamptz not null
);
create index erasure_due on shard.erasure (due_at);

-- What providers store of batches that ended. A row leaves when its files are deleted there.
create table shard.provider_file (
    id bigint generated always as identity primary key,
    provider text not null,
    -- The provider's names for the job, and for the input that was uploaded for it.
    job text,
    upload text,
    due_at timestamptz not null,
    attempts integer not null default 0,
    check (job is not null or upload is not null)
);
create index provider_file_due on shard.provider_file (due_at);

-- Whether new values of customers are encrypted on this shard. Servers of the version before
-- cannot read such values: an operator switches it on after all of them are gone.
create table shard.encryption (
    one boolean primary key default true check (one),
    enabled_at timestamptz
);
insert into shard.encryption default values;

-- The data keys of projects, each wrapped by a master key that is outside the database. The key
-- with the highest number encrypts new values; the others decrypt old ones.
create table shard.data_key (
    project uuid not null,
    number integer not null check (number > 0),
    -- The id of the master key.
    master_key text not null,
    -- Null: the project was erased. Then it never gets a key again.
    wrapped bytea,
    -- How many values may have been encrypted with it. Processes reserve uses in blocks.
    uses bigint not null default 0 check (uses between 0 and 1073741824),
    created_at timestamptz not null,
    primary key (project, number)
) with (fillfactor = 80);

-- Whether the answer is encrypted. Other columns can tell by their value.
alter table shard.attempt add column encrypted boolean not null default false;

-- Null: the name is in `filename`.
alter table shard.file add column filename_encrypted bytea;
