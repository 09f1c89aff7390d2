//! How many rows pages read, counted by PostgreSQL, with 20,000 cargo in the project.
#![expect(
    clippy::disallowed_methods,
    reason = "the test inserts rows and counts reads with its own SQL"
)]

use std::sync::Arc;

use domain::id::GroupId;
use domain::person::Role;
use sqlx::ConnectOptions as _;
use store::Shard;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::encryption::environment_master_keys;
use crate::support::{Customer, TestService};

/// Ten times a page of fifty for one query; a list of failures also counts their groups.
const MAX_ENTRIES_READ: i64 = 500 + 200;

/// Every second cargo and group is another project's. The newest group has all of its project's
/// cargo, the others have one. One in seven failed, one in nine has a failed callback.
const INSERT_STATEMENTS: [&str; 13] = [
    "insert into shard.lane (provider, model, kind) values ('mock', 'usual', 'chat')
     on conflict do nothing",
    "insert into shard.cargo (id, organization, project, api_key, lane, model, created_at,
         completed_at, success, callback_state, callback_host, callback_url, batch)
     select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
             || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, $1,
         case when n % 2 = 0 then $2 else gen_random_uuid() end, $3,
         (select min(id) from shard.lane), case when n % 500 = 0 then 'rare' else 'usual' end, at, at,
         n % 7 <> 0, case when n % 9 = 0 then 'failed' else 'delivered' end, 'host',
         'http://host/', (lpad(to_hex((extract(epoch from $4::timestamptz) * 1000)::bigint), 12, '0')
             || '70008000' || lpad(to_hex(n / 100), 12, '0'))::uuid
     from (select n, $4::timestamptz - n * interval '2 seconds' as at
           from generate_series(1, 40000) n) rows",
    "insert into shard.outcome (cargo, success, codec, body, input_tokens, output_tokens)
     select id, success, 0, '{}', 1, 1 from shard.cargo",
    "insert into shard.request (cargo, codec, body) select id, 0, '{}' from shard.cargo",
    "insert into shard.attempt (cargo, number, started_at, ended_at, status)
     select id, 1, completed_at, completed_at, 200 from shard.cargo",
    "insert into shard.trouble (project, kind, cargo, label)
     select project, 'failed', id, 'a group' from shard.cargo where not success
     union all
     select project, 'callback_failed', id, 'host' from shard.cargo where callback_state = 'failed'",
    "insert into shard.batch (id, lane, state, cargo, gathered_at, running_at, ended_at)
     select batch, min(lane), 'ended', array_agg(id), min(created_at), min(created_at), min(created_at)
     from shard.cargo group by batch",
    "insert into shard.share (project, batch, cargo, succeeded)
     select project, batch, count(*), count(*) from shard.cargo group by project, batch",
    "insert into shard.file (id, organization, project, status, kind, media_type, filename, size_bytes,
         sha256, ttl_seconds, failure_reason, created_at)
     select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
             || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, $1, $2,
         (array['uploading', 'failed', 'expired'])[1 + n % 3],
         (array['image', 'document', 'video'])[1 + n / 3 % 3], 'image/png', 'x.png', 1,
         decode(repeat('00', 32), 'hex'), 60, 'upload_missing', at
     from (select n, $4::timestamptz - n * interval '1 second' as at
           from generate_series(1, 3000) n) rows",
    "insert into shard.cargo_group (id, organization, project, name, created_at, loaded_at, total,
         succeeded, failed)
     select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
             || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, $1,
         case when n % 2 = 0 then $2 else gen_random_uuid() end, 'run-' || n, at, at, 20000, 17000, 2
     from (select n, $4::timestamptz - n * interval '1 second' as at
           from generate_series(1, 3000) n) rows",
    "insert into shard.group_member (group_id, position, custom_id_digest, load_digest, cargo)
     select id, 0, '', '', (select min(id::text)::uuid from shard.cargo) from shard.cargo_group",
    "with newest as (
         select id from shard.cargo_group where project = $2 order by id desc limit 1
     ), cargo as (
         select id, row_number() over (order by id) as number from shard.cargo
         where organization = $1 and project = $2
             and id <> (select min(id::text)::uuid from shard.cargo)
     ), members as (
         insert into shard.group_member (group_id, position, custom_id_digest, load_digest, cargo)
         select newest.id, number, uuid_send(cargo.id), '', cargo.id from newest, cargo
     )
     insert into shard.group_result (group_id, number, position, cargo)
     select newest.id, number, number, cargo.id from newest, cargo",
    "insert into shard.group_failure (group_id, label, count, cargo)
     select g.id, label, 1, (select min(id::text)::uuid from shard.cargo)
     from shard.cargo_group g, unnest(array['one', 'other']) as label",
];

