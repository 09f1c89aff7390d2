//! Most organizations have receivers that hang, drip or refuse; measures the healthy ones.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::chaos::neighbours::steady_load::{self, LoadWindow, LoadingOrganization, SteadyLoad};
use crate::harness::measurement::statistics;
use crate::harness::{
    DatabaseLayout, FREE_MODEL, FailureContext as _, FaultyServer, Result, ServerFault,
    TrialEnvironment, TrialVerdict, judge, percentile, report_progress, round_to,
};
use crate::options::{ChaosNeighboursOptions, CommonOptions};

/// The share of the healthy callbacks that must be sent.
const MIN_CALLBACK_SHARE: f64 = 0.95;
/// From the time a callback is due to the time it is sent, in seconds.
const MAX_DUE_TO_SENT: f64 = 1.0;
const FAULTY_OF_TEN: usize = 9;
const MAX_CONCURRENT_LOADS: usize = 32;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(20);
const ADDRESSES_PER_NETWORK: usize = 250;
const CARGO_PER_QUERY: usize = 10_000;

#[derive(Debug, Clone, Copy)]
struct ReceiversSize {
    organizations: usize,
    /// Callbacks of the healthy organizations.
    callbacks_per_second: u32,
    /// Cargo of each organization with a faulty receiver, all at once.
    burst: usize,
    /// More loads for faulty receivers.
    faulty_loads_per_second: u32,
    baseline_length: Duration,
    measured_length: Duration,
    /// Callbacks in flight at the same time.
    slots: &'static str,
}

const FULL_SIZE: ReceiversSize = ReceiversSize {
    organizations: 10_000,
    callbacks_per_second: 200,
    burst: 2,
    faulty_loads_per_second: 50,
    baseline_length: Duration::from_secs(20),
    measured_length: Duration::from_mins(1),
    slots: "4096",
};
const SMALL_SIZE: ReceiversSize = ReceiversSize {
    organizations: 500,
    callbacks_per_second: 40,
    burst: 1,
    faulty_loads_per_second: 10,
    baseline_length: Duration::from_secs(4),
    measured_length: Duration::from_secs(8),
    slots: "1024",
};

pub async fn run(
    common: &CommonOptions,
    options: &ChaosNeighboursOptions,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    let size = options.choose_size(FULL_SIZE, SMALL_SIZE);
    let deployment =
        steady_load::deploy("receivers", size.organizations, 1).with("DELIVERY_SLOTS", size.slots);
    let environment =
        TrialEnvironment::build(common, DatabaseLayout::SingleShard, deployment).await?;
    let servers =
        [ServerFault::Hang, ServerFault::Drip, ServerFault::Refuse].map(FaultyServer::start);
    let servers = servers.into_iter().collect::<Result<Vec<_>>>()?;
    let (faulty, healthy) = split_members(&environment, &servers);
    let faulty_count = faulty.len();
    let faulty = SteadyLoad::new(&environment, faulty, &[FREE_MODEL])?;
    let healthy = SteadyLoad::new(&environment, healthy, &[FREE_MODEL])?;

    report_progress("only healthy receivers");
    let calm = healthy
        .load_for(size.callbacks_per_second, size.baseline_length)
        .await;
    healthy.wait_for_callbacks(SETTLE_TIMEOUT).await;
    report_progress(format!("healthy receivers and {faulty_count} faulty ones"));
    let (burst, disturbed) = healthy
        .load_during(size.callbacks_per_second, async {
            let ((), burst) = faulty
                .load_during(size.faulty_loads_per_second, async {
                    let loading = load_all(&faulty, faulty_count * size.burst);
                    // On a slow machine the burst is as large as could be loaded by then.
                    let _ = tokio::time::timeout(size.measured_length, loading).await;
                    tokio::time::sleep(size.measured_length).await;
                })
                .await;
            burst
        })
        .await;
    healthy.wait_for_callbacks(SETTLE_TIMEOUT).await;

    let (mut without, mut with) = (
        healthy.observe(calm, None),
        healthy.observe(disturbed, None),
    );
    steady_load::judge_slowdown(verdict, "receivers", &mut without, &mut with);
    let length = disturbed.before - disturbed.from;
    let rate = statistics::rate_per_second(with.callback_seconds.len(), length);
    let (pool, wanted) = (environment.first_shard()?, size.callbacks_per_second);
    let mut due_without = measure_due_to_sent(pool, &healthy, calm).await?;
    let mut due_with = measure_due_to_sent(pool, &healthy, disturbed).await?;
    judge! { verdict;
        record "receivers_due_to_sent_seconds" =>
            json!({"without": statistics::summarize(&mut due_without),
                "with": statistics::summarize(&mut due_with)}),
        record "receivers_organizations" => size.organizations,
        record "receivers_faulty" => faulty_count,
        record "receivers_faulty_loads" => faulty.cargo_between(burst).len(),
        record "receivers_healthy_per_second" => round_to(rate, 1),
        check_figure format!("receivers: due to sent p99 is below {MAX_DUE_TO_SENT} s") =>
            percentile(&mut due_with, 990).is_some_and(|p99| p99 < MAX_DUE_TO_SENT),
        check_figure format!("receivers: {wanted} healthy callbacks per second") =>
            rate >= f64::from(wanted) * MIN_CALLBACK_SHARE,
    }
    Ok(())
}

