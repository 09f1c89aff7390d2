//! The object store is killed and started again: only files may notice, and all recovers by itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::beside::Beside;
use crate::caller::{Caller, Said};
use crate::chaos::files::survey;
use crate::chaos::traffic;
use crate::dock::{Dock, Plan};
use crate::failure::{Failure, Result};
use crate::figures;
use crate::options::{Common, StoreOptions};
use crate::progress::say;
use crate::receiver::Receiver;
use crate::samples::Sample;
use crate::samples::content::Content;
use crate::verdict::Verdict;

const ORGANIZATIONS: usize = 4;
const BEFORE: Duration = Duration::from_secs(3);
const AFTER: Duration = Duration::from_secs(3);
const BETWEEN: Duration = Duration::from_millis(200);
/// Callers must be told by then that there is no store.
const LATEST_NOTICE: Duration = Duration::from_secs(5);
/// Files must be taken again by then.
const LATEST_RETURN: Duration = Duration::from_secs(15);
const SETTLING: Duration = Duration::from_mins(2);
const SETTINGS: [(&str, &str); 3] = [
    ("PATROL_SECONDS", "3"),
    ("COMPLETE_WAIT_SECONDS", "1"),
    ("UPLOAD_ABANDON_SECONDS", "20"),
];

/// What callers of the Files API were told while the store was away.
#[derive(Debug, Default)]
struct Told {
    noticed: Option<Duration>,
    /// Refusals that say why.
    refused: u64,
    message: String,
    /// Anything else, after the first refusal.
    wrong: Vec<String>,
    returned: Option<Duration>,
}

pub async fn run(common: &Common, options: &StoreOptions) -> Result<Verdict> {
    let plan = Plan {
        organizations: ORGANIZATIONS,
        workers: 1,
        settings: &SETTINGS,
    };
    let mut dock = Dock::build(common, plan).await?;
    dock.well().await?;
    let receiver = Receiver::start(Duration::ZERO).await?;
    let beside = Beside::new(dock.serving.address(), &receiver.url(), &dock.organizations);
    let (beside, begun) = (Arc::new(beside), Instant::now());
    let (over, enough) = oneshot::channel::<()>();
    let offering = traffic::offer(options.rate, async { drop(enough.await) }, |number| {
        let beside = Arc::clone(&beside);
        async move { beside.load(number).await }
    });
    let storm = async {
        let told = outage(&mut dock, Duration::from_secs(options.seconds)).await;
        drop(over);
        told
    };
    let (offered, told) = tokio::join!(offering, storm);
    let (told, caught) = told?;
    say("settling");
    let survey = survey::settle(&dock, SETTLING).await?;

    let mut verdict = Verdict::new("chaos store");
    let mut taken = beside.milliseconds(begun, Instant::now());
    verdict
        .note("loads", offered)
        .note("load_milliseconds", figures::spread(&mut taken))
        .note("failed_loads", beside.failed())
        .promise("loads without files go on", beside.all_were_accepted());
    told.judge(&mut verdict);
    caught.judge(&mut verdict, &dock).await;
    survey.judge(&mut verdict);
    Ok(verdict)
}

/// Files that the outage caught half-way.
#[derive(Debug)]
struct Caught {
    /// In the store and not yet completed.
    brought: String,
    /// Ready, and deleted while the store was away.
    deleted: String,
    completed: Said,
    deletion: Said,
    listed: Said,
}

async fn outage(dock: &mut Dock, away: Duration) -> Result<(Told, Caught)> {
    tokio::time::sleep(BEFORE).await;
    let caller = dock.callers.first().cloned();
    let caller = caller.ok_or_else(|| Failure::new("there is nobody to upload"))?;
    let deleted = uploaded(&caller).await?;
    caller.complete(&deleted, &json!({})).await;
    let brought = uploaded(&caller).await?;
    say("the store goes away");
    dock.objects.kill();
    let mut told = Told::default();
    let completed = caller.complete(&brought, &json!({})).await;
    told.watch(&caller, away).await;
    let caught = Caught {
        completed,
        deletion: caller.delete(&deleted).await,
        listed: caller.ask(hyper::Method::GET, "/files", None).await,
        brought,
        deleted,
    };
    dock.objects.start().await?;
    say("the store is back");
    let back = Instant::now();
    while told.returned.is_none() && back.elapsed() < SETTLING {
        if uploaded(&caller).await.is_ok() {
            told.returned = Some(back.elapsed());
        }
        tokio::time::sleep(BETWEEN).await;
    }
    tokio::time::sleep(AFTER).await;
    Ok((told, caught))
}

/// A session whose bytes are in the store.
async fn uploaded(caller: &Caller) -> Result<String> {
    let content = Content::from(Sample::of_turn(rand::random_range(0..12)));
    let said = caller.create(&content).await;
    match caller.bring(said.upload(), &content).await {
        Ok(_) => Ok(said.text("id").to_owned()),
        Err(refused) => Err(Failure::new(format!("{}; {refused}", said.line()))),
    }
}

impl Told {
    /// Asks for sessions while the store is away.
    async fn watch(&mut self, caller: &Caller, away: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < away {
            let said = caller.create(&Sample::of_turn(0).into()).await;
            let message = said.text("message");
            let is_refusal = said.status == 503
                && said.text("error") == "storage_unavailable"
                && !message.is_empty();
            if is_refusal {
                self.refused += 1;
                message.clone_into(&mut self.message);
                self.noticed.get_or_insert(begun.elapsed());
            } else if self.noticed.is_some() || said.status == 500 || said.status == 0 {
                self.wrong.push(said.line());
            }
            tokio::time::sleep(BETWEEN).await;
        }
    }

    fn judge(&self, verdict: &mut Verdict) {
        let seconds =
            |time: Option<Duration>| time.map(|time| figures::rounded(time.as_secs_f64(), 1));
        let within = |time: Option<Duration>, most| time.is_some_and(|time| time <= most);
        verdict
            .note("refused_sessions", self.refused)
            .note("refused_after_seconds", seconds(self.noticed))
            .note("taken_again_after_seconds", seconds(self.returned))
            .note("message", self.message.clone())
            .promise(
                "sessions are refused with a reason within 5 s",
                within(self.noticed, LATEST_NOTICE),
            )
            .promise("and all of them from then on", self.wrong.is_empty())
            .promise(
                "files are taken again within 15 s",
                within(self.returned, LATEST_RETURN),
            );
        if !self.wrong.is_empty() {
            let some: Vec<&String> = self.wrong.iter().take(5).collect();
            verdict.note("wrong", json!(some));
        }
    }
}

impl Caught {
    async fn judge(&self, verdict: &mut Verdict, dock: &Dock) {
        let Some(caller) = dock.callers.first() else {
            return;
        };
        let brought = caller.find(&self.brought).await;
        let deleted = caller.find(&self.deleted).await;
        let said = |said: &Said| Value::from(said.line());
        verdict
            .note("completed_meanwhile", said(&self.completed))
            .promise(
                "a complete without a store is 202 or 503",
                matches!(self.completed.status, 202 | 503),
            )
            .promise("lists need no store", self.listed.status == 200)
            .promise(
                "a delete needs no store",
                self.deletion.status == 200 && deleted.text("status") == "expired",
            );
        // Who was told 202 need not come again.
        if self.completed.status == 202 {
            verdict.promise(
                "a file that waited is ready by itself",
                brought.text("status") == "ready",
            );
        }
    }
}
