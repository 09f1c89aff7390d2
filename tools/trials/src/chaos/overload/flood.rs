//! Five times the load that the service sustains, near its database or far from it.
//!
//! The way to the database is the bottleneck, as it is in production: the callers of a trial
//! share the machine's cores with the service, so that a service short of cores would be short
//! of callers, too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::offered::{self, OfferedLoad, OfferedLoads};
use crate::chaos::scene::{Deployment, ProcessSpec, Scene, Servers, Storage};
use crate::chaos::{settle, traffic};
use crate::failure::{Failure, Result};
use crate::figures::{self, percentile, rounded};
use crate::options::{Common, OverloadOptions};
use crate::progress::say;
use crate::slow_relay::SlowRelay;
use crate::verdict::Verdict;

const DISTANCE: Duration = Duration::from_millis(200);
/// Loads under way while the sustained rate is measured: enough to fill groups,
/// also where a group takes seconds.
const CONNECTIONS: usize = 512;
/// A service that was idle has connections to open and learns how large its groups may be.
const WARM_UP: Duration = Duration::from_secs(8);
const MAX_MEASURE: Duration = Duration::from_secs(15);
const OVERLOAD: f64 = 5.0;
/// The load of calm times, in parts of the sustained rate.
const CALM: f64 = 0.3;
const CALM_FOR: Duration = Duration::from_secs(3);
/// The queue has filled by then.
const RAMP: Duration = Duration::from_secs(3);
const NORMAL_WITHIN: Duration = Duration::from_secs(10);
const WATCH_NORMAL: Duration = Duration::from_secs(5);
const MIN_GOODPUT: f64 = 0.8;
const MAX_REFUSAL_MILLISECONDS: f64 = 100.0;
/// What stood in queues must come to its end: the overload's own length and some.
const SETTLE_WITHIN: Duration = Duration::from_mins(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Near,
    Far,
}

/// When what was offered.
#[derive(Debug, Clone, Copy)]
struct Phases {
    calm: Instant,
    overload: Instant,
    after: Instant,
    end: Instant,
}

pub(super) async fn run(
    common: &Common,
    options: &OverloadOptions,
    place: Place,
) -> Result<Verdict> {
    let storage = Storage::create(Servers::OneForAll).await?;
    let server = storage.postgres.first();
    let server = server.ok_or_else(|| Failure::new("no server"))?.address();
    let relay = SlowRelay::start(server, Some(options.database_bytes_per_second)).await?;
    let roles = [
        ProcessSpec::new("serve", "serve").behind(relay.address),
        ProcessSpec::new("work", "work"),
    ];
    let scene = Scene::with(common, storage, Deployment::of(roles.into())).await?;
    if place == Place::Far {
        relay.set_delay(DISTANCE);
    }

    let length = Duration::from_secs(options.seconds);
    let loads = Arc::new(OfferedLoads::default());
    let numbers = Arc::new(AtomicU64::new(0));
    let sustained = sustained(&scene, &loads, &numbers, length.min(MAX_MEASURE)).await;
    say(format!("{sustained:.0} loads a second are sustained"));
    let phases = offer(&scene, &loads, &numbers, (sustained, length)).await;
    say("settling");
    let settled = settle::settle(&scene, SETTLE_WITHIN).await?;

    let mut verdict = Verdict::new("overload");
    verdict.note("sustained_per_second", rounded(sustained, 1));
    settled.judge(&scene.callers, &mut verdict);
    judge(&mut verdict, &loads, phases, sustained);
    Ok(verdict)
}

/// Loads a second that are accepted when each connection waits for its answer.
async fn sustained(
    scene: &Scene,
    loads: &Arc<OfferedLoads>,
    numbers: &Arc<AtomicU64>,
    length: Duration,
) -> f64 {
    let begun = Instant::now();
    let (from, until) = (begun + WARM_UP, begun + WARM_UP + length);
    let mut running = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (callers, loads) = (Arc::clone(&scene.callers), Arc::clone(loads));
        let numbers = Arc::clone(numbers);
        running.spawn(async move {
            while Instant::now() < until {
                let number = numbers.fetch_add(1, Ordering::Relaxed);
                if !loads.load(&callers, number).await {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        });
    }
    while running.join_next().await.is_some() {}
    loads.goodput(from, until)
}

/// Calm, the overload, and calm again at once.
async fn offer(
    scene: &Scene,
    loads: &Arc<OfferedLoads>,
    numbers: &Arc<AtomicU64>,
    (sustained, length): (f64, Duration),
) -> Phases {
    let one = |_| {
        let (callers, loads) = (Arc::clone(&scene.callers), Arc::clone(loads));
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        async move {
            loads.load(&callers, number).await;
        }
    };
    let calm = Instant::now();
    let pace = rate(sustained * CALM);
    traffic::offer(pace, tokio::time::sleep(CALM_FOR), one).await;
    let overload = Instant::now();
    let (after, end) = (
        overload + length,
        overload + length + NORMAL_WITHIN + WATCH_NORMAL,
    );
    say(format!(
        "offering {:.0} loads a second",
        sustained * OVERLOAD
    ));
    let flood = tokio::time::sleep_until(after.into());
    let flood = traffic::offer(rate(sustained * OVERLOAD), flood, one);
    let calm_again = async {
        tokio::time::sleep_until(after.into()).await;
        say("calm again");
        traffic::offer(pace, tokio::time::sleep_until(end.into()), one).await
    };
    tokio::join!(flood, calm_again);
    Phases {
        calm,
        overload,
        after,
        end,
    }
}

fn rate(per_second: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates of a trial are small and never negative"
    )]
    let rate = per_second.round().max(1.0) as u32;
    rate
}

