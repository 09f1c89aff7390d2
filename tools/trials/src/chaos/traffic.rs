//! Loads that come at their own pace, whatever becomes of those before.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::chaos::scene::Callers;
use crate::figures;
use crate::http::Target;
use crate::ledger;
use crate::request;

const TICK: Duration = Duration::from_millis(10);
/// How often the balancer asks.
const PROBE: Duration = Duration::from_millis(50);

/// Starts `rate` loads a second until `enough`, and returns once each has its answer.
/// Says how many there were.
pub async fn offer<F, L>(rate: u32, enough: impl Future<Output = ()>, load: F) -> u64
where
    F: Fn(u64) -> L,
    L: Future<Output = ()> + Send + 'static,
{
    let mut enough = pin!(enough);
    let mut under_way = JoinSet::new();
    let begun = Instant::now();
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut offered = 0;
    loop {
        tokio::select! {
            () = &mut enough => break,
            _ = ticks.tick() => {}
        }
        while offered < due(rate, begun.elapsed()) {
            under_way.spawn(load(offered));
            offered += 1;
        }
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
    offered
}

/// How many should have started by now.
fn due(rate: u32, elapsed: Duration) -> u64 {
    let thousandths = u128::from(rate) * elapsed.as_millis();
    u64::try_from(thousandths / 1000).unwrap_or(u64::MAX)
}

/// The organization that the `number`th load is for: each in turn.
pub fn organization(callers: &Callers, number: u64) -> usize {
    let count = callers.organizations.len().max(1);
    usize::try_from(number).unwrap_or_default() % count
}

/// One load sent to one process and never repeated, noted in the ledger. Whether it was accepted.
pub async fn load_once(callers: &Callers, place: usize, number: u64) -> bool {
    let which = organization(callers, number);
    let Some(organization) = callers.organizations.get(which) else {
        return false;
    };
    let Some(target) = callers.targets.get(place) else {
        return false;
    };
    let mut request = String::new();
    callers.loads.write(&mut request, organization, number);
    send(callers, (place, target), which, &request).await
}

/// One load with a body of one's own, noted in the same way.
pub async fn load_body(callers: &Callers, place: usize, which: usize, body: &str) {
    let organization = callers.organizations.get(which);
    let target = callers.targets.get(place);
    if let Some((organization, target)) = organization.zip(target) {
        let request = request::load(organization, body);
        send(callers, (place, target), which, &request).await;
    }
}

async fn send(
    callers: &Callers,
    (place, target): (usize, &Target),
    which: usize,
    request: &str,
) -> bool {
    let sent = Instant::now();
    let reason = match target.send(request.as_bytes()).await {
        Ok(answer) if answer.is_success() => match answer.cargo() {
            Some(cargo) => {
                let ledger = &callers.ledger;
                ledger.acknowledge_sent(cargo, which, place, sent);
                return true;
            }
            None => "2xx without a cargo_id".to_owned(),
        },
        Ok(answer) => answer.status.to_string(),
        Err(error) => ledger::reason(&error),
    };
    callers.ledger.fail(reason);
    false
}

/// Keeps asking `/ready`, as a balancer does, for as long as it is awaited.
pub async fn balance(callers: &Callers) {
    let asking = callers.targets.iter().map(|target| async {
        let mut ticks = tokio::time::interval(PROBE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            target.probe().await;
        }
    });
    futures::future::join_all(asking).await;
}

/// One load sent to a process that the balancer believes to be ready.
pub async fn load_where_ready(callers: &Callers, number: u64) {
    let ready = callers
        .targets
        .iter()
        .enumerate()
        .filter(|(_, target)| target.is_admitted());
    let ready: Vec<usize> = ready.map(|(place, _)| place).collect();
    let turn = usize::try_from(number).unwrap_or_default() % ready.len().max(1);
    match ready.get(turn) {
        Some(place) => {
            load_once(callers, *place, number).await;
        }
        None => callers.ledger.fail("no process was ready"),
    }
}

/// How much was offered while something else happened.
#[derive(Debug, Clone, Copy)]
pub struct Offered {
    pub loads: u64,
    pub per_second: f64,
}

/// Offers loads for as long as `work` takes; returns what `work` returns, too.
pub async fn offer_during<F, L, T>(
    rate: u32,
    load: F,
    work: impl Future<Output = T>,
) -> (Offered, T)
where
    F: Fn(u64) -> L,
    L: Future<Output = ()> + Send + 'static,
{
    let (over, enough) = oneshot::channel::<()>();
    let begun = Instant::now();
    let working = async {
        let done = work.await;
        drop(over);
        (done, begun.elapsed())
    };
    let loading = offer(rate, async { drop(enough.await) }, load);
    let (loads, (done, length)) = tokio::join!(loading, working);
    let count = usize::try_from(loads).unwrap_or(usize::MAX);
    let per_second = figures::rate(count, length);
    (Offered { loads, per_second }, done)
}

/// What [`offer`] calls for each load: behind the balancer.
pub fn balanced(callers: &Arc<Callers>) -> impl Fn(u64) -> BoxFuture<'static, ()> + use<> {
    let callers = Arc::clone(callers);
    move |number| {
        let callers = Arc::clone(&callers);
        async move { load_where_ready(&callers, number).await }.boxed()
    }
}

/// What [`offer`] calls for each load: to each process at random, ready or not.
pub fn anywhere(callers: &Arc<Callers>) -> impl Fn(u64) -> BoxFuture<'static, ()> + use<> {
    let callers = Arc::clone(callers);
    move |number| {
        let callers = Arc::clone(&callers);
        async move {
            let place = rand::random_range(0..callers.targets.len());
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
        assert_eq!(due(250, Duration::from_millis(3)), 0);
        assert_eq!(due(250, Duration::from_millis(10)), 2);
        assert_eq!(due(250, Duration::from_mins(1)), 15_000);
    }
}
