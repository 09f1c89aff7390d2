//! A real model answers; its server is killed in the middle, and later the worker that asks it.

pub mod counter;
pub mod fleet;
pub mod questions;
pub mod register;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::chaos::audit;
use crate::chaos::server::fleet::Fleet;
use crate::chaos::server::register::Counts;
use crate::failure::{During as _, Failure, Result};
use crate::figures;
use crate::fleet::answers::Asked;
use crate::http::Target;
use crate::llama::SLOTS;
use crate::options::{Common, ServerOptions};
use crate::progress::say;
use crate::request;
use crate::verdict::Verdict;

const LOOK: Duration = Duration::from_millis(5);
/// A busy machine answers one question in some seconds.
const PER_CARGO: Duration = Duration::from_secs(10);
const AT_LEAST: Duration = Duration::from_mins(2);
/// With fewer there is no time to kill the worker, too, or to grow to all slots.
const MANY: usize = 100;
/// So many of what is wrong are shown.
const SHOWN: usize = 5;

/// What the deaths cost.
#[derive(Debug, Default)]
struct Deaths {
    /// How many questions were under way when the server was killed, and when the worker was.
    under_way: Vec<usize>,
    /// Answers that the killed worker had not stored.
    unsaved: usize,
}

pub async fn run(common: &Common, options: &ServerOptions) -> Result<Verdict> {
    let mut fleet = Fleet::build(common, options).await?;
    say(format!("loading {}", options.cargo));
    let begun = Instant::now();
    load(&fleet, options.cargo).await?;
    let until = begun + AT_LEAST.max(PER_CARGO * u32::try_from(options.cargo).unwrap_or(u32::MAX));
    let deaths = kill(&mut fleet, options.cargo, until).await?;
    while !fleet.hook.book.is_complete() && Instant::now() < until {
        tokio::time::sleep(LOOK).await;
    }
    let seconds = begun.elapsed().as_secs_f64();

    let mut verdict = Verdict::new("chaos server");
    judge_answers(&mut verdict, &fleet, options.cargo, seconds);
    judge_questions(&mut verdict, &fleet, options.cargo, &deaths);
    let successes = || i64::try_from(fleet.hook.book.successes()).unwrap_or(i64::MAX);
    let books = audit::audit_of(&fleet.longshored, &fleet.shards, successes).await?;
    books.judge(&mut verdict);
    Ok(verdict)
}

/// One after the other, each acknowledged.
async fn load(fleet: &Fleet, cargo: usize) -> Result<()> {
    let target = Target::new(fleet.serving.address());
    for number in 0..cargo {
        let (body, text) = questions::load(number, &fleet.hook.url());
        let request = request::load(&fleet.organization, &body);
        let answer = target.send(request.as_bytes()).await.during("loading")?;
        let refused = || Failure::new(format!("load: {} {}", answer.status, answer.json()));
        let asked = Asked::now(&text, questions::MODEL, 0);
        fleet
            .hook
            .book
            .ask(answer.cargo().ok_or_else(refused)?, asked);
    }
    Ok(())
}

async fn kill(fleet: &mut Fleet, cargo: usize, until: Instant) -> Result<Deaths> {
    let mut deaths = Deaths::default();
    answered(fleet, cargo * 2 / 5, until).await?;
    deaths
        .under_way
        .push(fleet.counter.register.counts().under_way);
    fleet.llama.kill();
    say("the model's server is killed, and started again");
    fleet.llama.start()?;
    fleet.llama.ready().await?;
    if cargo < MANY {
        return Ok(deaths);
    }
    answered(fleet, cargo * 7 / 10, until).await?;
    deaths
        .under_way
        .push(fleet.counter.register.counts().under_way);
    fleet.working.kill();
    deaths.unsaved = unsaved(fleet).await?;
    say("the worker is killed, and started again");
    fleet.working.start()?;
    Ok(deaths)
}

