//! Online steps: interrupted, continued, beside writers, one process at a time.

use std::sync::Mutex;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use store::migrate::{self, OnlineStep, OnlineWork, SchemaName, StepProgress};
use store::{Error, Pool};
use test_support::database::TestDatabase;

const APPLIED: i64 = 1_000;
const COPY_ROWS: &str = "insert into shard.waiting (lane, organization, cargo)
    select 1, '00000000-0000-0000-0000-000000000001', lpad(to_hex(n), 32, '0')::uuid
    from generate_series(1, 25) n";

const fn step(name: &'static str, work: OnlineWork) -> OnlineStep {
    OnlineStep {
        name,
        after: 13,
        work,
    }
}

const MODEL_INDEX: OnlineStep = step(
    "cargo_model",
    OnlineWork::Index {
        table: "cargo",
        is_unique: false,
        definition: "(model, id)",
    },
);

const DUE_BACKFILL: OnlineStep = step(
    "waiting_due",
    OnlineWork::Backfill {
        table: "waiting",
        key: "cargo",
        key_type: "uuid",
        assignments: "due_at = '2026-01-01'",
        condition: "due_at is null",
        chunk_rows: 10,
    },
);

struct Shard {
    database: TestDatabase,
    progress: Mutex<Vec<String>>,
}

impl Shard {
    async fn new() -> Self {
        Self {
            database: TestDatabase::new().await,
            progress: Mutex::default(),
        }
    }

    fn pool(&self) -> &Pool {
        &self.database.shard.pool
    }

    async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.database.url()).await.unwrap()
    }

    async fn run(&self, steps: &[OnlineStep]) -> Result<(), Error> {
        let report = |progress: StepProgress<'_>| {
            let line = format!("{} {}", progress.step, progress.text);
            self.progress.lock().unwrap().push(line);
        };
        migrate::run_steps(self.pool(), SchemaName::Shard, steps, APPLIED, &report).await
    }

    async fn read(&self, query: &str) -> i64 {
        let query = sqlx::query_scalar(AssertSqlSafe(query.to_owned()));
        query.fetch_one(&mut self.connect().await).await.unwrap()
    }

    async fn execute(&self, statements: &str) {
        let mut connection = self.connect().await;
        let statements = AssertSqlSafe(statements.to_owned());
        connection.execute(statements).await.unwrap();
    }

    /// The partitions of cargo, and how many of them have an attached, valid index.
    async fn count_indexed(&self) -> (i64, i64) {
        let partitions =
            "select count(*) from pg_inherits where inhparent = 'shard.cargo'::regclass";
        let indexed =
            "select count(*) from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
            where i.inhparent = 'shard.cargo_model'::regclass and x.indisvalid";
        (self.read(partitions).await, self.read(indexed).await)
    }

    async fn is_valid(&self, index: &str) -> bool {
        let query = format!(
            "select count(*) from pg_index where indexrelid = to_regclass('shard.{index}') and indisvalid"
        );
        self.read(&query).await == 1
    }
}

#[tokio::test]
async fn the_steps_of_this_release_are_finished_after_a_migration() {
    let shard = Shard::new().await;
    let status = migrate::read_status(shard.pool(), SchemaName::Shard)
        .await
        .unwrap();
    assert_eq!((status.open_steps, status.pending), (Vec::new(), 0));
    assert!(shard.is_valid("batch_job").await);
}

