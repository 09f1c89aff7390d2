//! A crew that dies in the middle of a submission: its heir sends what was not sent, and looks
//! for what may have been.

use simulator::{Fault, FaultName, Provider};
use workers::stage::Stage as _;

use super::play::{BATCHES, SHORT, TEXTS};
use crate::support::jobs::{ACCOUNT, Port};
use crate::support::receiver::Receiver;
use crate::takeover::bury_the_first_crew;

/// The first crew comes as far as the fault lets it, and dies with the batch in its hands.
async fn die_submitting(port: &mut Port) {
    let now = port.service.now();
    port.service.crews[0].gather.step(now).await.unwrap();
    port.service.crews[0].dispatch.step(now).await.unwrap();
    let still_held = "update shard.batch b set node = n.node, epoch = n.epoch
                      from shard.node n where n.dead_at is null and b.state = 'submitting'";
    let held = sqlx::raw_sql(still_held).execute(&port.service.north.pool);
    assert_eq!(held.await.unwrap().rows_affected(), 1);
    bury_the_first_crew(&port.service).await;
}

async fn is_sent(port: &Port) -> bool {
    let sent = "select sent_at is not null from shard.batch";
    let sent = sqlx::query_scalar::<_, bool>(sent);
    sent.fetch_one(&port.service.north.pool).await.unwrap()
}

/// Jobs, submissions and the statuses of the cargo after an heir took over.
async fn inherited(provider: Provider, fault: FaultName, is_sent_then: bool) -> String {
    let mut port = Port::open().await;
    let receiver = Receiver::new().await;
    port.simulator
        .set_faults(provider, ACCOUNT, vec![Fault::once(fault)]);
    let mut cargo = Vec::new();
    for text in TEXTS {
        cargo.push(port.load(provider, text, receiver.url()).await);
    }
    die_submitting(&mut port).await;
    assert_eq!(is_sent(&port).await, is_sent_then);
    let heir = port.service.another_crew().await;
    let mut dead = std::mem::replace(&mut port.service.crews[0], heir);
    port.wait_for(&cargo, SHORT, 20).await;
    let now = port.service.now();
    // The dead one wakes up, and finds nothing that is its own.
    dead.dispatch.step(now).await.unwrap();
    let jobs = port.simulator.jobs(provider, ACCOUNT).len();
    let submissions = port.simulator.submissions(provider, ACCOUNT).len();
    let mut statuses = Vec::new();
    for cargo in &cargo {
        let record = port.service.track(&port.customer, cargo).await;
        let status = record["status"].as_str().unwrap();
        statuses.push(format!("{status}{}", record["attempt"]));
    }
    statuses.dedup();
    format!(
        "{jobs} jobs, {submissions} submissions: {}",
        statuses.join(" ")
    )
}

#[tokio::test]
async fn what_was_not_sent_is_sent_by_the_heir() {
    for provider in BATCHES {
        let told = inherited(provider, FaultName::Create429, false).await;
        assert_eq!(
            told, "1 jobs, 2 submissions: callback_delivered1",
            "{provider}"
        );
    }
}

#[tokio::test]
async fn what_was_sent_is_found_by_the_heir() {
    for provider in BATCHES {
        let told = inherited(provider, FaultName::CreateDropAfter, true).await;
        assert_eq!(
            told, "1 jobs, 1 submissions: callback_delivered1",
            "{provider}"
        );
    }
}

#[tokio::test]
async fn what_never_arrived_is_sent_again_by_the_heir() {
    for provider in BATCHES {
        let told = inherited(provider, FaultName::CreateDropBefore, true).await;
        assert_eq!(
            told, "1 jobs, 2 submissions: callback_delivered1",
            "{provider}"
        );
    }
}
