//! Random histories of payments, loads and outcomes, against an oracle that keeps books in memory.
//!
//! The seed is printed; given again, the same history is drawn, as far as the answers
//! are the same: several clients act at once, and nobody says who comes first.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use chrono::{Datelike as _, Months, NaiveDate, NaiveTime};
use domain::account::month;
use domain::time::{Clock as _, Timestamp};
use rand::RngExt as _;
use store::shard::account;

use self::history::{Crash, Fate, History};
use self::operation::{Fact, Operation};
use self::oracle::{Account, Checked, Oracle};
use self::seen::Seen;
use self::world::World;

mod compare;
mod history;
mod operation;
mod oracle;
mod seen;
mod settling;
mod truth;
mod window;
mod world;

const OPERATIONS: u64 = 50_000;
/// So often everything is compared, however long the history is.
const COMPARED_AFTER: u64 = 2_000;
/// So often it says how far it has come.
const TOLD_AFTER: u64 = 10_000;
/// How often the clock leaps over the end of a month, or to the next one's.
const LEAPS: u64 = 16;
const ACCOUNTS: usize = 24;
/// So many rounds are told when something is wrong.
const TOLD: usize = 8;

/// A round, for whoever has to find out what went wrong.
struct Drawn {
    now: Timestamp,
    crash: Crash,
    round: Vec<Operation>,
    fates: Vec<Fate>,
    facts: Option<Vec<(Operation, Fact)>>,
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {:?}", self.now, self.crash)?;
        for (number, operation) in self.round.iter().enumerate() {
            let fact = self.facts.as_ref().map(|facts| &facts[number].1);
            writeln!(f, "  {operation:?}, {:?}: {fact:?}", self.fates[number])?;
        }
        Ok(())
    }
}

struct Model {
    world: World,
    oracle: Oracle,
    history: History,
    seen: Seen,
    told: VecDeque<Drawn>,
    done: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stderr, reason = "whoever repeats it needs the seed")]
async fn rows_never_differ_from_the_oracle_over_random_histories() {
    let operations = setting("LONGSHORE_MODEL_OPERATIONS").unwrap_or(OPERATIONS);
    let seed = setting("LONGSHORE_MODEL_SEED").unwrap_or_else(rand::random);
    eprintln!("LONGSHORE_MODEL_SEED={seed} LONGSHORE_MODEL_OPERATIONS={operations}");
    let mut model = Model::new(seed).await;
    let ran = model.run(operations).await;
    model.seen.count("beyond the hold", model.oracle.beyond);
    eprintln!("{} operations: {}", model.done, model.seen);
    if let Err(divergence) = ran {
        let (done, told) = (model.done, &model.told);
        let last: String = told.iter().map(ToString::to_string).collect();
        panic!("seed {seed}, after {done} operations: {divergence}\nthe last came first:\n{last}");
    }
    if operations >= OPERATIONS {
        assert_eq!(model.seen.missing(), [""; 0], "never met");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the length and the seed of a history"
)]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

impl Model {
    async fn new(seed: u64) -> Self {
        let mut model = Self {
            world: World::new().await,
            oracle: Oracle::default(),
            history: History::new(seed),
            seen: Seen::default(),
            told: VecDeque::new(),
            done: 0,
        };
        for _ in 0..4 {
            model.open().await;
        }
        model
    }

    #[expect(
        clippy::print_stderr,
        reason = "a run that is stopped says how far it came"
    )]
    async fn run(&mut self, operations: u64) -> Checked {
        let (mut leap_at, mut compare_at) = (0, COMPARED_AFTER);
        let mut tell_at = TOLD_AFTER;
        while self.done < operations {
            if self.done >= tell_at {
                tell_at += TOLD_AFTER;
                eprintln!("{} operations so far", self.done);
            }
            if self.done >= leap_at {
                leap_at += operations / LEAPS;
                self.leap().await;
                self.seen.count("crossed a month", 1);
            }
            self.round().await?;
            if self.done >= compare_at {
                compare_at += COMPARED_AFTER;
                self.world.compare(&mut self.oracle).await?;
            }
        }
        self.world.compare_all(&mut self.oracle).await
    }

    async fn round(&mut self) -> Checked {
        if self.oracle.accounts.len() < ACCOUNTS && self.history.one_in(20) {
            self.open().await;
        }
        if self.history.one_in(10) {
            self.limit().await;
        }
        // Every round has a moment of its own.
        let moment = self.history.random.random_range(1..500_000);
        let now = self
            .world
            .service
            .clock
            .advance(Duration::from_micros(moment));
        let crash = self.history.crash();
        let round = self.history.round(&self.oracle, crash, now);
        let fates = round.iter().map(|_| self.history.fate(crash));
        let fates: Vec<_> = fates.collect();
        for operation in &round {
            self.done += operation.size();
        }
        let drawn = Drawn {
            now,
            crash,
            round: round.clone(),
            fates,
            facts: None,
        };
        let known = self.world.perform(&round, &drawn.fates, crash).await;
        self.told.truncate(TOLD);
        self.told.push_front(drawn);
        let known = known?;
        self.seen.known(&known);
        let random = &mut self.history.random;
        let facts = self.world.truth(round, known, random).await?;
        self.seen.facts(&facts);
        let followed = self.oracle.follow(&facts, now);
        self.told[0].facts = Some(facts);
        followed
    }

    async fn open(&mut self) {
        // A connection that was cut shows itself in BEGIN, which is repeated on another.
        let tx = self.world.service.north.begin().await.unwrap();
        tx.rollback().await.unwrap();
        let customer = self.world.service.customer().await;
        // Again, as whoever was not answered does.
        let opened = account::open(&self.world.steady, customer.organization, self.world.now());
        opened.await.unwrap();
        self.world.customers.push(customer);
        self.oracle.accounts.push(Account::default());
    }

    async fn limit(&mut self) {
        let number = self
            .history
            .random
            .random_range(0..self.oracle.accounts.len());
        let tokens = self.oracle.accounts[number].month(month(self.world.now()));
        let spoken_for = tokens.used + tokens.reserved;
        let random = &mut self.history.random;
        // None of its own, a little more than is spoken for, or less.
        let own = match random.random_range(0..8) {
            0..5 => None,
            5 | 6 => Some(spoken_for + random.random_range(0..200_000)),
            _ => Some(random.random_range(0..=spoken_for)),
        };
        let organization = self.world.customers[number].organization;
        let set = account::set_monthly_tokens(&self.world.steady, organization, own).await;
        assert!(set.unwrap());
        self.oracle.accounts[number].quota = own;
    }

    /// Before the end of a month, or over it.
    async fn leap(&mut self) {
        let now = self.world.now();
        let next = month(now).checked_add_months(Months::new(1)).unwrap();
        let last = next.pred_opt().unwrap();
        let to = if now.day() == last.day() {
            midnight(next)
        } else {
            midnight(next) - Duration::from_mins(10)
        };
        for day in [to.date_naive(), to.date_naive().succ_opt().unwrap()] {
            let made = sqlx::query_scalar::<_, bool>("select shard.make_day($1)").bind(day);
            made.fetch_one(&self.world.steady.pool).await.unwrap();
        }
        let by = (to - now).to_std().unwrap();
        self.world.service.clock.advance(by);
        assert_eq!(self.world.service.clock.now(), to);
    }
}

fn midnight(day: NaiveDate) -> Timestamp {
    day.and_time(NaiveTime::MIN).and_utc()
}