#[tokio::test]
async fn every_partition_gets_the_index_and_so_do_later_ones() {
    let shard = Shard::new().await;
    shard.run(&[MODEL_INDEX]).await.unwrap();
    let (partitions, indexed) = shard.count_indexed().await;
    assert!(partitions > 0);
    assert_eq!(partitions, indexed);
    assert!(shard.is_valid("cargo_model").await);

    shard.execute("select shard.make_day('2031-01-01')").await;
    assert_eq!(shard.count_indexed().await, (partitions + 1, indexed + 1));

    // A second run has nothing to do.
    shard.progress.lock().unwrap().clear();
    shard.run(&[MODEL_INDEX]).await.unwrap();
    assert_eq!(shard.progress.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn an_interrupted_build_is_continued() {
    let shard = Shard::new().await;
    let first = "select min(relname)::text from pg_class where relname ~ '^cargo_[0-9]{8}$'";
    let first: String = sqlx::query_scalar(first)
        .fetch_one(&mut shard.connect().await)
        .await
        .unwrap();
    // As a killed process leaves it: the table's index, one that is not valid, and a new day.
    shard
        .execute(&format!(
            "create index cargo_model on only shard.cargo (model, id);
             create index {first}_cargo_model on shard.{first} (model, id);
             update pg_index set indisvalid = false
             where indexrelid = 'shard.{first}_cargo_model'::regclass;
             insert into shard.online_step (name) values ('cargo_model');
             select shard.make_day('2031-01-01')"
        ))
        .await;
    assert!(!shard.is_valid("cargo_model").await);

    shard.run(&[MODEL_INDEX]).await.unwrap();
    let (partitions, indexed) = shard.count_indexed().await;
    assert_eq!(partitions, indexed);
    assert!(shard.is_valid("cargo_model").await);
}

#[tokio::test]
async fn an_index_whose_last_partition_was_dropped_is_built_again() {
    let shard = Shard::new().await;
    shard.execute("select shard.make_day('2031-01-01')").await;
    shard.run(&[MODEL_INDEX]).await.unwrap();
    shard
        .execute(
            "update pg_index set indisvalid = false
             where indexrelid = 'shard.cargo_model'::regclass;
             update shard.online_step set finished = false where name = 'cargo_model'",
        )
        .await;
    shard.run(&[MODEL_INDEX]).await.unwrap();
    assert!(shard.is_valid("cargo_model").await);
}

#[tokio::test]
async fn a_writer_waits_less_than_a_second_while_an_old_transaction_holds_the_table() {
    let shard = Shard::new().await;
    let mut old = shard.connect().await;
    old.execute("begin; lock table shard.cargo in row exclusive mode")
        .await
        .unwrap();
    let blocked = "select count(*) from pg_locks
        where not granted and relation = 'shard.cargo'::regclass";
    let writing = async {
        let mut writer = shard.connect().await;
        writer.execute("set lock_timeout = '1s'").await.unwrap();
        // The step waits for its lock, gives up, and tries again.
        for expected in [1, 0, 1] {
            while shard.read(blocked).await != expected {}
            // A writer that queues behind it gets its turn.
            writer
                .execute("begin; lock table shard.cargo in row exclusive mode; commit")
                .await
                .unwrap();
        }
        old.execute("commit").await.unwrap();
    };
    let steps = [MODEL_INDEX];
    let (built, ()) = tokio::join!(shard.run(&steps), writing);
    built.unwrap();
    assert!(shard.is_valid("cargo_model").await);
}

#[tokio::test]
async fn a_backfill_continues_after_its_position() {
    let shard = Shard::new().await;
    shard.execute(COPY_ROWS).await;
    // A process was killed after its first chunk.
    shard
        .execute(
            "insert into shard.online_step (name, position, rows_done)
             values ('waiting_due', '00000000-0000-0000-0000-00000000000a', 10)",
        )
        .await;
    shard.run(&[DUE_BACKFILL]).await.unwrap();
    let left = "select count(*) from shard.waiting where due_at is null";
    assert_eq!(shard.read(left).await, 10);
    let done = "select rows_done from shard.online_step where name = 'waiting_due' and finished";
    assert_eq!(shard.read(done).await, 25);
}

#[tokio::test]
async fn a_backfill_waits_for_a_locked_row_and_repeats_the_chunk() {
    let shard = Shard::new().await;
    shard.execute(COPY_ROWS).await;
    let mut holder = shard.connect().await;
    holder
        .execute(
            "begin; select from shard.waiting
             where cargo = '00000000-0000-0000-0000-00000000000d' for update",
        )
        .await
        .unwrap();
    let release = async {
        // The first chunk is done; the second waits.
        let first = "select coalesce(max(rows_done), 0) from shard.online_step
            where name = 'waiting_due'";
        while shard.read(first).await != 10 {}
        holder.execute("commit").await.unwrap();
    };
    let steps = [DUE_BACKFILL];
    let (done, ()) = tokio::join!(shard.run(&steps), release);
    done.unwrap();
    let left = "select count(*) from shard.waiting where due_at is null";
    assert_eq!(shard.read(left).await, 0);
}

#[tokio::test]
async fn a_constraint_is_validated() {
    let shard = Shard::new().await;
    shard
        .execute(
            "alter table shard.cargo add constraint cargo_attempt check (attempt > 0) not valid",
        )
        .await;
    let validation = step(
        "cargo_attempt_valid",
        OnlineWork::Validation {
            table: "cargo",
            constraint: "cargo_attempt",
        },
    );
    shard.run(&[validation]).await.unwrap();
    let open =
        "select count(*) from pg_constraint where conname = 'cargo_attempt' and not convalidated";
    assert_eq!(shard.read(open).await, 0);
}

#[tokio::test]
async fn two_processes_run_the_steps_one_after_the_other() {
    let shard = Shard::new().await;
    shard.execute(COPY_ROWS).await;
    let steps = [DUE_BACKFILL, MODEL_INDEX];
    let (one, other) = tokio::join!(shard.run(&steps), shard.run(&steps));
    one.unwrap();
    other.unwrap();
    let progress = shard.progress.lock().unwrap().clone();
    let finished = |name: &str| {
        let line = format!("{name} is finished");
        progress.iter().filter(|it| **it == line).count()
    };
    assert_eq!((finished("waiting_due"), finished("cargo_model")), (1, 1));
}

#[tokio::test]
async fn a_step_of_a_migration_that_is_not_applied_does_not_run() {
    let shard = Shard::new().await;
    let later = OnlineStep {
        after: APPLIED + 1,
        ..MODEL_INDEX
    };
    shard.run(&[later]).await.unwrap();
    assert!(!shard.is_valid("cargo_model").await);
}
