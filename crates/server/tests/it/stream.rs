//! Servers that are asked one by one: an answer is stored when it came.

use std::time::Duration;

use simulator::Provider;
use workers::stage::{Stage as _, Step};

use crate::support::jobs::{ACCOUNT, Port};

/// After so many good answers two are asked at once.
const ALONE: usize = 8;
const MOMENT: Duration = Duration::from_millis(10);
const LOOK: Duration = Duration::from_millis(10);

#[tokio::test]
async fn an_answer_waits_for_no_other_and_a_restart_asks_only_what_has_none() {
    let mut port = Port::open().await;
    let mut texts: Vec<String> = (0..ALONE).map(|turn| format!("crate {turn}")).collect();
    texts.push("[[slow 600000]] the last but one".to_owned());
    texts.push("the last".to_owned());
    let mut cargo = Vec::new();
    for text in &texts {
        let url = "https://example.com/hook";
        cargo.push(port.load(Provider::Server, text, url).await);
        port.service.clock.advance(MOMENT);
    }
    let last = cargo.last().unwrap();
    let now = port.service.clock.advance(Duration::from_secs(30));
    let mut crew = port.service.crews.remove(0);
    while crew.gather.step(now).await.unwrap() != Step::Idle {}
    while crew.dispatch.step(now).await.unwrap() != Step::Idle {}
    tokio::select! {
        ended = crew.stream.step(now) => panic!("the slow one takes ten minutes: {ended:?}"),
        () = completed(&port, last) => {}
    }
    // The worker ends here; whoever comes next finds nine answers, and the slow question open.
    let stored = "select count(*) from shard.outcome";
    let stored = sqlx::query_scalar::<_, i64>(stored);
    let stored = stored.fetch_one(&port.service.north.pool).await.unwrap();
    assert_eq!(stored, 9);
    crew.leave().await.unwrap();
    let mut heir = port.service.another_crew().await;
    tokio::select! {
        ended = heir.stream.step(now) => panic!("the slow one takes ten minutes: {ended:?}"),
        () = asked(&port, 11) => {}
    }
}

async fn completed(port: &Port, cargo: &str) {
    while port.service.track(&port.customer, cargo).await["success"].is_null() {
        tokio::time::sleep(LOOK).await;
    }
}

async fn asked(port: &Port, times: usize) {
    while port.simulator.calls(Provider::Server, ACCOUNT).len() < times {
        tokio::time::sleep(LOOK).await;
    }
}
