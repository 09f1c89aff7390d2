//! Three worker sets on one real database, stepped statement by statement in an order that a seed
//! draws. The test also expires leases, freezes nodes, fails statements, cancels cargo, and
//! resends callbacks twice.
//!
//! `./dev interleavings --first SEED --seeds 1` repeats a seed. The ids are random, so a seed draws
//! the same order only if PostgreSQL returns the rows in the same order.

use std::sync::Arc;

use self::event_log::EventLog;
use self::fixture::{InterleavingFixture, NODE_COUNT};
use self::node::{SteppedNode, SteppedNodeContext};
use self::recording_receiver::{NodeCallbackClient, RecordingReceiver};
use self::scheduler::Scheduler;
use self::seed_plan::SeedPlan;

use test_support::environment::optional_number;

mod cancellation;
mod event_log;
mod fake_provider;
mod fixture;
mod gate;
mod guard_triggers;
mod node;
mod oracle;
mod recording_receiver;
mod recovery;
mod scheduler;
mod seed_plan;

const DEFAULT_SEEDS: u64 = 200;
/// The number of tests below. They run in parallel.
const PARALLEL_TESTS: u64 = 4;
/// The rows of earlier seeds stay, so a new database is created after this many seeds.
const SEEDS_PER_DATABASE: u64 = 50;

#[tokio::test]
async fn no_order_of_statements_breaks_anything_first_part() {
    run_seeds(0).await;
}

#[tokio::test]
async fn no_order_of_statements_breaks_anything_second_part() {
    run_seeds(1).await;
}

#[tokio::test]
async fn no_order_of_statements_breaks_anything_third_part() {
    run_seeds(2).await;
}

#[tokio::test]
async fn no_order_of_statements_breaks_anything_fourth_part() {
    run_seeds(3).await;
}

/// Runs every fourth seed, starting with this one.
async fn run_seeds(part: u64) {
    let seeds = optional_number("LONGSHORE_INTERLEAVINGS").unwrap_or(DEFAULT_SEEDS);
    let first = optional_number("LONGSHORE_INTERLEAVINGS_FIRST").unwrap_or(0);
    let mut fixture = None;
    let own_seeds = (first + part..first + seeds).step_by(usize::try_from(PARALLEL_TESTS).unwrap());
    for (count, seed) in (0_u64..).zip(own_seeds) {
        if count.is_multiple_of(SEEDS_PER_DATABASE) {
            fixture = None;
        }
        if fixture.is_none() {
            fixture = Some(InterleavingFixture::new().await);
        }
        if let Some(fixture) = &fixture {
            Box::pin(run_seed(fixture, seed)).await;
        }
    }
}

/// Runs one seed from the loads to the last callback.
async fn run_seed(fixture: &InterleavingFixture, seed: u64) {
    let (plan, random) = SeedPlan::draw(seed);
    let (log, receiver) = (
        Arc::new(EventLog::default()),
        Arc::new(RecordingReceiver::default()),
    );
    let account = Arc::new(fixture.provider_account(seed, &plan));
    log.record(&format!("{plan:?}"));
    fixture.gate.set_open(true);
    let customers = fixture.load().await;
    let mut nodes = Vec::new();
    for node in 0..NODE_COUNT {
        let callbacks = NodeCallbackClient {
            node,
            gate: fixture.gate.clone(),
            receiver: receiver.clone(),
            log: log.clone(),
        };
        let context = SteppedNodeContext {
            node,
            gate: fixture.gate.clone(),
            clock: fixture.clock(),
            log: log.clone(),
        };
        let deps = fixture.worker_set_deps(node, &plan, &account, callbacks);
        nodes.push(SteppedNode::start(deps, context).await);
    }
    let events = log.clone();
    let mut scheduler = Scheduler::new(fixture, plan, random, events, receiver, customers);
    let mut violations: Vec<String> = Vec::new();
    if let Err(failure) = scheduler.run().await {
        violations.push(failure);
    }
    violations.extend(scheduler.find_violations(&account).await);
    if nodes.iter().any(|node| !node.is_running()) {
        violations.push("a stage panicked".to_owned());
    }
    let (transcript, violations) = (log.transcript(), violations.join("\n"));
    assert!(
        violations.is_empty(),
        "{transcript}\nseed {seed} failed; repeat it with\n\
         ./dev interleavings --first {seed} --seeds 1\n\n{violations}"
    );
    for node in nodes {
        node.lease.leave().await.unwrap();
        node.stop().await;
    }
}
