//! Loads that come at their own pace, whatever becomes of those before.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::chaos::scene::Callers;
use crate::ledger;

const TICK: Duration = Duration::from_millis(10);

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

/// One load sent to one process and never repeated, noted in the ledger.
pub async fn load_once(callers: &Callers, place: usize, number: u64) {
    let which = organization(callers, number);
    let Some(organization) = callers.organizations.get(which) else {
        return;
    };
    let Some(target) = callers.targets.get(place) else {
        return;
    };
    let mut request = String::new();
    callers.loads.write(&mut request, organization, number);
    match target.send(request.as_bytes()).await {
        Ok(answer) if answer.is_success() => match answer.cargo() {
            Some(cargo) => callers.ledger.acknowledge(cargo, which),
            None => callers.ledger.fail("2xx without a cargo_id"),
        },
        Ok(answer) => callers.ledger.fail(answer.status.to_string()),
        Err(error) => callers.ledger.fail(ledger::reason(&error)),
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
