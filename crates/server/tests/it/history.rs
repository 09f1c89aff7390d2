//! Many simulated days on one shard: after the retention no table grows, no page and no stage reads
//! more than in the first month, and the ledger stays clean.
//!
//! `./dev bench history` runs it. Work is real: loads through the API, the stages with the mock
//! provider, callbacks over HTTP. Only the clock is moved by hand, and ended files are inserted,
//! because they need no object store.
#![expect(
    clippy::disallowed_methods,
    reason = "the test inserts rows and counts reads with its own SQL"
)]

mod reads;
mod simulation;
mod sizes;

use std::collections::BTreeMap;

use chrono::TimeDelta;
use domain::history_retention::HistoryRetention;
use store::tables::{Retention, TABLES};
use test_support::environment::{optional_number, optional_path};

use self::simulation::HistorySimulation;
use self::sizes::TableSize;

const DAYS_PER_MONTH: u64 = 30;
const DEFAULT_DAYS: u64 = 120;
const DEFAULT_CARGO_PER_DAY: u64 = 40;
/// From so many days on, the run keeps what the defaults keep of cargo.
const MIN_LONG_DAYS: u64 = 300;
/// Sizes and reads may be this many percent of those that they are compared with.
const MAX_SIZE_PERCENT: i64 = 130;
const MAX_READ_PERCENT: i64 = 130;
/// Small tables have pages that are partly empty, and months differ in their days.
const SIZE_NOISE_BYTES: i64 = 512 << 10;
const ROW_NOISE: i64 = 40;
/// A small run keeps less than ten days of forty cargo. The planner may read them all instead of an
/// index, and in another month decide otherwise.
const READ_NOISE: i64 = 400;

/// Tables that the run does not fill; tests of their own show how their rows leave.
const UNFILLED_TABLES: [&str; 8] = [
    "dropin_batch",
    "erasure",
    "handover",
    "key_spending",
    "listener",
    "parcel",
    "parcel_block",
    "provider_file",
];
/// The audit keeps sums of what exists, and in this run it finds no fault.
const TABLES_OF_THE_AUDIT: [&str; 5] = [
    "ledger_fault",
    "ledger_gap",
    "ledger_pass",
    "ledger_settled",
    "ledger_sum",
];
/// Tables whose rows leave by the clock of the database server, which the test cannot move.
const TABLES_BY_SERVER_CLOCK: [&str; 2] = ["feed", "node"];

/// Shorter than the defaults, so that everything leaves within the run.
fn retention(days: u64) -> HistoryRetention {
    let [cargo, ledger, usage] = if days >= MIN_LONG_DAYS {
        [30, 100, 120]
    } else {
        [5, 20, 40]
    };
    HistoryRetention {
        cargo: TimeDelta::days(cargo),
        ledger: TimeDelta::days(ledger),
        usage: TimeDelta::days(usage),
    }
}

/// Everything is full from this month on: the longest retention, and the rest of a calendar month.
fn first_full_month(retention: HistoryRetention) -> usize {
    let longest = retention.ledger.max(retention.usage) + TimeDelta::days(31);
    let days = u64::try_from(longest.num_days()).unwrap();
    usize::try_from(days.div_ceil(DAYS_PER_MONTH)).unwrap()
}

/// What was measured at the end of a month.
struct MonthReport {
    sizes: BTreeMap<String, TableSize>,
    reads: BTreeMap<String, i64>,
}

#[tokio::test]
#[ignore = "takes a minute at least: ./dev bench history"]
async fn nothing_grows_with_history() {
    let days = optional_number("LONGSHORE_HISTORY_DAYS").unwrap_or(DEFAULT_DAYS);
    let cargo = optional_number("LONGSHORE_HISTORY_CARGO").unwrap_or(DEFAULT_CARGO_PER_DAY);
    let retention = retention(days);
    let full = first_full_month(retention);
    let mut simulation = Box::pin(HistorySimulation::new(retention, cargo)).await;
    let mut months: Vec<MonthReport> = Vec::new();
    for day in 1..=days {
        simulation.run_day().await;
        if day % DAYS_PER_MONTH == 0 {
            let report = simulation.ledger_report().await;
            assert_eq!(report.faults, [], "day {day}");
            let month = MonthReport {
                reads: simulation.measure_reads().await,
                sizes: sizes::read(simulation.shard()).await,
            };
            months.push(month);
            print_month(months.len(), &months);
        }
    }
    assert!(months.len() > full, "{days} days are too few");
    let mut faults = compare_sizes(&months[full - 1], months.last().unwrap());
    faults.extend(compare_entities(&months[0], months.last().unwrap()));
    for month in &months[1..] {
        faults.extend(compare_reads(&months[0], month));
    }
    assert!(faults.is_empty(), "{faults:#?}");
    simulation.assert_everything_leaves().await;
    write_figures(&months, days, cargo);
}

