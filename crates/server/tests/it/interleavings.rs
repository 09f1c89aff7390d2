//! Three sets of workers over one real database, stepped statement by statement in an order that a
//! seed draws, with lost leases, frozen nodes, failing statements and double clicks in between.
//!
//! `./dev interleavings --first SEED --seeds 1` repeats a seed. Ids are drawn by the system, so a
//! seed draws the same order as long as the rows are found in the same order.

use std::sync::Arc;

use self::log::Log;
use self::node::{Context, Node};
use self::plan::Plan;
use self::receiver::{NodeCallbacks, Receiver};
use self::scheduler::Scheduler;
use self::world::{NODES, World};

mod gate;
mod guards;
mod log;
mod node;
mod oracle;
mod plan;
mod provider;
mod receiver;
mod recovery;
mod scheduler;
mod world;

const SEEDS: u64 = 200;
/// The tests below, which run side by side.
const PARTS: u64 = 4;
/// Rows of earlier seeds are left behind: now and then a database is made anew.
const SEEDS_OF_A_DATABASE: u64 = 50;

#[tokio::test]
async fn no_order_of_statements_breaks_anything_first_part() {
    run(0).await;
}

#[tokio::test]
async fn no_order_of_statements_breaks_anything_second_part() {
    run(1).await;
}

#[tokio::test]
async fn no_order_of_statements_breaks_anything_third_part() {
    run(2).await;
}

#[tokio::test]
async fn no_order_of_statements_breaks_anything_fourth_part() {
    run(3).await;
}

#[expect(clippy::disallowed_methods, reason = "how many seeds, and which")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Every fourth seed, beginning with this one.
async fn run(part: u64) {
    let seeds = setting("LONGSHORE_INTERLEAVINGS").unwrap_or(SEEDS);
    let first = setting("LONGSHORE_INTERLEAVINGS_FIRST").unwrap_or(0);
    let mut world = None;
    let mine = (first + part..first + seeds).step_by(usize::try_from(PARTS).unwrap());
    for (count, seed) in (0_u64..).zip(mine) {
        if count.is_multiple_of(SEEDS_OF_A_DATABASE) {
            world = None;
        }
        if world.is_none() {
            world = Some(World::new().await);
        }
        if let Some(world) = &world {
            Box::pin(play(world, seed)).await;
        }
    }
}

/// One seed from load to the last callback.
async fn play(world: &World, seed: u64) {
    let (plan, random) = Plan::draw(seed);
    let (log, receiver) = (Arc::new(Log::default()), Arc::new(Receiver::default()));
    let account = Arc::new(world.account(seed, &plan));
    log.tell(&format!("{plan:?}"));
    world.gate.set_open(true);
    let customers = world.load().await;
    let mut nodes = Vec::new();
    for node in 0..NODES {
        let callbacks = NodeCallbacks {
            node,
            gate: world.gate.clone(),
            receiver: receiver.clone(),
            log: log.clone(),
        };
        let context = Context {
            node,
            gate: world.gate.clone(),
            clock: world.clock(),
            log: log.clone(),
        };
        let parts = world.parts(node, &plan, &account, callbacks);
        nodes.push(Node::start(parts, context).await);
    }
    let drawn = (plan, random);
    let mut scheduler = Scheduler::new(world, drawn, log.clone(), receiver, customers);
    let mut wrong: Vec<String> = Vec::new();
    if let Err(broken) = scheduler.go_through().await {
        wrong.push(broken);
    }
    wrong.extend(scheduler.judge(&account).await);
    if nodes.iter().any(|node| !node.is_whole()) {
        wrong.push("a stage panicked".to_owned());
    }
    let (told, wrong) = (log.told(), wrong.join("\n"));
    assert!(
        wrong.is_empty(),
        "{told}\nseed {seed} is broken; repeat it with\n\
         ./dev interleavings --first {seed} --seeds 1\n\n{wrong}"
    );
    for node in nodes {
        node.lease.leave().await.unwrap();
        node.stop().await;
    }
}
