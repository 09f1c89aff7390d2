-- People: who may look, who may change, and what was changed by whom.
-- Everything is new beside what stands, so that servers of the version before go on meanwhile.

set local lock_timeout = '5s';

create table control.person (
    id          uuid primary key,
    name        text not null check (length(name) between 1 and 200),
    -- As it was given, and folded: one person for each address, however it is typed.
    email       text not null check (length(email) between 3 and 254),
    folded      text not null unique,
    -- argon2id in its own text form. Null: this person signs in elsewhere.
    password    text,
    -- Of the whole service.
    is_operator boolean not null default false,
    is_active   boolean not null default true,
    created_at  timestamptz not null
);

-- How another house names a person who signs in there.
create table control.identity (
    issuer     text not null,
    subject    text not null,
    person     uuid not null references control.person (id),
    created_at timestamptz not null,
    primary key (issuer, subject)
);

create table control.member (
    organization uuid not null references control.organization (id),
    person       uuid not null references control.person (id),
    role         text not null check (role in ('owner', 'developer', 'viewer')),
    created_at   timestamptz not null,
    primary key (organization, person)
);
create index member_person on control.member (person);

-- The cookie is nowhere: only its SHA-256. A row that is gone is a session that ended.
create table control.session (
    digest     bytea primary key check (octet_length(digest) = 32),
    -- For people, who end one session among others.
    id         uuid not null unique,
    person     uuid not null references control.person (id),
    created_at timestamptz not null,
    -- Written at most once a minute.
    seen_at    timestamptz not null,
    expires_at timestamptz not null,
    address    text not null,
    agent      text not null
) with (fillfactor = 70);
create index session_person on control.session (person, created_at);
create index session_expiry on control.session (expires_at);

-- Links that are good once: the first start, an invitation, a new password.
create table control.pass (
    digest       bytea primary key check (octet_length(digest) = 32),
    id           uuid not null unique,
    kind         text not null check (kind in ('setup', 'invitation', 'reset')),
    organization uuid references control.organization (id),
    role         text check (role in ('owner', 'developer', 'viewer')),
    -- Whom it is meant for; a setup is meant for whoever reads the log.
    email        text,
    person       uuid references control.person (id),
    made_by      uuid references control.person (id),
    created_at   timestamptz not null,
    expires_at   timestamptz not null,
    used_at      timestamptz,
    check ((kind = 'invitation') = (organization is not null and role is not null)),
    check ((kind = 'reset') = (person is not null))
);
create index pass_organization on control.pass (organization, created_at) where organization is not null;
create index pass_expiry on control.pass (expires_at);

-- Failed sign-ins by what was tried (an address, a host), as a digest.
create table control.throttle (
    subject       bytea primary key check (octet_length(subject) = 32),
    failures      integer not null,
    first_at      timestamptz not null,
    blocked_until timestamptz
);
create index throttle_age on control.throttle (first_at);

-- Every change that somebody made, in words.
create table control.audit (
    id           bigint generated always as identity primary key,
    at           timestamptz not null,
    -- Null: this program, or somebody at its console.
    person       uuid references control.person (id),
    -- As they were called then.
    who          text not null,
    address      text,
    -- Null: the whole service.
    organization uuid,
    project      uuid,
    action       text not null,
    subject      text not null default '',
    detail       text not null default ''
);
create index audit_organization on control.audit (organization, id) where organization is not null;

create function control.refuse_change() returns trigger
language plpgsql as $$
begin
    raise exception 'the audit log is append-only';
end
$$;
create trigger audit_append_only before update or delete or truncate on control.audit
    for each statement execute function control.refuse_change();

alter table control.api_key
    -- The key that takes its place; this one ends at its expiry.
    add column successor uuid references control.api_key (id);
