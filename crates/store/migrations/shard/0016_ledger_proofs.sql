-- What the audit has proven, so that each minute it proves only what changed.
-- Additive: groups of outcomes of the version before leave no row in shard.unaudited. The audit
-- notices it, because its sums then differ from the account, and reads open cargo again.

set local lock_timeout = '5s';

-- The cargo that a group of outcomes completed. The audit deletes the row in the transaction that
-- adds the cargo to its sums.
create table shard.unaudited (
    id bigint generated always as identity primary key,
    cargo uuid[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);

-- A walk over all kept cargo and postings. The newest finished one is kept current, and accounts are
-- compared with its sums; at most one more is under way.
create table shard.ledger_pass (
    number bigint primary key,
    started_at timestamptz not null,
    -- The oldest day that was kept when it began.
    first_day date not null,
    -- Cargo up to this id is in its sums.
    position uuid not null,
    -- Postings up to this one were read. Null: all.
    posting_organization uuid default '00000000-0000-0000-0000-000000000000',
    posting_number bigint not null default 0,
    finished_at timestamptz,
    -- When accounts were last compared with its sums, with everything that had changed.
    proven_at timestamptz
);

-- Sums over the rows of cargo and outcomes.
create table shard.ledger_sum (
    pass bigint not null,
    organization uuid not null,
    -- The first day of the month (UTC) in which the cargo was loaded.
    month date not null,
    -- The key in whose row the holds are counted; zeros without one.
    api_key uuid not null,
    -- Of open cargo.
    held bigint not null,
    reserved bigint not null,
    -- Of outcomes.
    used bigint not null,
    charged bigint not null,
    primary key (pass, organization, month, api_key)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- The sum of an organization's settlements up to a posting.
create table shard.ledger_settled (
    pass bigint not null,
    organization uuid not null,
    number bigint not null,
    settled bigint not null,
    primary key (pass, organization)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Organizations of which cargo ended without a row in shard.unaudited. Their used tokens and charges
-- are proven again by a pass that starts later.
create table shard.ledger_gap (
    pass bigint not null,
    organization uuid not null,
    primary key (pass, organization)
);

-- Rows of cargo and postings that break an invariant, until a proof of the same rows is clean.
create table shard.ledger_fault (
    id bigint generated always as identity primary key,
    invariant text not null,
    organization uuid,
    posting bigint,
    cargo uuid,
    expected text not null,
    found text not null
);
