//! Cargo of many organizations through a simulated provider's batches, from load to callback.

pub mod floor;
pub mod jobs;
pub mod limits;
pub mod provider;
pub mod shape;
pub mod turns;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::bench::batches::jobs::Job;
use crate::bench::batches::provider::Provider;
use crate::bench::batches::shape::Shape;
use crate::bench::batches::turns::{CROWD, LATECOMER};
use crate::bench::watch::{Party, Watch};
use crate::chaos::audit;
use crate::failure::{Failure, Result};
use crate::figures::{number, rounded};
use crate::fleet::accounts::{Account, Accounts};
use crate::fleet::answers;
use crate::fleet::callers::{Callers, Question};
use crate::fleet::{Fleet, Plan};
use crate::memory;
use crate::options::{BatchesOptions, Common};
use crate::postgres;
use crate::process::Process;
use crate::progress::say;
use crate::stand::BENCH_MEMORY;
use crate::verdict::Verdict;

const MODEL: &str = "trial-openai";
const ACCOUNT: Account = Account {
    name: "openai-main",
    kind: "openai",
    shard: None,
    base: "openai/v1",
};
/// A sixth of it is when a job is first asked for; nothing is out of sight here.
const GRACE: u32 = 12;
const CONNECTIONS: usize = 32;
const LOOK: Duration = Duration::from_millis(200);
/// Nothing has come for so long: nothing will.
const PATIENCE: Duration = Duration::from_mins(2);

pub async fn run(common: &Common, options: &BatchesOptions) -> Result<Verdict> {
    let shape = Shape::of(options);
    let mut fleet = fleet(common, &shape).await?;
    let callers = Callers::new(fleet.serving.address(), &fleet.organizations, &fleet.hook);
    let calm = peak(&fleet.serving)?;

    let crowd = shape.crowd(options.large);
    say(format!("one organization loads {crowd}, another loads one"));
    burst(&callers, &shape, crowd, |_| CROWD).await;
    burst(&callers, &shape, 1, |_| LATECOMER).await;
    let acknowledged = postgres::clock(first_shard(&fleet)?).await?;
    for process in &mut fleet.working {
        process.start()?;
    }
    let watch = Watch::start(parties(&fleet));
    let used = watch.cpu()?;
    let rest = shape.cargo.saturating_sub(crowd + 1);
    say(format!("two begin to work; all others load {rest}"));
    let others: Vec<usize> = (0..shape.organizations)
        .filter(|place| ![CROWD, LATECOMER].contains(place))
        .collect();
    let turn = |number: usize| others.get(number % others.len()).copied();
    burst(&callers, &shape, rest, |number| {
        turn(number).unwrap_or_default()
    })
    .await;
    say("waiting for the callbacks");
    settled(&callers).await;

    let mut verdict = Verdict::new("bench batches");
    verdict
        .note("cargo", shape.cargo)
        .note("organizations", shape.organizations)
        .note("large", options.large);
    judge_answers(&mut verdict, &callers, shape.cargo);
    judge_memory(&mut verdict, &fleet, &shape, calm)?;
    verdict.note("cpu_seconds", watch.cpu_since(&used)?);
    turns::judge(&mut verdict, &callers, first_shard(&fleet)?, acknowledged).await?;
    say("reading what the provider was given");
    let jobs = jobs::survey(&fleet.simulator, &ACCOUNT).await?;
    let owners = limits::owners(&fleet.shards).await?;
    shape.limits.judge(&mut verdict, &jobs, &owners);
    judge_lines(&mut verdict, &jobs, callers.book.asked());
    judge_time(&mut verdict, &fleet, &callers, &jobs).await?;
    let successes = || i64::try_from(callers.book.successes()).unwrap_or(i64::MAX);
    let books = audit::audit_of(&fleet.longshored, &fleet.shards, successes).await?;
    books.judge(&mut verdict);
    verdict.note("settings", fleet.postgres.settings());
    Ok(verdict)
}

async fn fleet(common: &Common, shape: &Shape) -> Result<Fleet> {
    let plan = Plan {
        accounts: Accounts {
            accounts: &[ACCOUNT],
            limits: &shape.limits.in_file(GRACE),
            models: &[MODEL],
        },
        organizations: shape.organizations,
        workers: 2,
        settings: &[],
        memory: BENCH_MEMORY,
    };
    let fleet = Fleet::build(common, plan).await?;
    let pace = json!({"validating_ms": 500, "running_ms": 1500, "finalizing_ms": 500});
    let limit = json!([{"name": "enqueued_limit", "limit": shape.limits.enqueued_tokens}]);
    for (what, value) in [("pace", pace), ("faults", limit)] {
        let path = ACCOUNT.path(what);
        fleet.simulator.ask("PUT", &path, Some(&value)).await?;
    }
    Ok(fleet)
}

fn first_shard(fleet: &Fleet) -> Result<&PgPool> {
    let first = fleet.shards.first().map(|(_, pool)| pool);
    first.ok_or_else(|| Failure::new("there is no shard"))
}

