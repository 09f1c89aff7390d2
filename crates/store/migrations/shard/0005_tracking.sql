-- What tracking tells: what realtime would have cost, and why a cargo waits. Everything is new beside
-- what stands, so that servers of the version before go on meanwhile; what they store, or fold, is
-- not compared.

set local lock_timeout = '5s';

-- Null where it failed, where it was free, and where no realtime price was known.
alter table shard.outcome
    add column realtime bigint;

alter table shard.usage_delta
    add column realtime bigint[],
    add column saved bigint[];

-- Sums over those of which a realtime price was known: the charge of the others is in `money` alone.
alter table shard.usage
    add column realtime bigint not null default 0,
    add column saved bigint not null default 0;

-- When it came back from a batch that had no outcome for it, last.
alter table shard.cargo
    add column returned_at timestamptz;

-- Why it was not sent when it was tried last.
alter table shard.batch
    add column delay text;
