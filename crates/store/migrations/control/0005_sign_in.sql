-- Sign-in: when a session proved its person, and second factors. Scopes of API keys, and the
-- longest lifetime of an organization's keys.
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
