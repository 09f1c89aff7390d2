-- The code of a failure, for programs; the text beside it is for people.
-- Additive: servers of the version before leave it null.

set local lock_timeout = '5s';

alter table shard.outcome add column failure_code text;
