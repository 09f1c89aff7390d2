-- Steps of migrations that run online, and which programs this schema supports.
-- Additive: servers of the version before read neither.

-- One row for each step that has begun. See docs/decisions/0038.
create table control.online_step (
    name text primary key,
    -- The last key that is done, as text. Null: none, or the step has no keys.
    position text,
    -- Rows that are done.
    rows_done bigint not null default 0,
    finished boolean not null default false
);

-- The newest migration that a program must know to work with this schema. A release supports the
-- programs of the release before, however many migrations it adds.
create table control.schema_floor (
    one boolean primary key default true check (one),
    migration bigint not null
);