/// The newest group of the project.
async fn find_newest_group(shard: &Shard, customer: &Customer) -> GroupId {
    let newest = "select id from shard.cargo_group where project = $1 order by id desc limit 1";
    let newest = sqlx::query_scalar(newest).bind(customer.project.uuid());
    let newest: uuid::Uuid = newest.fetch_one(&shard.pool).await.unwrap();
    newest.into()
}

async fn insert_rows(shard: &Shard, customer: &Customer) {
    for statement in INSERT_STATEMENTS {
        let mut query = sqlx::query(statement);
        if statement.contains("$1") {
            query = query
                .bind(customer.organization.uuid())
                .bind(customer.project.uuid())
                .bind(customer.key_id.uuid())
                .bind(shard.clock.now());
        }
        query.execute(&shard.pool).await.unwrap();
    }
    sqlx::query("analyze").execute(&shard.pool).await.unwrap();
}

/// Index entries and table rows that were read so far, without the tables of folded counts.
async fn count_entries_read(shard: &Shard) -> i64 {
    let flush = sqlx::query("select pg_stat_force_next_flush()");
    flush.execute(&shard.pool).await.unwrap();
    let read = "select ((select coalesce(sum(seq_tup_read), 0) from pg_stat_user_tables
            where schemaname = 'shard' and relname not in ('usage', 'callback_hour'))
        + (select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes
            where schemaname = 'shard' and relname not in ('usage', 'callback_hour')))::bigint";
    let read = sqlx::query_scalar(read);
    read.fetch_one(&shard.pool).await.unwrap()
}

#[tokio::test]
async fn no_page_reads_more_than_ten_times_what_it_shows() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    // One connection, so that its reads are in the statistics when the test asks for them.
    let url = service.north.pool.connect_options().to_url_lossy();
    let clock = service.north.clock.clone();
    let north = Shard::connect_lazily("north", url.as_str(), 1, clock).unwrap();
    let north = Arc::new(north.with_master_keys(environment_master_keys()));
    insert_rows(&north, &customer).await;
    let owner = Browser::member(&service, &customer, Role::Owner).await;
    let mut owner = owner.with_shards(&service, vec![north.clone()]);
    let project = project_path(&service, &customer, "").await;
    let balance = format!("/dashboard/organization/{}/balance", customer.organization);
    let group = find_newest_group(&north, &customer).await;
    let group = format!("/groups/{group}");
    let mut reads = Vec::new();
    for path in [
        "",
        "/cargo",
        "/cargo?status=failed",
        "/cargo?status=callback_failed",
        "/cargo?model=rare",
        "/cargo?status=pending",
        "/cargo?host=nowhere",
        "/groups",
        &group,
        "/batches",
        "/files",
        "/files?status=failed",
        "/callbacks",
        "/usage",
        "/models",
        &balance,
    ] {
        let path = if path == balance {
            balance.clone()
        } else {
            format!("{project}{path}")
        };
        // The first request also reads the system catalogues.
        assert_eq!(owner.get(&path).await.status, 200, "{path}");
        let before = count_entries_read(&north).await;
        owner.get(&path).await;
        reads.push((path, count_entries_read(&north).await - before));
    }
    let too_much: Vec<_> = reads
        .iter()
        .filter(|(_, read)| *read > MAX_ENTRIES_READ)
        .collect();
    assert!(too_much.is_empty(), "{too_much:#?} of {reads:#?}");
}
