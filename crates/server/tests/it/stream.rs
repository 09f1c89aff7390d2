//! Realtime servers: each answer is stored as soon as it arrives.

use std::time::Duration;

use simulator::SimulatedProvider;
use workers::stage::{Stage as _, StepResult};

use crate::support::simulated_providers::{PRIMARY_ACCOUNT, ProviderFixture};

/// After this many good answers, two requests are sent at once.
const SEQUENTIAL_ANSWERS: usize = 8;
const LOAD_INTERVAL: Duration = Duration::from_millis(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

#[tokio::test]
async fn answers_are_stored_at_once_and_a_restart_sends_only_unanswered_requests() {
    let mut fixture = ProviderFixture::start().await;
    let mut texts: Vec<String> = (0..SEQUENTIAL_ANSWERS)
        .map(|turn| format!("crate {turn}"))
        .collect();
    texts.push("[[slow 600000]] the last but one".to_owned());
    texts.push("the last".to_owned());
    let mut cargo = Vec::new();
    for text in &texts {
        let url = "https://example.com/hook";
        cargo.push(fixture.load(SimulatedProvider::Server, text, url).await);
        fixture.service.clock.advance(LOAD_INTERVAL);
    }
    let last = cargo.last().unwrap();
    let now = fixture.service.clock.advance(Duration::from_secs(30));
    let mut workers = fixture.service.worker_sets.remove(0);
    while workers.gather.step(now).await.unwrap() != StepResult::Idle {}
    while workers.dispatch.step(now).await.unwrap() != StepResult::Idle {}
    tokio::select! {
        ended = workers.stream.step(now) => panic!("the slow request takes ten minutes: {ended:?}"),
        () = wait_until_completed(&fixture, last) => {}
    }
    // The worker stops here. The next one finds nine answers, and the slow request open.
    let stored = "select count(*) from shard.outcome";
    let stored = sqlx::query_scalar::<_, i64>(stored);
    let stored = stored.fetch_one(&fixture.service.north.pool).await.unwrap();
    assert_eq!(stored, 9);
    workers.leave().await.unwrap();
    let mut successor = fixture.service.join_another_worker_set().await;
    tokio::select! {
        ended = successor.stream.step(now) => panic!("the slow request takes ten minutes: {ended:?}"),
        () = wait_for_calls(&fixture, 11) => {}
    }
}

async fn wait_until_completed(fixture: &ProviderFixture, cargo: &str) {
    while fixture.service.track(&fixture.customer, cargo).await["success"].is_null() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn wait_for_calls(fixture: &ProviderFixture, times: usize) {
    while fixture
        .simulator
        .calls(SimulatedProvider::Server, PRIMARY_ACCOUNT)
        .len()
        < times
    {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
