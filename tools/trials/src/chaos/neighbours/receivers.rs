//! Most organizations have receivers that hang, drip or refuse: how long the healthy ones wait.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::catalogue::FREE;
use crate::chaos::neighbours::environment::{Environment, Plan};
use crate::chaos::neighbours::sick::{SickServer, Symptom};
use crate::chaos::neighbours::victims::{self, Member, Victims, Window};
use crate::failure::{During as _, Result};
use crate::figures::{self, percentile, rounded};
use crate::options::{Common, NeighboursOptions};
use crate::progress::say;
use crate::stand::{CHAOS_MEMORY, Stand};
use crate::verdict::Verdict;

/// Callbacks a second of the healthy.
const RATE: u32 = 200;
const MIN_RATE: f64 = 190.0;
/// From the moment a callback is due to the moment it is sent, in seconds.
const MAX_DUE_TO_SENT: f64 = 1.0;
/// Of ten organizations, so many have a sick receiver.
const SICK_OF_TEN: usize = 9;
const LOADS_AT_ONCE: usize = 32;
const SETTLING: Duration = Duration::from_secs(20);
const ADDRESSES_PER_NETWORK: usize = 250;
const CARGO_PER_QUERY: usize = 10_000;

/// How large it is.
#[derive(Debug, Clone, Copy)]
struct Size {
    organizations: usize,
    /// Cargo of each sick organization at once.
    burst: usize,
    /// Further loads a second for sick receivers.
    sick_rate: u32,
    calm: Duration,
    beside: Duration,
    /// Callbacks in flight at once.
    slots: &'static str,
}

const FULL: Size = Size {
    organizations: 10_000,
    burst: 2,
    sick_rate: 50,
    calm: Duration::from_secs(20),
    beside: Duration::from_mins(1),
    slots: "4096",
};
const SMALL: Size = Size {
    organizations: 500,
    burst: 6,
    sick_rate: 20,
    calm: Duration::from_secs(8),
    beside: Duration::from_secs(15),
    slots: "1024",
};

pub async fn run(
    common: &Common,
    options: &NeighboursOptions,
    verdict: &mut Verdict,
) -> Result<()> {
    let size = options.size(FULL, SMALL);
    let stand = Stand::build(common, CHAOS_MEMORY).await?;
    let plan = Plan {
        part: "receivers",
        organizations: size.organizations,
        workers: 1,
        settings: &[("DELIVERY_SLOTS", size.slots)],
        open_files: None,
    };
    let environment = Environment::start(stand, plan).await?;
    let servers = [Symptom::Hang, Symptom::Drip, Symptom::Refuse].map(SickServer::start);
    let servers = servers.into_iter().collect::<Result<Vec<_>>>()?;
    let (sick, healthy) = members_of(&environment, &servers);
    let receipts = &environment.receiver.receipts;
    let serving = environment.serving.address();
    let sick_count = sick.len();
    let sick = Victims::new(serving, sick, &[FREE], receipts);
    let healthy = Victims::new(serving, healthy, &[FREE], receipts);

    say("the healthy alone");
    let ((), calm) = healthy
        .load_during(RATE, tokio::time::sleep(size.calm))
        .await;
    healthy.settle(SETTLING).await;
    say(format!("{sick_count} sick receivers beside them"));
    let (burst, beside) = healthy
        .load_during(RATE, async {
            let ((), burst) = sick
                .load_during(size.sick_rate, async {
                    let loading = load_all(&sick, sick_count * size.burst);
                    // On a slow machine the burst is what could be loaded by then.
                    let _ = tokio::time::timeout(size.beside, loading).await;
                    tokio::time::sleep(size.beside).await;
                })
                .await;
            burst
        })
        .await;
    healthy.settle(SETTLING).await;

    let (mut without, mut with) = (healthy.observe(calm, None), healthy.observe(beside, None));
    victims::compare(verdict, "receivers", &mut without, &mut with);
    let length = beside.before - beside.from;
    let rate = figures::rate(with.seconds.len(), length);
    let mut due_without = due_to_sent(&environment.pool, &healthy, calm).await?;
    let mut due_with = due_to_sent(&environment.pool, &healthy, beside).await?;
    verdict
        .note(
            "receivers_due_to_sent_seconds",
            json!({"without": figures::spread(&mut due_without),
                "with": figures::spread(&mut due_with)}),
        )
        .note("receivers_organizations", size.organizations)
        .note("receivers_sick", sick_count)
        .note("receivers_sick_loads", sick.between(burst).len())
        .note("receivers_healthy_per_second", rounded(rate, 1))
        .promise(
            format!("receivers: due to sent p99 is below {MAX_DUE_TO_SENT} s"),
            percentile(&mut due_with, 990).is_some_and(|p99| p99 < MAX_DUE_TO_SENT),
        )
        .promise(
            "receivers: 200 healthy callbacks a second",
            rate >= MIN_RATE,
        );
    Ok(())
}

