//! How many rows the list of cargo reads, counted by PostgreSQL on 20,000 rows.
#![expect(
    clippy::disallowed_methods,
    reason = "the test inserts rows and reads statistics with plain SQL"
)]

use std::sync::Arc;

use chrono::TimeDelta;
use domain::id::{ApiKeyId, ProjectId};
use domain::time::Clock as _;
use sqlx::types::Uuid;
use store::Shard;
use store::shard::cargo_id_range::CargoIdRange;
use store::shard::failure_index::FailureKind;
use store::view::cargo;
use store::view::loads::{self, LoadFilter};
use test_support::database::TestDatabase;

/// Two thirds of all rows belong to other projects.
const ROWS: i64 = 20_000;
const PAGE_SIZE: u32 = 50;

struct FilledShard {
    // Dropped with the test.
    _database: TestDatabase,
    shard: Shard,
    project: ProjectId,
    all_ids: CargoIdRange,
}

impl FilledShard {
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let clock = Arc::clone(&database.clock);
        let now = clock.now();
        // One connection, so that its counters are complete.
        let shard = Shard::connect_lazily("main", &database.url(), 1, clock).unwrap();
        let project = Uuid::from_u64_pair(7, 7);
        let statements = [
            "insert into shard.lane (provider, model, kind) values ('mock', 'm', 'chat')",
            "insert into shard.cargo (id, organization, project, api_key, lane, model, created_at,
                 completed_at, success, callback_state, callback_host)
             select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
                     || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid, $1,
                 case when n % 3 = 0 then $1 when n < 300 then '00000000-0000-0008-0000-000000000008'
                     else gen_random_uuid() end, $1, 1,
                 case when n % 300 = 0 then 'rare' else 'usual' end, at, at, n % 60 <> 0,
                 case when n % 90 = 0 then 'failed' else 'delivered' end, 'host'
             from (select n, $2::timestamptz + n * interval '4 seconds' as at
                   from generate_series(1, $3::bigint) n) rows",
            "insert into shard.outcome (cargo, success, codec, body, input_tokens, output_tokens)
             select id, success, 0, '{}', 1, 1 from shard.cargo",
            "insert into shard.trouble (project, kind, cargo, label)
             select project, 'failed', id, 'a' from shard.cargo where not success",
            "insert into shard.usage (project, hour, api_key, model, event, count, input_tokens,
                 output_tokens)
             select project, date_trunc('hour', created_at), api_key, model, 'loaded', count(*), 0, 0
             from shard.cargo group by 1, 2, 3, 4",
        ];
        for (place, statement) in statements.into_iter().enumerate() {
            let query = sqlx::query(statement);
            let query = match place {
                1 => query.bind(project).bind(now).bind(ROWS),
                _ => query,
            };
            query.execute(&shard.pool).await.unwrap();
        }
        sqlx::query("analyze").execute(&shard.pool).await.unwrap();
        Self {
            _database: database,
            shard,
            project: project.into(),
            all_ids: CargoIdRange::loaded_between(now, now + TimeDelta::days(2)),
        }
    }

    /// How many index entries and table rows were read since the server started.
    async fn count_rows_read(&self) -> i64 {
        sqlx::query("select pg_stat_force_next_flush()")
            .execute(&self.shard.pool)
            .await
            .unwrap();
        let read = "select ((select coalesce(sum(seq_tup_read), 0) from pg_stat_user_tables
                where schemaname = 'shard' and relname not in ('batch', 'lane'))
            + (select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes
                where schemaname = 'shard'))::bigint";
        sqlx::query_scalar(read)
            .fetch_one(&self.shard.pool)
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn no_page_of_the_list_reads_more_than_ten_times_what_it_shows() {
    let full = FilledShard::new().await;
    let (shard, project, whole) = (&full.shard, full.project, full.all_ids);
    let most = i64::from(PAGE_SIZE) * 10;

    let before = full.count_rows_read().await;
    let page = cargo::list_newest(shard, project, whole, PAGE_SIZE)
        .await
        .unwrap();
    let came = cargo::list_outcome_summaries(shard, &page).await.unwrap();
    let first = full.count_rows_read().await;
    assert_eq!((page.len(), came.len()), (50, 50));
    assert!(page.is_sorted_by(|a, b| a.id.uuid() > b.id.uuid()));
    assert!(first - before <= most, "a page reads {}", first - before);

    let deep = CargoIdRange {
        beyond: page.last().unwrap().id.uuid(),
        ..whole
    };
    let page = cargo::list_newest(shard, project, deep, PAGE_SIZE)
        .await
        .unwrap();
    let second = full.count_rows_read().await;
    assert_eq!(page.len(), 50);
    assert!(second - first <= most, "the next reads {}", second - first);

    for label in [None, Some("a")] {
        let before = full.count_rows_read().await;
        let found =
            cargo::list_failures(shard, project, FailureKind::Failed, label, whole, PAGE_SIZE);
        let found = found.await.unwrap();
        let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
        let page = cargo::list_by_ids(shard, project, &ids).await.unwrap();
        let read = full.count_rows_read().await - before;
        assert_eq!(page.len(), 50);
        assert!(page.iter().all(|cargo| cargo.success == Some(false)));
        assert!(read <= most, "failures with {label:?} read {read}");
    }

    let before = full.count_rows_read().await;
    let groups = cargo::group_failures(shard, project, FailureKind::Failed, whole, 500);
    let groups = groups.await.unwrap();
    let read = full.count_rows_read().await - before;
    assert_eq!(groups, [("a".to_owned(), 333)]);
    assert!(read <= most, "groups read {read}");
}

#[tokio::test]
async fn a_project_that_was_quiet_lately_does_not_read_what_others_loaded() {
    let full = FilledShard::new().await;
    let quiet = ProjectId::from(Uuid::from_u64_pair(8, 8));
    let before = full.count_rows_read().await;
    let page = cargo::list_newest(&full.shard, quiet, full.all_ids, PAGE_SIZE)
        .await
        .unwrap();
    let last = cargo::find_last_loaded_at(&full.shard, quiet)
        .await
        .unwrap();
    let read = full.count_rows_read().await - before;
    assert_eq!(page.len(), 50);
    assert_eq!(last, page.first().map(|cargo| cargo.created_at));
    assert!(read <= i64::from(PAGE_SIZE) * 10, "it reads {read}");
}

#[tokio::test]
async fn choices_and_pictures_are_read_from_sums() {
    let full = FilledShard::new().await;
    let from = full.shard.clock.now();
    let filter = LoadFilter {
        project: full.project,
        from,
        to: from + TimeDelta::days(2),
        model: None,
        key: None,
    };
    let before = full.count_rows_read().await;
    let columns = loads::count_by_period(&full.shard, filter, false)
        .await
        .unwrap();
    let choices = loads::list_choices(&full.shard, filter).await.unwrap();
    let rare = LoadFilter {
        model: Some("rare"),
        ..filter
    };
    let hours = loads::count_by_hour(&full.shard, rare, 1000).await.unwrap();
    let read = full.count_rows_read().await - before;
    assert_eq!(columns.columns.len(), 23);
    let loaded: u64 = choices.models.iter().map(|(_, loads)| loads).sum();
    assert_eq!(loaded, 6666);
    assert_eq!(
        choices.keys,
        [(ApiKeyId::from_uuid(full.project.uuid()), 6666)]
    );
    assert_eq!(hours.iter().map(|hour| hour.matching).sum::<u64>(), 66);
    assert!(hours.is_sorted_by(|a, b| a.at > b.at));
    // Three times the hours, each with two models.
    assert!(read <= 3 * 46 + 10, "they read {read}");
}
