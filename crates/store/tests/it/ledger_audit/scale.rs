//! How much the audit of a minute reads with few and with many open cargo. `./dev bench audit` runs
//! the test with millions of rows, and judges the time too.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use domain::id::CargoId;
use domain::time::Clock as _;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use test_support::environment::{optional_number, optional_path};

use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture};

/// Loads and outcomes between two proofs.
const CHANGED_CARGO: usize = 100;
/// The median of so many minutes counts.
const MINUTES: usize = 3;
const MAX_RATIO: f64 = 1.5;

/// One organization with this many open cargo, all of them proven.
struct AuditMeasurement {
    cargo: u64,
    /// The first pass over all rows.
    pass_seconds: f64,
    /// The median of a minute's proof.
    seconds: f64,
    /// Rows that a minute's proof reads from tables, by the server's count.
    rows: i64,
}

#[tokio::test]
async fn a_minute_of_the_audit_reads_as_much_with_many_open_cargo_as_with_few() {
    let few = optional_number("LONGSHORE_AUDIT_FEW").unwrap_or(1_000);
    let many = optional_number("LONGSHORE_AUDIT_MANY").unwrap_or(50_000);
    let (few, many) = (measure(few).await, measure(many).await);
    let rows_ratio = ratio(many.rows, few.rows);
    let time_ratio = many.seconds / few.seconds;
    // Seconds of a test beside others say nothing.
    let is_timed = optional_number("LONGSHORE_AUDIT_TIMED").is_some();
    let is_fast = !is_timed || time_ratio <= MAX_RATIO;
    if let Some(verdict) = optional_path("LONGSHORE_AUDIT_VERDICT") {
        let text = verdict_line(
            rows_ratio <= MAX_RATIO && is_fast,
            &few,
            &many,
            rows_ratio,
            time_ratio,
        );
        std::fs::write(verdict, text).unwrap();
    }
    assert!(is_fast, "{time_ratio}");
    assert!(rows_ratio <= MAX_RATIO, "{} and {}", few.rows, many.rows);
    // The changed cargo was read.
    assert!(
        few.rows > i64::try_from(CHANGED_CARGO).unwrap(),
        "{}",
        few.rows
    );
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows are small")]
fn ratio(many: i64, few: i64) -> f64 {
    many as f64 / few as f64
}

fn verdict_line(
    is_ok: bool,
    few: &AuditMeasurement,
    many: &AuditMeasurement,
    rows_ratio: f64,
    time_ratio: f64,
) -> String {
    let mut line = format!(
        r#"{{"name": "bench audit", "ok": {is_ok}, "changed_cargo": {CHANGED_CARGO}, "rows_ratio": {rows_ratio:.3}, "time_ratio": {time_ratio:.3}"#
    );
    for (name, it) in [("few", few), ("many", many)] {
        write!(
            line,
            r#", "{name}": {{"open_cargo": {}, "proof_milliseconds": {:.1}, "rows_read": {}, "pass_seconds": {:.2}}}"#,
            it.cargo,
            it.seconds * 1000.0,
            it.rows,
            it.pass_seconds
        )
        .unwrap();
    }
    line + "}\n"
}

async fn measure(cargo: u64) -> AuditMeasurement {
    let mut books = LedgerFixture::open().await;
    // Sets the month of the account.
    books.load(HoldKind::Enough).await;
    books.database.clock.advance(Duration::from_hours(2));
    make_open_cargo(&books, cargo).await;
    let began = Instant::now();
    assert_eq!(books.audit_everything().await, []);
    let pass_seconds = began.elapsed().as_secs_f64();
    let mut times = Vec::new();
    for _ in 0..MINUTES {
        change(&mut books).await;
        let began = Instant::now();
        assert_eq!(books.audit().await, []);
        times.push(began.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    change(&mut books).await;
    let before = count_rows_read(&books).await;
    assert_eq!(books.audit().await, []);
    let rows = count_rows_read(&books).await - before;
    let seconds = times[MINUTES / 2];
    AuditMeasurement {
        cargo,
        pass_seconds,
        seconds,
        rows,
    }
}

/// A minute of traffic.
async fn change(books: &mut LedgerFixture) {
    let mut cargo: Vec<CargoId> = Vec::new();
    for _ in 0..CHANGED_CARGO {
        cargo.push(books.load(HoldKind::Enough).await);
    }
    books.finish(&cargo[..CHANGED_CARGO / 2], true).await;
    books.finish(&cargo[CHANGED_CARGO / 2..], false).await;
    books.database.clock.advance(Duration::from_mins(1));
}

/// Rows as loads leave them, within the hour before the last one.
async fn make_open_cargo(books: &LedgerFixture, count: u64) {
    let organization = books.organization.uuid();
    let now = books.database.clock.now();
    let rows = format!(
        "insert into shard.cargo (id, organization, project, api_key, lane, model, created_at, held,
             price_input, price_output, reserved_tokens)
         select (left(replace(shard.id_floor(at)::text, '-', ''), 12) || lpad(to_hex(number), 20, '0'))::uuid,
             '{organization}', '{organization}', '{organization}', 1, 'made', at, 1000, 1, 1, 10
         from (select number, timestamptz '{now}' - interval '2 hours'
                   + number * interval '1 hour' / {count} as at
               from generate_series(1, {count}) number) made;
         insert into shard.waiting (lane, organization, cargo)
         select lane, organization, id from shard.cargo where model = 'made';
         update shard.account set held = held + 1000 * {count}::bigint,
             tokens_reserved = tokens_reserved + 10 * {count}::bigint;
         analyze"
    );
    let mut session = PgConnection::connect(&books.database.url()).await.unwrap();
    session.execute(AssertSqlSafe(rows)).await.unwrap();
}

/// Rows that were read from tables of the shard so far, by index or sequentially.
async fn count_rows_read(books: &LedgerFixture) -> i64 {
    let mut session = PgConnection::connect(&books.database.url()).await.unwrap();
    // A session reports what it has read when it ends.
    let others = "from pg_stat_activity where datname = current_database()
         and pid <> pg_backend_pid() and backend_type = 'client backend'";
    let end = format!("select count(pg_terminate_backend(pid)) {others}");
    while sqlx::query_scalar::<_, i64>(AssertSqlSafe(end.clone()))
        .fetch_one(&mut session)
        .await
        .unwrap()
        > 0
    {
        tokio::task::yield_now().await;
    }
    let count =
        "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint from pg_stat_all_tables
        where schemaname = 'shard'";
    let count = sqlx::query_scalar(count).fetch_one(&mut session);
    count.await.unwrap()
}