/// Loads as fast as answers come.
async fn burst(callers: &Callers, shape: &Shape, count: usize, who: impl Fn(usize) -> usize) {
    let loads = (0..count).map(|number| {
        let place = who(number);
        async move {
            let question = Question {
                model: MODEL,
                system: Some(shape::prompt(place, number)),
                text: shape::text(place, number, shape.bytes),
            };
            callers.load(place, &question).await;
        }
    });
    stream::iter(loads)
        .buffer_unordered(CONNECTIONS)
        .for_each(|()| async {})
        .await;
}

/// Waits for all callbacks, as long as some come.
async fn settled(callers: &Callers) {
    let (mut came, mut since) = (0, Instant::now());
    while !callers.book.is_complete() && since.elapsed() < PATIENCE {
        tokio::time::sleep(LOOK).await;
        if callers.book.came() > came {
            (came, since) = (callers.book.came(), Instant::now());
        }
    }
}

fn parties(fleet: &Fleet) -> Vec<Party> {
    let party = |name, pid: Option<u32>, is_family| {
        pid.map(|pid| Party {
            name,
            pid,
            is_family,
        })
    };
    let work = |place: usize| fleet.working.get(place).and_then(Process::pid);
    let all = [
        party("serve", fleet.serving.pid(), false),
        party("work-1", work(0), false),
        party("work-2", work(1), false),
        party("postgres", fleet.postgres.pid(), true),
        party("simulator", Some(fleet.simulator.pid()), false),
        party("trials", Some(std::process::id()), false),
    ];
    all.into_iter().flatten().collect()
}

fn peak(process: &Process) -> Result<f64> {
    let pid = process.pid();
    let pid = pid.ok_or_else(|| Failure::new("a process of the fleet is not there"))?;
    memory::peak_of_process(pid)
}

fn judge_answers(verdict: &mut Verdict, callers: &Callers, cargo: usize) {
    let mut sum = callers.book.sum(answers::wrong);
    sum.judge(verdict);
    verdict
        .note("not_acknowledged", callers.refused.failures())
        .promise("every load was acknowledged", sum.asked == cargo)
        .promise("no callback came twice", sum.repeated == 0);
}

/// What a job holds goes through the disk: the peak must not follow its size.
fn judge_memory(verdict: &mut Verdict, fleet: &Fleet, shape: &Shape, calm: f64) -> Result<()> {
    let serve = peak(&fleet.serving)?;
    let mut working = Vec::new();
    for process in &fleet.working {
        working.push(rounded(peak(process)?, 1));
    }
    let most = working.iter().copied().fold(0.0, f64::max);
    verdict
        .note(
            "peak_megabytes",
            json!({"serve": rounded(serve, 1), "serve_before": rounded(calm, 1), "work": working}),
        )
        .promise(
            format!("serve grows by at most {} MB", shape.most_serving),
            serve - calm <= shape.most_serving,
        )
        .promise(
            format!("work has at most {} MB", shape.most_working),
            most <= shape.most_working,
        );
    Ok(())
}

fn judge_lines(verdict: &mut Verdict, jobs: &[Job], loaded: usize) {
    let mut seen = HashSet::new();
    let lines = jobs.iter().flat_map(|job| &job.lines);
    let again = lines.filter(|line| !seen.insert(line.cargo)).count();
    let (mut switches, mut prompts, mut scattered) = (0, 0, 0);
    for job in jobs {
        let (of_job, different) = job.switches();
        switches += of_job;
        prompts += different;
        scattered += usize::from(of_job + 1 > different);
    }
    verdict
        .note("lines_sent_again", again)
        .note("prompt_switches", switches)
        .note("prompts_of_all_jobs", prompts)
        .note("jobs_with_scattered_prompts", scattered)
        .promise("every cargo was sent to the provider", seen.len() == loaded)
        .promise("no cargo was sent twice", again == 0)
        .promise("equal prompts lie together in every job", scattered == 0);
}

/// Beside it the same lines are carried by a bare loop without a database.
async fn judge_time(
    verdict: &mut Verdict,
    fleet: &Fleet,
    callers: &Callers,
    jobs: &[Job],
) -> Result<()> {
    let seconds = callers.book.seconds();
    say("carrying the same lines with nothing in between");
    let bare = Provider::new(&fleet.simulator, "bare");
    let pace: Value = fleet
        .simulator
        .ask("GET", &ACCOUNT.path("pace"), None)
        .await?;
    fleet
        .simulator
        .ask("PUT", "openai/bare/pace", Some(&pace))
        .await?;
    let floor = floor::seconds(&bare, jobs).await?;
    verdict
        .note("seconds", rounded(seconds, 1))
        .note(
            "cargo_per_second",
            rounded(
                number(callers.book.came()) / seconds.max(f64::MIN_POSITIVE),
                0,
            ),
        )
        .note("bare_jobs_seconds", rounded(floor, 1))
        .note(
            "to_bare_jobs",
            rounded(seconds / floor.max(f64::MIN_POSITIVE), 1),
        );
    Ok(())
}
