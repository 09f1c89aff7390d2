//! An open-loop load generator: loads start at a fixed rate, regardless of earlier responses.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::harness::http::load_request;
use crate::harness::load::callers::ChaosCallers;
use crate::harness::load::load_log::LoadSource;
use crate::harness::measurement::statistics;

const TICK_INTERVAL: Duration = Duration::from_millis(10);
/// How often the load balancer checks `/ready`.
const READY_PROBE_INTERVAL: Duration = Duration::from_millis(50);

/// Starts `rate` loads a second until `enough`, and returns once each has its response. Returns
/// how many there were.
pub async fn offer_loads<F, L>(rate: u32, enough: impl Future<Output = ()>, load: F) -> u64
where
    F: Fn(u64) -> L,
    L: Future<Output = ()> + Send + 'static,
{
    let mut enough = pin!(enough);
    let mut under_way = JoinSet::new();
    let begun = Instant::now();
    let mut ticks = tokio::time::interval(TICK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut offered = 0;
    loop {
        tokio::select! {
            () = &mut enough => break,
            _ = ticks.tick() => {}
        }
        while offered < due_loads(rate, begun.elapsed()) {
            under_way.spawn(load(offered));
            offered += 1;
        }
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
    offered
}

/// How many loads should have started by now.
fn due_loads(rate: u32, elapsed: Duration) -> u64 {
    let thousandths = u128::from(rate) * elapsed.as_millis();
    u64::try_from(thousandths / 1000).unwrap_or(u64::MAX)
}

/// The index of the organization of the `number`th load: each in turn.
pub fn organization_index(callers: &ChaosCallers, number: u64) -> usize {
    let count = callers.organizations.len().max(1);
    usize::try_from(number).unwrap_or_default() % count
}

/// Sends one load to one process, never retried, and records it. Returns whether it was
/// accepted.
pub async fn load_once(callers: &ChaosCallers, place: usize, number: u64) -> bool {
    let which = organization_index(callers, number);
    let organization = callers.organizations.get(which);
    let Some((organization, client)) = organization.zip(callers.clients.get(place)) else {
        return false;
    };
    let request = callers.requests.build(organization, number);
    let source = load_source(place, which);
    let sent = callers.load_log.send(client, request, source).await;
    sent.cargo.is_some()
}

/// The same, to each process in turn.
pub async fn load_in_turn(callers: &ChaosCallers, number: u64) -> bool {
    let count = callers.clients.len().max(1);
    let place = usize::try_from(number).unwrap_or_default() % count;
    load_once(callers, place, number).await
}

fn load_source(client: usize, organization: usize) -> LoadSource {
    LoadSource {
        organization,
        client: Some(client),
        label: "",
    }
}

/// The same with a custom body.
pub async fn load_body(callers: &ChaosCallers, place: usize, which: usize, body: &str) {
    let organization = callers.organizations.get(which);
    if let Some((organization, client)) = organization.zip(callers.clients.get(place)) {
        let request = load_request::load(organization, body.to_owned());
        let source = load_source(place, which);
        callers.load_log.send(client, request, source).await;
    }
}

/// Checks `/ready` like a load balancer, until it is dropped.
pub async fn run_balancer(callers: &ChaosCallers) {
    let asking = callers.clients.iter().map(|target| async {
        let mut ticks = tokio::time::interval(READY_PROBE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            target.check_ready().await;
        }
    });
    futures::future::join_all(asking).await;
}

/// Sends one load to a process that the load balancer considers ready.
pub async fn load_ready_process(callers: &ChaosCallers, number: u64) {
    let ready = callers
        .clients
        .iter()
        .enumerate()
        .filter(|(_, target)| target.is_admitted());
    let ready: Vec<usize> = ready.map(|(place, _)| place).collect();
    let turn = usize::try_from(number).unwrap_or_default() % ready.len().max(1);
    match ready.get(turn) {
        Some(place) => {
            load_once(callers, *place, number).await;
        }
        None => callers.load_log.record_unsent(),
    }
}

/// How many loads were offered while something else ran.
#[derive(Debug, Clone, Copy)]
pub struct OfferedRate {
    pub loads: u64,
    pub per_second: f64,
}

/// Offers loads for as long as `work` takes; also returns the result of `work`.
pub fn offer_loads_during<F, L, T>(
    rate: u32,
    load: F,
    work: impl Future<Output = T>,
) -> impl Future<Output = (OfferedRate, T)>
where
    F: Fn(u64) -> L,
    L: Future<Output = ()> + Send + 'static,
{
    // The work of some trials is a large future.
    let work = Box::pin(work);
    async move {
        let (over, enough) = oneshot::channel::<()>();
        let begun = Instant::now();
        let working = async {
            let done = work.await;
            drop(over);
            (done, begun.elapsed())
        };
        let loading = offer_loads(rate, async { drop(enough.await) }, load);
        let (loads, (done, length)) = tokio::join!(loading, working);
        let count = usize::try_from(loads).unwrap_or(usize::MAX);
        let per_second = statistics::rate_per_second(count, length);
        (OfferedRate { loads, per_second }, done)
    }
}

/// A load for [`offer_loads`] that goes through the load balancer.
pub fn balanced_load(
    callers: &Arc<ChaosCallers>,
) -> impl Fn(u64) -> BoxFuture<'static, ()> + use<> {
    let callers = Arc::clone(callers);
    move |number| {
        let callers = Arc::clone(&callers);
        async move { load_ready_process(&callers, number).await }.boxed()
    }
}

/// A load for [`offer_loads`] that goes to each process in turn, ready or not.
pub fn load_each_in_turn(
    callers: &Arc<ChaosCallers>,
) -> impl Fn(u64) -> BoxFuture<'static, ()> + use<> {
    load_chosen(callers, |count, number| {
        usize::try_from(number).unwrap_or_default() % count
    })
}

/// A load for [`offer_loads`] that goes to a random process, ready or not.
pub fn unbalanced_load(
    callers: &Arc<ChaosCallers>,
) -> impl Fn(u64) -> BoxFuture<'static, ()> + use<> {
    load_chosen(callers, |count, _| rand::random_range(0..count))
}

fn load_chosen(
    callers: &Arc<ChaosCallers>,
    choose: fn(usize, u64) -> usize,
) -> impl Fn(u64) -> BoxFuture<'static, ()> + use<> {
    let callers = Arc::clone(callers);
    move |number| {
        let callers = Arc::clone(&callers);
        async move {
            let place = choose(callers.clients.len().max(1), number);
            load_once(&callers, place, number).await;
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_due_by_the_clock() {
        assert_eq!(due_loads(250, Duration::from_millis(3)), 0);
        assert_eq!(due_loads(250, Duration::from_millis(10)), 2);
        assert_eq!(due_loads(250, Duration::from_mins(1)), 15_000);
    }
}