/// Waits until so many are answered, and something is under way.
async fn answered(fleet: &Fleet, many: usize, until: Instant) -> Result<()> {
    loop {
        let counts = fleet.counter.register.counts();
        if counts.answered >= many && counts.under_way > 0 {
            return Ok(());
        }
        if Instant::now() > until {
            let words = fleet.working.last_words();
            return Err(Failure::new(format!(
                "{counts:?} in all this time\n{words}"
            )));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Cargo whose answer came, and that has no outcome.
async fn unsaved(fleet: &Fleet) -> Result<usize> {
    let mut open = fleet.counter.register.answered();
    for (_, pool) in &fleet.shards {
        let query = "select replace(cargo::text, '-', '') from shard.outcome";
        let rows = sqlx::query_scalar::<_, String>(query).fetch_all(pool).await;
        let stored = rows.during("reading what is stored")?;
        let stored = stored
            .iter()
            .filter_map(|it| u128::from_str_radix(it, 16).ok());
        let stored: HashSet<u128> = stored.collect();
        open.retain(|cargo| !stored.contains(cargo));
    }
    Ok(open.len())
}

fn judge_answers(verdict: &mut Verdict, fleet: &Fleet, cargo: usize, seconds: f64) {
    let (book, said) = (&fleet.hook.book, fleet.counter.register.said());
    let sum = book
        .sum(|cargo, _, body| questions::wrong(body, said.get(&cargo).map_or(&[], Vec::as_slice)));
    let bodies = book.bodies();
    let stopped = |reason: &str| {
        let same = bodies
            .iter()
            .filter(|it| questions::stop_reason(it) == reason);
        same.count()
    };
    let tokens = |which: &str| {
        bodies
            .iter()
            .map(|it| questions::tokens(it, which))
            .sum::<u64>()
    };
    let delivered = sum.asked - sum.lost;
    let shown: Vec<&String> = sum.wrong.iter().take(SHOWN).collect();
    verdict
        .note("cargo", cargo)
        .note("delivered", delivered)
        .note("seconds", figures::rounded(seconds, 1))
        .note("cargo_per_second", rate(delivered, seconds))
        .note("input_tokens", tokens("input"))
        .note("output_tokens", tokens("output"))
        .note("max_tokens", stopped("max_tokens"))
        .note("end_turn", stopped("end_turn"))
        .note("callbacks_repeated", sum.repeated)
        .promise("all are delivered", delivered == cargo)
        .promise("some answers end by themselves", stopped("end_turn") > 0)
        .promise(
            "some answers end at the most tokens",
            stopped("max_tokens") > 0,
        )
        .promise(
            "usage and stop reason are what the server said",
            sum.wrong.is_empty(),
        );
    if !shown.is_empty() {
        verdict
            .note("wrong", sum.wrong.len())
            .note("some_of_them", json!(shown));
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are some hundreds")]
fn rate(count: usize, seconds: f64) -> f64 {
    figures::rounded(count as f64 / seconds, 2)
}

fn judge_questions(verdict: &mut Verdict, fleet: &Fleet, cargo: usize, deaths: &Deaths) {
    let (register, slots) = (&fleet.counter.register, SLOTS as usize);
    let Counts {
        asked,
        cut,
        turned_away,
        ..
    } = register.counts();
    let repeated = asked.saturating_sub(cargo);
    let most = register.most_at_once();
    verdict
        .note("most_at_once", most)
        .note("asked", asked)
        .note("repeated", repeated)
        .note("deaths", deaths.under_way.len())
        .note("under_way_at_deaths", deaths.under_way.clone())
        .note("cut", cut)
        .note("answers_not_stored_at_death", deaths.unsaved)
        .note("turned_away", turned_away)
        .promise(
            "no more are asked at once than there are slots",
            most <= slots,
        )
        .promise("all slots are used", cargo < MANY || most == slots)
        .promise(
            "only what had no answer is asked again",
            repeated == cut + deaths.unsaved + turned_away,
        )
        .promise(
            "a death costs no more than what was under way",
            cut + deaths.unsaved <= slots * deaths.under_way.len(),
        );
}
