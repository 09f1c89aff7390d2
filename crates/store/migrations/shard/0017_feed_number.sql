-- The identity of an unlogged table has an unlogged sequence, and its first page does not reach the
-- disk of a standby. After the promotion of a standby that followed while the table was created,
-- PostgreSQL 15 reports "bad magic number in sequence" at every insert: no outcome could be stored.
-- A logged sequence survives. It repairs databases that have been promoted, too.

-- First, because its lock keeps the greatest number as it is.
alter table shard.feed alter column id drop identity;
create sequence shard.feed_number as bigint owned by shard.feed.id;
select setval('shard.feed_number', (select coalesce(max(id), 0) + 1 from shard.feed), false);
alter table shard.feed alter column id set default nextval('shard.feed_number');
