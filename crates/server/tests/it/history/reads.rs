//! How many index entries and rows pages and stages read, counted by PostgreSQL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::person::Role;
use domain::time::Timestamp;
use futures::future::join_all;
use store::{Pool, Shard};
use workers::stage::Stage;

use super::simulation::HistorySimulation;
use crate::dashboard::browser::{Browser, project_path};
use crate::support::test_limits::SHARD_CONNECTIONS;

const PAGES: [&str; 12] = [
    "",
    "/cargo",
    "/cargo?status=failed",
    "/cargo?status=callback_failed",
    "/cargo?status=pending",
    "/groups",
    "/batches",
    "/files",
    "/callbacks",
    "/usage",
    "/usage?days=90",
    "/models",
];

const REPORT: &str = "select pg_stat_force_next_flush()";

/// Idle connections report what they read up to ten seconds later. These report it now.
async fn report_entries_read(pool: &Pool, connections: usize) {
    let sessions = join_all((0..connections).map(|_| pool.acquire())).await;
    for session in sessions {
        let mut session = session.unwrap();
        sqlx::query(REPORT).execute(&mut session).await.unwrap();
    }
}

/// Entries read so far by the one connection of the shard, and by all others that have reported.
async fn count_entries_read(shard: &Shard) -> i64 {
    sqlx::query(REPORT).execute(&shard.pool).await.unwrap();
    let read = "select ((select coalesce(sum(seq_tup_read), 0) from pg_stat_user_tables
            where schemaname = 'shard')
        + (select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes
            where schemaname = 'shard'))::bigint";
    let read = sqlx::query_scalar(read);
    read.fetch_one(&shard.pool).await.unwrap()
}

async fn measure_stage(shard: &Shard, stage: &mut dyn Stage, now: Timestamp) -> i64 {
    let before = count_entries_read(shard).await;
    stage.step(now).await.unwrap();
    count_entries_read(shard).await - before
}

impl HistorySimulation {
    /// What each page reads, and what each stage reads for one load.
    pub(super) async fn measure_reads(&mut self) -> BTreeMap<String, i64> {
        let mut reads = BTreeMap::new();
        let shard = self.measured.clone();
        self.report_earlier_reads().await;
        self.measure_pages(&shard, &mut reads).await;
        self.measure_stages(&shard, &mut reads).await;
        reads
    }

    /// So that what the other connections of the service have read is not counted later.
    async fn report_earlier_reads(&self) {
        let shard = self.shard();
        report_entries_read(&shard.pool, SHARD_CONNECTIONS.try_into().unwrap()).await;
        report_entries_read(&shard.writers, store::WRITER_CONNECTIONS).await;
    }

    async fn measure_pages(&self, shard: &Arc<Shard>, reads: &mut BTreeMap<String, i64>) {
        let (service, customer) = (&self.service, &self.customer);
        let owner = Browser::member(service, customer, Role::Owner).await;
        let mut owner = owner.with_shards(service, vec![shard.clone()]);
        let balance = format!("/dashboard/organization/{}/balance", customer.organization);
        let mut paths = vec![("/balance", balance)];
        for page in PAGES {
            paths.push((page, project_path(service, customer, page).await));
        }
        for (name, path) in paths {
            // The first request also reads the system catalogues.
            assert_eq!(owner.get(&path).await.status, 200, "{path}");
            let before = count_entries_read(shard).await;
            owner.get(&path).await;
            let read = count_entries_read(shard).await - before;
            reads.insert(format!("page {name}"), read);
        }
    }

    /// The stages have done what was due, so they find one load, its result and its counts.
    async fn measure_stages(&mut self, shard: &Shard, reads: &mut BTreeMap<String, i64>) {
        self.load_one().await;
        self.report_earlier_reads().await;
        let now = self.service.now();
        let path = &mut self.path;
        for stage in [
            &mut path.gather as &mut dyn Stage,
            &mut path.dispatch,
            &mut path.resend,
        ] {
            let read = measure_stage(shard, stage, now).await;
            reads.insert(format!("stage {}", stage.name()), read);
        }
        let now = self.service.clock.advance(crate::support::MOCK_DELAY);
        let read = measure_stage(shard, &mut path.collect, now).await;
        reads.insert("stage collect".to_owned(), read);
        let before = count_entries_read(shard).await;
        path.deliver.run_until_idle(now).await.unwrap();
        let read = count_entries_read(shard).await - before;
        reads.insert("stage deliver".to_owned(), read);
        // The first steps of a sweep find their positions.
        for _ in 0..3 {
            let now = self.service.clock.advance(Duration::from_mins(2));
            let path = &mut self.path;
            for stage in [
                &mut path.sweep as &mut dyn Stage,
                &mut path.audit,
                &mut path.sweep_history,
            ] {
                let read = measure_stage(shard, stage, now).await;
                reads.insert(format!("stage {}", stage.name()), read);
            }
        }
    }
}
