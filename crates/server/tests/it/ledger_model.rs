//! Random histories of payments, loads and outcomes, checked against an oracle in memory.
//!
//! The test prints its seed. The same seed draws the same history as long as the answers are the
//! same: several clients act concurrently, in an order that the seed does not control.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use chrono::{Datelike as _, Months, NaiveDate, NaiveTime};
use domain::account::first_day_of_month;
use domain::time::{Clock as _, Timestamp};
use rand::RngExt as _;
use store::shard::account;
use test_support::environment::optional_number;

use self::coverage::EventCoverage;
use self::fixture::LedgerModelFixture;
use self::history::{ClientFault, HistoryGenerator, RoundFault};
use self::operation::{LedgerOperation, OperationResult};
use self::oracle::{ExpectedAccount, LedgerOracle, OracleCheckResult};
use self::rollback::repeat_rolled_back;

mod balance_window;
mod client;
mod compare;
mod coverage;
mod drawn_values;
mod expected_price;
mod fixture;
mod history;
mod operation;
mod oracle;
mod reconcile;
mod rollback;
mod rolled_back_writes;
mod settlement;

const DEFAULT_OPERATIONS: u64 = 50_000;
/// The rows are compared with the oracle each time after this many operations.
const OPERATIONS_PER_COMPARISON: u64 = 2_000;
/// The test prints its progress each time after this many operations.
const OPERATIONS_PER_PROGRESS_LINE: u64 = 10_000;
/// How often the clock leaps to the end of a month, or over it, in one run.
const MONTH_LEAPS: u64 = 16;
const MAX_ACCOUNTS: usize = 24;
/// How many rounds are printed when the test fails.
const MAX_TRACED_ROUNDS: usize = 8;
/// A busy machine is slow for some operations, not for one in this many.
const MIN_OPERATIONS_PER_UNFINISHED: u64 = 20;

/// Says how to repeat a history that ends with a panic. The reason is printed before.
struct SeedOnPanic {
    operations: u64,
    seed: u64,
}

impl Drop for SeedOnPanic {
    #[expect(clippy::print_stderr, reason = "the seed is needed to repeat the run")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { operations, seed } = self;
            eprintln!("the history of seed {seed} ended early: ./dev model {operations} {seed}");
        }
    }
}

/// A round, printed when the test fails.
struct RoundTrace {
    now: Timestamp,
    round_fault: RoundFault,
    operations: Vec<LedgerOperation>,
    client_faults: Vec<ClientFault>,
    results: Option<Vec<(LedgerOperation, OperationResult)>>,
}

impl fmt::Display for RoundTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {:?}", self.now, self.round_fault)?;
        for (number, operation) in self.operations.iter().enumerate() {
            let result = self.results.as_ref().map(|results| &results[number].1);
            writeln!(
                f,
                "  {operation:?}, {:?}: {result:?}",
                self.client_faults[number]
            )?;
        }
        Ok(())
    }
}

struct LedgerModel {
    fixture: LedgerModelFixture,
    oracle: LedgerOracle,
    generator: HistoryGenerator,
    coverage: EventCoverage,
    recent_rounds: VecDeque<RoundTrace>,
    operations_done: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stderr, reason = "the seed is needed to repeat the run")]
async fn rows_never_differ_from_the_oracle_over_random_histories() {
    let operations = optional_number("LONGSHORE_MODEL_OPERATIONS").unwrap_or(DEFAULT_OPERATIONS);
    let seed = optional_number("LONGSHORE_MODEL_SEED").unwrap_or_else(rand::random);
    eprintln!("LONGSHORE_MODEL_SEED={seed} LONGSHORE_MODEL_OPERATIONS={operations}");
    let _seed_on_panic = SeedOnPanic { operations, seed };
    let mut model = LedgerModel::new(seed).await;
    let ran = model.run(operations).await;
    model
        .coverage
        .count("cost above the hold", model.oracle.over_hold_count);
    eprintln!("{} operations: {}", model.operations_done, model.coverage);
    if let Err(divergence) = ran {
        let (done, rounds) = (model.operations_done, &model.recent_rounds);
        let last: String = rounds.iter().map(ToString::to_string).collect();
        panic!("seed {seed}, after {done} operations: {divergence}\nnewest round first:\n{last}");
    }
    if operations >= DEFAULT_OPERATIONS {
        assert_eq!(model.coverage.missing_events(), [""; 0], "never happened");
        let unfinished = model.coverage.unfinished();
        assert!(
            unfinished * MIN_OPERATIONS_PER_UNFINISHED <= model.operations_done,
            "{unfinished} operations were not finished in rounds without a fault"
        );
    }
}

impl LedgerModel {
    async fn new(seed: u64) -> Self {
        let mut model = Self {
            fixture: LedgerModelFixture::new().await,
            oracle: LedgerOracle::default(),
            generator: HistoryGenerator::new(seed),
            coverage: EventCoverage::default(),
            recent_rounds: VecDeque::new(),
            operations_done: 0,
        };
        for _ in 0..4 {
            model.open_account().await;
        }
        model
    }

