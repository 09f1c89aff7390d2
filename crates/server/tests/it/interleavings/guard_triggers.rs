//! Triggers in PostgreSQL that record violations while the test runs.

use std::fmt::Write as _;

use store::Shard;

/// Claims are committed only for live nodes. Only the node that holds a batch records its job. A
/// lane has no more unsubmitted batches than gather may create.
///
/// `pause` waits in the middle of a statement while the scheduler holds the node's advisory lock.
const GUARD_TRIGGERS: &str = "
create schema guard;
create table guard.violation (id bigint generated always as identity, what text not null);

create function guard.pause() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock_shared(hashtext(current_setting('application_name')));
    return null;
end $$;

create function guard.alive() returns trigger language plpgsql as $$ begin
    if not exists (select from shard.node n
                   where n.node = new.node and n.epoch = new.epoch and n.dead_at is null) then
        insert into guard.violation (what) values (format(
            'a claim on a %s was committed for a node and epoch that are not alive', tg_table_name));
    end if;
    return null;
end $$;

create function guard.job() returns trigger language plpgsql as $$ begin
    if old.node is null or right(current_setting('application_name'), 36) <> old.node::text then
        insert into guard.violation (what) values (format(
            'job %s was recorded by a node that does not hold its batch', new.job));
    end if;
    return null;
end $$;
create trigger job after update on shard.batch for each row
    when (old.state = 'submitting' and new.state = 'running') execute function guard.job();

create function guard.backlog() returns trigger language plpgsql as $$ begin
    insert into guard.violation (what)
    select format('lane %s has %s unsubmitted batches, at most BOUND are allowed', lane, count(*))
    from shard.batch where state in ('gathered', 'submitting') and lane in (select lane from made)
    group by lane having count(*) > BOUND;
    return null;
end $$;
create trigger backlog after insert on shard.batch referencing new table as made
    for each statement execute function guard.backlog();
";

const CLAIMED_TABLES: [&str; 3] = ["lane", "batch", "delivery"];

/// Planning over a month of partitions would take most of the time. So only the first days stay
/// attached, and a connection plans a statement once. The detached tables stay, so sweep does not
/// create them again.
const CHEAP_PLANS: &str = "
do $$ declare part record; begin
    execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database());
    for part in select i.inhparent::regclass as parent, i.inhrelid::regclass as child
                from pg_inherits i join pg_class c on c.oid = i.inhrelid
                where c.relkind = 'r' and c.relnamespace = 'shard'::regnamespace
                    and right(c.relname, 8) not between '20260101' and '20260104'
    loop
        execute format('alter table %s detach partition %s', part.parent, part.child);
    end loop;
end $$;
";

pub(super) async fn install(shard: &Shard, max_backlog: usize) {
    let mut statements = CHEAP_PLANS.to_owned();
    statements += &GUARD_TRIGGERS.replace("BOUND", &max_backlog.to_string());
    for table in CLAIMED_TABLES {
        // Writing to a string cannot fail.
        let _ = write!(
            statements,
            "create trigger pause after update on shard.{table}
                 for each statement execute function guard.pause();
             create constraint trigger alive after insert or update of node, epoch on shard.{table}
                 deferrable initially deferred for each row when (new.node is not null)
                 execute function guard.alive();"
        );
    }
    let statements = sqlx::raw_sql(sqlx::AssertSqlSafe(statements));
    statements.execute(&shard.pool).await.unwrap();
}

/// Reads the violations that the triggers recorded.
pub(super) const SELECT_VIOLATIONS: &str = "select distinct what from guard.violation";
