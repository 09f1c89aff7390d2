-- The callback of a completed group.
-- Additive: servers of the version before complete such groups, too, so a trigger queues the
-- callback. Their deliver stage cannot read it: the attempt fails, and the retries continue.

set local lock_timeout = '5s';

-- How many attempts have ended, and how the last one ended.
alter table shard.cargo_group add column callback_attempts smallint not null default 0;
alter table shard.cargo_group add column callback_attempted_at timestamptz;
alter table shard.cargo_group add column callback_status smallint;
alter table shard.cargo_group add column callback_error text;
alter table shard.cargo_group add column callback_delivered_at timestamptz;

-- The last outcome, the seal, the cancellation or the unpacker completes a group, once. The same
-- transaction queues its callback, under the id of the group.
create function shard.queue_group_callback() returns trigger
language plpgsql as $$
begin
    insert into shard.delivery (cargo, organization, host, due_at)
    values (new.id, new.organization, new.callback_host, new.completed_at);
    return null;
end
$$;
create trigger cargo_group_completed after update of completed_at on shard.cargo_group
    for each row
    when (old.completed_at is null and new.completed_at is not null
        and new.callback_host is not null)
    execute function shard.queue_group_callback();
