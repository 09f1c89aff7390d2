-- Sign-in: when a session proved its person, and second factors. Scopes of API keys, and the
-- longest lifetime of an organization's keys. The audit log for other programs.
-- Everything is added beside what exists, so that servers of the version before continue meanwhile.
-- They do not enforce scopes.

set local lock_timeout = '5s';

alter table control.session
    -- When the person last entered a password or a code. Null: when the session began.
    add column proved_at timestamptz,
    -- Whether the person signed in with a second factor, here or at the identity provider.
    add column has_second_factor boolean not null default false;

alter table control.organization
    -- Its pages open only in sessions with a second factor.
    add column requires_second_factor boolean not null default false;

-- Time-based one-time passwords (RFC 6238). The server needs the secret itself to check a code, so
-- it is encrypted: a nonce, the secret and a tag. Without a signing root it is the secret alone.
create table control.totp (
    person       uuid primary key references control.person (id),
    secret       bytea not null check (octet_length(secret) in (20, 48)),
    -- Null until the person has entered a first code.
    confirmed_at timestamptz,
    -- The time step of the last code: a code is accepted once.
    last_step    bigint not null default 0,
    created_at   timestamptz not null
);

-- Codes for a person who has lost the device. A row that is gone was used.
create table control.recovery_code (
    person uuid not null references control.person (id),
    digest bytea not null check (octet_length(digest) = 32),
    primary key (person, digest)
);

-- Sign-ins whose password was correct and whose code is not entered yet; found by a cookie.
create table control.factor_challenge (
    digest     bytea primary key check (octet_length(digest) = 32),
    person     uuid not null references control.person (id),
    expires_at timestamptz not null
);
create index factor_challenge_expiry on control.factor_challenge (expires_at);

-- Scopes of API keys, and the address of their last use.
alter table control.api_key
    -- Null: no restriction.
    add column rights text[] check (rights <@ array['load', 'read', 'files']),
    add column models text[],
    -- Ranges in CIDR notation.
    add column addresses text[],
    -- In nano-dollars per calendar month (UTC).
    add column monthly_cap bigint check (monthly_cap >= 0),
    -- The key whose spending is counted: itself or, after rotations, the first of them.
    add column spending_key uuid references control.api_key (id),
    add column last_used_address text,
    add constraint api_key_cap check ((monthly_cap is null) = (spending_key is null));

alter table control.organization
    -- Null: keys may have no expiry.
    add column max_key_days integer check (max_key_days between 1 and 3650);

-- Readers of the audit log remember the last id that they have read. A transaction keeps this lock
-- from its first entry to its end, so entries become visible in the order of their ids: a reader
-- who has seen 7 never misses 6. The trigger runs before the id is drawn.
create function control.lock_audit() returns trigger
language plpgsql as $$
begin
    -- "audt" in ASCII.
    perform pg_advisory_xact_lock(1635083380);
    return null;
end
$$;
create trigger audit_commit_order before insert on control.audit
    for each statement execute function control.lock_audit();

alter table control.audit
    -- The browser, as it named itself. Null: the console, or an entry from before this column.
    add column user_agent text;

-- Tokens that read the audit log over HTTP. A row that is gone was revoked.
create table control.audit_token (
    id           uuid primary key,
    -- Null: the log of the whole service.
    organization uuid references control.organization (id),
    name         text not null check (length(name) between 1 and 200),
    -- The first characters, for people; never used to find a token.
    prefix       text not null check (length(prefix) = 15),
    -- The whole token's SHA-256. The token itself is nowhere.
    digest       bytea not null unique check (octet_length(digest) = 32),
    -- Written at most once a minute.
    last_used_at timestamptz,
    created_at   timestamptz not null
);
create index audit_token_organization on control.audit_token (organization, id);

-- How far the audit log is written to a file, and which process writes it now.
create table control.audit_file (
    one        boolean primary key default true check (one),
    -- The id of the last entry in the file.
    last_entry bigint not null default 0,
    node       uuid,
    held_until timestamptz
);
insert into control.audit_file default values;
