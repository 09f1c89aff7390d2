-- Files: sessions, the objects that hold their bytes, and what is stored by whom.
-- Everything is new beside what stands, so that servers of the version before go
-- on meanwhile.

set local lock_timeout = '5s';

-- Locks are taken in this order: account, storage, file, object.

-- What an organization stores: open sessions as declared, every object once.
-- Its row is locked by whatever changes that, so that no quota is passed.
create table shard.storage (
    organization uuid primary key,
    files bigint not null default 0 check (files >= 0),
    bytes bigint not null default 0 check (bytes >= 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create table shard.file (
    id uuid primary key,
    organization uuid not null,
    project uuid not null,
    status text not null check (status in ('uploading', 'validating', 'ready', 'failed', 'expired')),
    kind text not null,
    media_type text not null,
    filename text not null,
    size_bytes bigint not null check (size_bytes > 0),
    sha256 bytea not null check (length(sha256) = 32),
    scan_status text not null default 'pending',
    failure_reason text,
    ttl_seconds integer not null,
    -- Once it is ready.
    expires_at timestamptz,
    pinned boolean not null default false,
    -- Open cargo that name it: the one count that is kept.
    refs integer not null default 0 check (refs >= 0),
    -- JSON as bytes: it may contain what text cannot.
    metadata bytea,
    created_at timestamptz not null,

    -- The store's name for a multipart upload, once there is one.
    upload text,
    -- 32 bytes each, when the caller declared them at creation.
    part_checksums bytea[],
    -- As complete listed them, in order.
    etags text[],
    checksums bytea[],
    -- Something may lie in staging: gone only after it was looked for.
    staged boolean not null default true,
    -- Where its bytes are, while it is ready.
    object uuid,

    -- While it is validating: when it is next looked at, and who does.
    completed_at timestamptz,
    due_at timestamptz,
    tries integer not null default 0,
    node uuid,
    epoch integer,
    takeovers integer not null default 0,

    check ((status = 'ready') = (object is not null)),
    check ((status = 'ready') <= (scan_status = 'clean')),
    check ((status = 'failed') <= (failure_reason is not null)),
    check (status = 'validating' or node is null)
) with (fillfactor = 70);
-- Lists walk it once per status and kind asked for.
create index file_listed on shard.file (project, status, kind, id);
create index file_due on shard.file (due_at) where status = 'validating' and node is null;
-- Organizations take turns, with their small files and, apart, with their large ones.
create index file_small_turn on shard.file (organization, due_at)
    where status = 'validating' and node is null and size_bytes <= 52428800;
create index file_large_turn on shard.file (organization, due_at)
    where status = 'validating' and node is null and size_bytes > 52428800;
create index file_node on shard.file (node) where node is not null;
create index file_expiring on shard.file (expires_at) where status = 'ready' and not pinned;
create index file_abandoned on shard.file (created_at) where status = 'uploading';
create index file_staged on shard.file (id) where staged and status in ('ready', 'failed', 'expired');

-- The bytes of ready files of one project, named after the file that brought them.
-- An object that no file wants is never wanted again: its bytes go, then its row.
create table shard.object (
    id uuid primary key,
    organization uuid not null,
    project uuid not null,
    sha256 bytea not null,
    size_bytes bigint not null,
    media_type text not null,
    -- What was read from the bytes.
    width integer,
    height integer,
    pages integer,
    milliseconds bigint,
    files integer not null check (files >= 0),
    created_at timestamptz not null,
    gone_at timestamptz,
    check ((files = 0) = (gone_at is not null))
) with (fillfactor = 80);
create unique index object_identity on shard.object (project, sha256, size_bytes, media_type)
    where gone_at is null;
create index object_gone on shard.object (gone_at) where gone_at is not null;

-- The berth that an id carries.
create function shard.berth(id uuid) returns smallint
language sql immutable strict parallel safe as $$
    select (('x' || substr(id::text, 20, 3))::bit(12)::int & 1023)::smallint
$$;
create index object_berth on shard.object (shard.berth(id), id) where gone_at is null;

-- When the store's listing of a berth is next compared with the rows.
create table shard.patrol (
    berth smallint primary key,
    due_at timestamptz not null
) with (fillfactor = 50);
create index patrol_due on shard.patrol (due_at);

-- The distinct files that a cargo names. Null where it names none.
alter table shard.cargo add column files uuid[];