fn judge(verdict: &mut Verdict, loads: &OfferedLoads, phases: Phases, sustained: f64) {
    let flood = loads.between(phases.overload, phases.after);
    let ramp = RAMP.min((phases.after - phases.overload) / 4);
    let goodput = loads.goodput(phases.overload + ramp, phases.after);
    let offered = figures::rate(flood.len(), phases.after - phases.overload);
    let mut refusals = offered::milliseconds(&flood, OfferedLoad::is_refused);
    let slow_refusal = percentile(&mut refusals, 990);
    let mut accepted = offered::milliseconds(&flood, OfferedLoad::is_accepted);
    let others = flood
        .iter()
        .filter(|load| !load.is_accepted() && !load.is_refused());
    verdict
        .note("offered_per_second", rounded(offered, 1))
        .note("goodput_per_second", rounded(goodput, 1))
        .note("goodput_ratio", rounded(goodput / sustained.max(1.0), 3))
        .note("answers", offered::answers(&flood))
        .note("accepted_milliseconds", figures::spread(&mut accepted))
        .note("refused_milliseconds", figures::spread(&mut refusals))
        .note("slow_refusals_by_second", slow_refusals(&flood, phases))
        .promise(
            "goodput is at least 80 % of what is sustained",
            goodput >= sustained * MIN_GOODPUT,
        )
        .promise("some loads were refused", !refusals.is_empty())
        .promise(
            "refusals take at most 100 ms at p99",
            slow_refusal.is_some_and(|slow| slow <= MAX_REFUSAL_MILLISECONDS),
        )
        .promise("every answer is 202 or 503", others.count() == 0);
    judge_return(verdict, loads, phases);
}

/// In which second of the overload refusals took too long, and how many.
fn slow_refusals(flood: &[OfferedLoad], phases: Phases) -> Value {
    let mut counts = BTreeMap::<String, u64>::new();
    for load in flood.iter().filter(|load| load.is_refused()) {
        if figures::milliseconds(load.took) > MAX_REFUSAL_MILLISECONDS {
            let second = load.began.saturating_duration_since(phases.overload);
            let second = format!("{:03}", second.as_secs());
            *counts.entry(second).or_default() += 1;
        }
    }
    json!(counts)
}

/// Normal is: every load is accepted, most of them as quickly as before.
fn judge_return(verdict: &mut Verdict, loads: &OfferedLoads, phases: Phases) {
    let before = loads.between(phases.calm, phases.overload);
    let after = loads.between(phases.after, phases.end);
    let late = loads.between(phases.after + NORMAL_WITHIN, phases.end);
    let mut before = offered::milliseconds(&before, OfferedLoad::is_accepted);
    let mut late_milliseconds = offered::milliseconds(&late, OfferedLoad::is_accepted);
    let last_refusal = after
        .iter()
        .filter(|load| !load.is_accepted())
        .map(|load| load.ended().saturating_duration_since(phases.after))
        .max();
    let is_quick = match (
        percentile(&mut late_milliseconds, 500),
        percentile(&mut before, 990),
    ) {
        (Some(late), Some(before)) => late <= before * 2.0,
        _ => false,
    };
    let last_refusal = last_refusal.map(|after| rounded(after.as_secs_f64(), 2));
    verdict
        .note("calm_milliseconds", figures::spread(&mut before))
        .note(
            "normal_milliseconds",
            figures::spread(&mut late_milliseconds),
        )
        .note("last_refusal_after_seconds", last_refusal)
        .promise(
            "normal again within 10 s",
            !late.is_empty() && late.iter().all(OfferedLoad::is_accepted) && is_quick,
        );
}
