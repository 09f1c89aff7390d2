-- Isolation between lanes and between provider accounts.
-- Everything is additive, so that servers of the version before go on meanwhile.

set local lock_timeout = '5s';

-- Until when a call that creates the job may still be under way. Null: no such call is known,
-- or a server of the version before made it.
alter table shard.batch add column sending_until timestamptz;

-- The open batches of a lane: gather counts those that no provider has yet.
create index batch_unended on shard.batch (lane, state)
    where state in ('gathered', 'submitting', 'running');
