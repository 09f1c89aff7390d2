//! Uploads of every kind of mishap, with a store that stumbles and workers that are killed.

pub mod audit;
pub mod drama;
pub mod plot;
pub mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use serde_json::json;

use crate::chaos::files::drama::{Must, Played};
use crate::dock::{Dock, Plan};
use crate::failure::{During as _, Failure, Result};
use crate::options::{Common, FilesOptions};
use crate::process::Process;
use crate::progress::say;
use crate::relay::Behaviour;
use crate::verdict::Verdict;

const ORGANIZATIONS: usize = 8;
/// Fewer per project than it may have open.
const AT_ONCE: usize = 48;
/// Of a hundred connections to the store so many are cut at once, and as many are slow.
const UNSTEADY: u32 = 15;
const SETTLING: Duration = Duration::from_mins(3);
const SETTINGS: [(&str, &str); 6] = [
    ("UPLOAD_GRANT_SECONDS", "20"),
    ("UPLOAD_ABANDON_SECONDS", "15"),
    ("PATROL_SECONDS", "3"),
    ("COMPLETE_WAIT_SECONDS", "3"),
    ("SCAN_TIMEOUT_SECONDS", "30"),
    ("LEASE_SECONDS", "5"),
];

pub async fn run(common: &Common, options: &FilesOptions) -> Result<Verdict> {
    let plan = Plan {
        organizations: ORGANIZATIONS,
        workers: 2,
        settings: &SETTINGS,
    };
    let mut dock = Dock::build(common, plan).await?;
    dock.well().await?;
    say(format!("{} uploads", options.uploads));
    dock.to_store
        .behave(Behaviour::Unsteady { percent: UNSTEADY });
    let begun = Instant::now();
    let mut working = std::mem::take(&mut dock.working);
    let kills = AtomicU64::new(0);
    let played = tokio::select! {
        played = play_all(&dock, options.uploads) => played,
        killed = kill(&mut working, &kills) => match killed {
            Err(failure) => return Err(failure),
            Ok(never) => match never {},
        },
    };
    let (seconds, kills) = (begun.elapsed().as_secs(), kills.into_inner());
    say(format!("{seconds} s, {kills} workers killed; settling"));
    dock.to_store.behave(Behaviour::Pass);
    dock.working = working;
    let survey = survey::settle(&dock, SETTLING).await?;

    let mut verdict = Verdict::new("chaos files");
    verdict
        .note("uploads", options.uploads)
        .note("seconds", seconds)
        .note("kills", kills)
        .promise("a worker was killed", kills > 0);
    judge_faults(&mut verdict, &dock);
    judge_plays(&mut verdict, &dock, &played).await?;
    survey.judge(&mut verdict);
    audit::audit(&dock).await?.judge(&mut verdict);
    Ok(verdict)
}

async fn play_all(dock: &Dock, uploads: usize) -> Vec<Played> {
    let ended = AtomicU64::new(0);
    let playing = (0..uploads).map(|number| {
        let (callers, ended) = (&dock.callers, &ended);
        async move {
            let caller = number % callers.len().max(1);
            let played = match callers.get(caller) {
                Some(it) => drama::play(it, caller, number).await,
                None => Played::default(),
            };
            let ended = ended.fetch_add(1, Ordering::Relaxed) + 1;
            if ended.is_multiple_of(200) {
                say(format!("{ended} ended"));
            }
            played
        }
    });
    stream::iter(playing)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

/// Kills a worker every 2 to 4 seconds; returns only when something is wrong.
async fn kill(working: &mut [Process], kills: &AtomicU64) -> Result<Infallible> {
    loop {
        let pause = Duration::from_millis(rand::random_range(2000..=4000));
        tokio::time::sleep(pause).await;
        let which = rand::random_range(0..working.len());
        let Some(process) = working.get_mut(which) else {
            continue;
        };
        if !process.is_running() {
            let words = process.last_words();
            return Err(Failure::new(format!("longshored ended by itself\n{words}")));
        }
        process.kill();
        process.start()?;
        kills.fetch_add(1, Ordering::Relaxed);
    }
}

fn judge_faults(verdict: &mut Verdict, dock: &Dock) {
    let done = &dock.to_store.done;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    verdict
        .note(
            "connections_to_the_store",
            json!({"all": read(&done.connections), "cut": read(&done.cut), "slowed": read(&done.slowed)}),
        )
        .promise("connections to the store were cut", read(&done.cut) > 0);
}

/// How each upload ended, beside how it had to.
async fn judge_plays(verdict: &mut Verdict, dock: &Dock, played: &[Played]) -> Result<()> {
    let suspected = suspected(dock).await?;
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for one in played {
        let session = dock.callers.get(one.caller).zip(one.file.as_deref());
        let Some((caller, id)) = session else {
            *outcomes.entry("no session".to_owned()).or_default() += 1;
            wrong.push(format!("{}: {}", one.plot, one.note));
            continue;
        };
        let ended = caller.find(id).await;
        let (status, reason) = (ended.text("status"), ended.text("failure_reason"));
        let outcome = format!("{status} {reason}").trim().to_owned();
        *outcomes.entry(outcome.clone()).or_default() += 1;
        let held = match one.must {
            Must::BeReady => status == "ready" || suspected.contains(id),
            Must::NotBeReady => matches!(status, "failed" | "expired"),
            Must::Settle => matches!(status, "ready" | "failed" | "expired"),
        };
        if !held {
            wrong.push(format!("{} {id}: {outcome}: {}", one.plot, one.note));
        }
    }
    let late = played.iter().filter(|one| one.is_late).count();
    verdict
        .note("outcomes", json!(outcomes))
        .note("too_slow_to_tell", late)
        .note("taken_for_the_cause_of_kills", suspected.len())
        .promise("every upload ended as it had to", wrong.is_empty());
    if !wrong.is_empty() {
        let shown: Vec<&String> = wrong.iter().take(20).collect();
        verdict
            .note("ended_otherwise", wrong.len())
            .note("some_of_them", json!(shown));
    }
    Ok(())
}

/// Files that so many workers were killed with that the service takes them for the cause.
async fn suspected(dock: &Dock) -> Result<BTreeSet<String>> {
    let query = "select 'file_' || replace(id::text, '-', '') from shard.file
        where takeovers >= 5 and status = 'failed' and failure_reason like 'malformed%'";
    let mut suspected = BTreeSet::new();
    for (_, pool) in &dock.shards {
        let here: Vec<String> = sqlx::query_scalar(query)
            .fetch_all(pool)
            .await
            .during("looking for suspects")?;
        suspected.extend(here);
    }
    Ok(suspected)
}
