-- Control: who may ask, and where their rows lie. Small, changed rarely, read
-- through caches; no row of a shard refers to it by a foreign key.

-- Nobody waits behind a migration that itself waits for a lock.
set local lock_timeout = '5s';

create schema if not exists control;

-- The map of logical shards to databases. Ids carry the berth and never the
-- database, so that moving a berth changes one row here and no id.
create table control.berth (
    number smallint primary key check (number between 0 and 1023),
    shard  text not null check (shard <> '')
);

create table control.organization (
    id         uuid primary key,
    name       text not null check (length(name) between 1 and 200),
    plan       text not null check (plan in ('free', 'starter', 'pro', 'enterprise')),
    -- The reference makes sure that the berths were assigned before the first
    -- organization: one without a database could accept nothing.
    berth      smallint not null references control.berth (number),
    created_at timestamptz not null
);

-- A new organization goes to the berth that has the fewest.
create index organization_berth on control.organization (berth);

create table control.project (
    id              uuid primary key,
    organization_id uuid not null references control.organization (id),
    slug            text not null unique check (length(slug) between 1 and 63),
    is_active       boolean not null default true,
    created_at      timestamptz not null
);

create index project_organization on control.project (organization_id, id);

create table control.api_key (
    id           uuid primary key,
    project_id   uuid not null references control.project (id),
    name         text not null check (length(name) between 1 and 200),
    -- The first characters, for people; never used to find a key.
    prefix       text not null check (length(prefix) = 12),
    -- The whole key's SHA-256. The key itself is nowhere.
    digest       bytea not null unique check (octet_length(digest) = 32),
    is_active    boolean not null default true,
    expires_at   timestamptz,
    -- Written behind by every node about once a second: no index holds it and
    -- pages keep room, so that the update stays within its page.
    last_used_at timestamptz,
    created_at   timestamptz not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

create index api_key_project on control.api_key (project_id, id);

-- What changed, in the order in which it was committed: nodes follow it and
-- forget what they knew about the subject. Rows are only ever appended.
--
-- A sequence alone does not promise that order: 7 may be committed before 6,
-- and a node that has read 7 would never look for 6. So a transaction takes
-- one advisory lock just before it appends and keeps it to its end. Changes
-- are rare; nothing on the path of a cargo waits for this.
create table control.change (
    seq     bigint generated always as identity primary key,
    kind    text not null check (kind in ('organization', 'project', 'key', 'berth')),
    -- Null where the change is about all of them: the map of berths.
    subject uuid,
    at      timestamptz not null
);