    #[expect(clippy::print_stderr, reason = "the progress of a run that is stopped")]
    async fn run(&mut self, operations: u64) -> OracleCheckResult {
        let (mut leap_at, mut compare_at) = (0, OPERATIONS_PER_COMPARISON);
        let mut report_at = OPERATIONS_PER_PROGRESS_LINE;
        while self.operations_done < operations {
            if self.operations_done >= report_at {
                report_at += OPERATIONS_PER_PROGRESS_LINE;
                eprintln!("{} operations so far", self.operations_done);
            }
            if self.operations_done >= leap_at {
                leap_at += operations / MONTH_LEAPS;
                self.leap_to_month_end().await;
                self.coverage.count("crossed a month", 1);
            }
            self.run_round().await?;
            if self.operations_done >= compare_at {
                compare_at += OPERATIONS_PER_COMPARISON;
                self.fixture.compare(&mut self.oracle).await?;
            }
        }
        self.fixture.compare_all(&mut self.oracle).await
    }

    async fn run_round(&mut self) -> OracleCheckResult {
        if self.oracle.accounts.len() < MAX_ACCOUNTS && self.generator.one_in(20) {
            self.open_account().await;
        }
        if self.generator.one_in(10) {
            self.set_random_quota().await;
        }
        // Every round has a different time.
        let micros = self.generator.random.random_range(1..500_000);
        let now = self
            .fixture
            .service
            .clock
            .advance(Duration::from_micros(micros));
        let round_fault = self.generator.draw_round_fault();
        let operations = self.generator.draw_round(&self.oracle, round_fault, now);
        let client_faults = operations
            .iter()
            .map(|_| self.generator.draw_client_fault(round_fault));
        let client_faults: Vec<_> = client_faults.collect();
        for operation in &operations {
            self.operations_done += operation.size();
        }
        let trace = RoundTrace {
            now,
            round_fault,
            operations: operations.clone(),
            client_faults,
            results: None,
        };
        let observed = self
            .fixture
            .run_operations(&operations, &trace.client_faults, round_fault)
            .await;
        self.recent_rounds.truncate(MAX_TRACED_ROUNDS);
        self.recent_rounds.push_front(trace);
        let observed = observed?;
        self.coverage.count_observed(&observed, round_fault);
        let random = &mut self.generator.random;
        let results = self.fixture.reconcile(operations, observed, random).await?;
        self.coverage.count_results(&results);
        let checked = self.oracle.apply_round(&results, now);
        self.recent_rounds[0].results = Some(results);
        checked
    }

    async fn open_account(&mut self) {
        // BEGIN detects a connection that was cut, and the pool repeats it on another one.
        let tx = self.fixture.service.north.begin().await.unwrap();
        tx.rollback().await.unwrap();
        let customer = self.fixture.service.create_customer().await;
        // A second time, like a client that received no answer.
        let (shard, now) = (&self.fixture.stable_shard, self.fixture.now());
        let open = async || account::open(shard, customer.organization, now).await;
        repeat_rolled_back(open).await.unwrap();
        self.fixture.customers.push(customer);
        self.oracle.accounts.push(ExpectedAccount::default());
    }

    async fn set_random_quota(&mut self) {
        let number = self
            .generator
            .random
            .random_range(0..self.oracle.accounts.len());
        let tokens =
            self.oracle.accounts[number].tokens_in_month(first_day_of_month(self.fixture.now()));
        let committed = tokens.used + tokens.reserved;
        let random = &mut self.generator.random;
        // No custom quota, a little more than is used and reserved, or less.
        let quota = match random.random_range(0..8) {
            0..5 => None,
            5 | 6 => Some(committed + random.random_range(0..200_000)),
            _ => Some(random.random_range(0..=committed)),
        };
        let organization = self.fixture.customers[number].organization;
        let shard = &self.fixture.stable_shard;
        let set = async || account::set_monthly_tokens(shard, organization, quota).await;
        assert!(repeat_rolled_back(set).await.unwrap());
        self.oracle.accounts[number].quota = quota;
    }

    /// Moves the clock shortly before the end of the month, or to the next month.
    async fn leap_to_month_end(&mut self) {
        let now = self.fixture.now();
        let next = first_day_of_month(now)
            .checked_add_months(Months::new(1))
            .unwrap();
        let last = next.pred_opt().unwrap();
        let to = if now.day() == last.day() {
            midnight(next)
        } else {
            midnight(next) - Duration::from_mins(10)
        };
        for day in [to.date_naive(), to.date_naive().succ_opt().unwrap()] {
            let made = sqlx::query_scalar::<_, bool>("select shard.make_day($1)").bind(day);
            made.fetch_one(&self.fixture.stable_shard.pool)
                .await
                .unwrap();
        }
        let by = (to - now).to_std().unwrap();
        self.fixture.service.clock.advance(by);
        assert_eq!(self.fixture.service.clock.now(), to);
    }
}

fn midnight(day: NaiveDate) -> Timestamp {
    day.and_time(NaiveTime::MIN).and_utc()
}