#[tokio::test]
async fn everything_leaves_after_its_retention() {
    let mut simulation = Box::pin(HistorySimulation::new(retention(DEFAULT_DAYS), 40)).await;
    for _ in 0..2 {
        simulation.run_day().await;
    }
    simulation.assert_everything_leaves().await;
    assert_eq!(simulation.ledger_report().await.faults, []);
}

impl HistorySimulation {
    /// Every table whose rows leave by themselves is empty after its retention, and had rows before,
    /// except those that the simulation does not fill.
    async fn assert_everything_leaves(&mut self) {
        self.wait_for_every_retention().await;
        assert_eq!(find_left_rows(self).await, [""; 0]);
        let filled = &self.filled;
        let unfilled: Vec<&str> = leaving_tables()
            .filter(|it| !filled.contains(*it))
            .collect();
        assert_eq!(unfilled, UNFILLED_TABLES);
    }
}

/// The tables of the shard whose rows leave by themselves.
fn leaving_tables() -> impl Iterator<Item = &'static str> {
    TABLES
        .iter()
        .filter(|it| it.schema == "shard" && it.retention != Retention::Entity)
        .map(|it| it.name)
        .filter(|name| !TABLES_BY_SERVER_CLOCK.contains(name))
        .filter(|name| !TABLES_OF_THE_AUDIT.contains(name))
}

/// Tables that still have rows although their retention has passed.
async fn find_left_rows(simulation: &HistorySimulation) -> Vec<String> {
    let sizes = sizes::read(simulation.shard()).await;
    let left = leaving_tables().filter_map(|name| {
        let rows = sizes[name].rows;
        (rows > 0).then(|| format!("{name}: {rows} rows"))
    });
    left.collect()
}

fn compare_sizes(full: &MonthReport, last: &MonthReport) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, size) in &last.sizes {
        let before = full.sizes[name];
        let max_rows = before.rows * MAX_SIZE_PERCENT / 100 + ROW_NOISE;
        let max_bytes = before.bytes() * MAX_SIZE_PERCENT / 100 + SIZE_NOISE_BYTES;
        if size.rows > max_rows || size.bytes() > max_bytes {
            faults.push(format!("{name} grew from {before:?} to {size:?}"));
        }
    }
    faults
}

/// Tables with a row for each thing do not grow at all.
fn compare_entities(first: &MonthReport, last: &MonthReport) -> Vec<String> {
    let lasting = TABLES
        .iter()
        .filter(|it| it.schema == "shard" && it.retention == Retention::Entity);
    let grown = lasting.filter_map(|entry| {
        let [before, after] = [first, last].map(|month| month.sizes[entry.name].rows);
        // The first month has no opening balance and no floor yet.
        let is_new = ["opening", "history_floor"].contains(&entry.name) && before == 0;
        (after > before && !(is_new && after == 1))
            .then(|| format!("{} has {after} rows after {before}", entry.name))
    });
    grown.collect()
}

fn compare_reads(first: &MonthReport, month: &MonthReport) -> Vec<String> {
    let more = month.reads.iter().filter_map(|(what, read)| {
        let before = first.reads[what];
        (*read > before * MAX_READ_PERCENT / 100 + READ_NOISE)
            .then(|| format!("{what} reads {read} entries, {before} in the first month"))
    });
    more.collect()
}

#[expect(clippy::print_stdout, reason = "the sizes are the result of the run")]
fn print_month(number: usize, months: &[MonthReport]) {
    let Some(month) = months.last() else { return };
    println!("month {number}: rows, KiB of rows, KiB of indexes");
    for (name, size) in &month.sizes {
        if size.rows > 0 {
            let (heap, indexes) = (size.heap >> 10, size.indexes >> 10);
            println!("  {name:<16}{:>10}{heap:>10}{indexes:>10}", size.rows);
        }
    }
    println!("  entries read: {:?}", month.reads);
}

/// The line that `./dev bench history` ends with.
fn write_figures(months: &[MonthReport], days: u64, cargo: u64) {
    let Some(path) = optional_path("LONGSHORE_HISTORY_FIGURES") else {
        return;
    };
    let total = |month: &MonthReport| month.sizes.values().map(TableSize::bytes).sum::<i64>();
    let percents = months[1..].iter().flat_map(|month| {
        let before = |what: &String| months[0].reads[what] + READ_NOISE;
        let percent = move |(what, read): (&String, &i64)| (read + READ_NOISE) * 100 / before(what);
        month.reads.iter().map(percent)
    });
    let figures = serde_json::json!({
        "name": "history",
        "ok": true,
        "days": days,
        "cargo_a_day": cargo,
        "first_month_bytes": total(&months[0]),
        "last_month_bytes": total(&months[months.len() - 1]),
        "most_reads_percent": percents.max(),
    });
    std::fs::write(path, format!("{figures}\n")).unwrap();
}