/// Those with a sick receiver and those with a healthy one; each has an address of its own.
fn members_of(environment: &Environment, servers: &[SickServer]) -> (Vec<Member>, Vec<Member>) {
    let (mut sick, mut healthy) = (Vec::new(), Vec::new());
    for (place, organization) in environment.organizations.iter().enumerate() {
        let is_sick = place % 10 < SICK_OF_TEN;
        let server = servers.get(place % servers.len().max(1));
        let callback_url = match server.filter(|_| is_sick) {
            Some(server) => format!("http://{}/hook", server.at(address(place))),
            None => environment.receiver.url_at(address(place)),
        };
        let member = Member {
            organization: organization.clone(),
            callback_url,
        };
        if is_sick {
            sick.push(member);
        } else {
            healthy.push(member);
        }
    }
    (sick, healthy)
}

/// One of the loopback addresses that callbacks may reach.
fn address(place: usize) -> Ipv4Addr {
    let octet = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
    Ipv4Addr::new(
        127,
        0,
        octet(1 + place / ADDRESSES_PER_NETWORK),
        octet(1 + place % ADDRESSES_PER_NETWORK),
    )
}

async fn load_all(sick: &Arc<Victims>, count: usize) {
    let numbers = (0..count).map(|number| u64::try_from(number).unwrap_or_default());
    stream::iter(numbers.map(|number| sick.load(number)))
        .buffer_unordered(LOADS_AT_ONCE)
        .for_each(|()| async {})
        .await;
}

/// Seconds from the moment each callback was due to its arrival; what has not come counts with
/// its age.
async fn due_to_sent(pool: &PgPool, healthy: &Victims, window: Window) -> Result<Vec<f64>> {
    let query = "
        select extract(epoch from now() - cargo.completed_at)::float8
        from unnest($1) with ordinality as given (id, place)
        left join shard.cargo on cargo.id = given.id
        order by place";
    let mut seconds = Vec::new();
    for some in healthy.between(window).chunks(CARGO_PER_QUERY) {
        let ids = some.iter().map(|(record, _)| Uuid::from_u128(record.cargo));
        let ids: Vec<Uuid> = ids.collect();
        let now = Instant::now();
        let ages = sqlx::query_scalar::<_, Option<f64>>(query).bind(ids);
        let ages = ages.fetch_all(pool).await;
        let ages = ages.during("reading when callbacks were due")?;
        for ((_, receipt), age) in some.iter().zip(ages) {
            let since_sent = receipt.map_or(Duration::ZERO, |receipt| {
                now.saturating_duration_since(receipt.first)
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
    fn every_organization_has_an_address_of_its_own_in_the_allowed_range() {
        let all: std::collections::HashSet<_> = (0..10_000).map(address).collect();
        assert_eq!(all.len(), 10_000);
        assert!(all.iter().all(|it| it.octets()[..2] == [127, 0]));
    }
}