/// Organizations with a faulty receiver, and those with a healthy one; each has its own
/// address.
fn split_members(
    environment: &TrialEnvironment,
    servers: &[FaultyServer],
) -> (Vec<LoadingOrganization>, Vec<LoadingOrganization>) {
    let (mut faulty, mut healthy) = (Vec::new(), Vec::new());
    for (place, organization) in environment.callers.organizations.iter().enumerate() {
        let is_faulty = place % 10 < FAULTY_OF_TEN;
        let server = servers.get(place % servers.len().max(1));
        let callback_url = match server.filter(|_| is_faulty) {
            Some(server) => format!("http://{}/hook", server.at(loopback_address(place))),
            None => environment.callback_sink.url_at(loopback_address(place)),
        };
        let member = LoadingOrganization {
            organization: organization.clone(),
            callback_url,
        };
        if is_faulty {
            faulty.push(member);
        } else {
            healthy.push(member);
        }
    }
    (faulty, healthy)
}

/// One of the loopback addresses that callbacks may reach.
fn loopback_address(place: usize) -> Ipv4Addr {
    let octet = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
    Ipv4Addr::new(
        127,
        0,
        octet(1 + place / ADDRESSES_PER_NETWORK),
        octet(1 + place % ADDRESSES_PER_NETWORK),
    )
}

async fn load_all(faulty: &Arc<SteadyLoad>, count: usize) {
    let numbers = (0..count).map(|number| u64::try_from(number).unwrap_or_default());
    stream::iter(numbers.map(|number| faulty.send_load(number)))
        .buffer_unordered(MAX_CONCURRENT_LOADS)
        .for_each(|()| async {})
        .await;
}

/// Seconds from the time each callback was due to its arrival; a missing one counts with its
/// age.
async fn measure_due_to_sent(
    pool: &PgPool,
    healthy: &SteadyLoad,
    window: LoadWindow,
) -> Result<Vec<f64>> {
    let query = "
        select extract(epoch from now() - cargo.completed_at)::float8
        from unnest($1) with ordinality as given (id, place)
        left join shard.cargo on cargo.id = given.id
        order by place";
    let mut seconds = Vec::new();
    for some in healthy.cargo_between(window).chunks(CARGO_PER_QUERY) {
        let ids = some.iter().copied().map(Uuid::from_u128);
        let ids: Vec<Uuid> = ids.collect();
        let now = Instant::now();
        let ages = sqlx::query_scalar::<_, Option<f64>>(query).bind(ids);
        let ages = ages.fetch_all(pool).await;
        let ages = ages.context("reading when callbacks were due")?;
        for (cargo, age) in some.iter().zip(ages) {
            let since_sent = healthy
                .receipts
                .find(*cargo)
                .map_or(Duration::ZERO, |receipt| {
                    now.saturating_duration_since(receipt.first_at)
                });
            seconds.extend(age.map(|age| age - since_sent.as_secs_f64()));
        }
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_organization_has_its_own_address_in_the_allowed_range() {
        let all: std::collections::HashSet<_> = (0..10_000).map(loopback_address).collect();
        assert_eq!(all.len(), 10_000);
        assert!(all.iter().all(|it| it.octets()[..2] == [127, 0]));
    }
}
