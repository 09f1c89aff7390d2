//! A worker set dies in the middle of a submission. Its successor sends a batch that was not sent,
//! and reconciles one that may have been.

use simulator::{FaultName, SimulatedFault, SimulatedProvider};
use test_support::callback_receiver::CallbackReceiver;
use workers::stage::Stage as _;

use super::scenario::{BATCH_PROVIDERS, DEFAULT_TEXTS, SHORT_STEP};
use crate::support::simulated_providers::{PRIMARY_ACCOUNT, ProviderFixture};
use crate::takeover::expire_first_lease;

/// The first worker set submits until the fault stops it, and dies while it holds the batch.
async fn die_while_submitting(fixture: &mut ProviderFixture) {
    let now = fixture.service.now();
    fixture.service.worker_sets[0]
        .gather
        .step(now)
        .await
        .unwrap();
    fixture.service.worker_sets[0]
        .dispatch
        .step(now)
        .await
        .unwrap();
    let still_held = "update shard.batch b set node = n.node, epoch = n.epoch
                      from shard.node n where n.dead_at is null and b.state = 'submitting'";
    let held = sqlx::raw_sql(still_held).execute(&fixture.service.north.pool);
    assert_eq!(held.await.unwrap().rows_affected(), 1);
    expire_first_lease(&fixture.service).await;
}

async fn is_sent(fixture: &ProviderFixture) -> bool {
    let sent = "select sent_at is not null from shard.batch";
    let sent = sqlx::query_scalar::<_, bool>(sent);
    sent.fetch_one(&fixture.service.north.pool).await.unwrap()
}

/// Who encoded the lines of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EncodedBy {
    ThisVersion,
    AnOlderVersion,
}

/// Counts jobs and submissions, and lists the statuses of the cargo, after a takeover.
async fn report_takeover(
    provider: SimulatedProvider,
    fault: FaultName,
    is_sent_then: bool,
    encoded_by: EncodedBy,
) -> String {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    fixture
        .simulator
        .set_faults(provider, PRIMARY_ACCOUNT, vec![SimulatedFault::once(fault)]);
    let mut cargo = Vec::new();
    for text in DEFAULT_TEXTS {
        cargo.push(fixture.load(provider, text, receiver.url()).await);
    }
    die_while_submitting(&mut fixture).await;
    assert_eq!(is_sent(&fixture).await, is_sent_then);
    if encoded_by == EncodedBy::AnOlderVersion {
        let older = "update shard.batch set encoder = encoder - 1 where digest is not null";
        let older = sqlx::raw_sql(older).execute(&fixture.service.north.pool);
        assert_eq!(older.await.unwrap().rows_affected(), 1);
    }
    let successor = fixture.service.join_another_worker_set().await;
    let mut dead = std::mem::replace(&mut fixture.service.worker_sets[0], successor);
    fixture.wait_for_callbacks(&cargo, SHORT_STEP, 20).await;
    let now = fixture.service.now();
    // The dead worker set resumes, and finds no batch that it holds.
    dead.dispatch.step(now).await.unwrap();
    let jobs = fixture.simulator.jobs(provider, PRIMARY_ACCOUNT).len();
    let submissions = fixture
        .simulator
        .submissions(provider, PRIMARY_ACCOUNT)
        .len();
    let mut statuses = Vec::new();
    for cargo in &cargo {
        let record = fixture.service.track(&fixture.customer, cargo).await;
        let status = record["status"].as_str().unwrap();
        statuses.push(format!("{status}{}", record["attempt"]));
    }
    statuses.dedup();
    fixture.assert_booked_as_billed().await;
    format!(
        "{jobs} jobs, {submissions} submissions: {}",
        statuses.join(" ")
    )
}

#[tokio::test]
async fn a_batch_that_was_not_sent_is_sent_after_the_takeover() {
    for provider in BATCH_PROVIDERS {
        let report = report_takeover(
            provider,
            FaultName::Create429,
            false,
            EncodedBy::ThisVersion,
        )
        .await;
        assert_eq!(
            report, "1 jobs, 2 submissions: callback_delivered1",
            "{provider}"
        );
    }
}

#[tokio::test]
async fn a_batch_that_was_sent_is_found_after_the_takeover() {
    for provider in BATCH_PROVIDERS {
        let report = report_takeover(
            provider,
            FaultName::CreateDropAfter,
            true,
            EncodedBy::ThisVersion,
        )
        .await;
        assert_eq!(
            report, "1 jobs, 1 submissions: callback_delivered1",
            "{provider}"
        );
    }
}

#[tokio::test]
async fn a_submission_that_never_arrived_is_sent_again_after_the_takeover() {
    for provider in BATCH_PROVIDERS {
        let report = report_takeover(
            provider,
            FaultName::CreateDropBefore,
            true,
            EncodedBy::ThisVersion,
        )
        .await;
        assert_eq!(
            report, "1 jobs, 2 submissions: callback_delivered1",
            "{provider}"
        );
    }
}

/// The digest is right, so only the version tells that the bytes may differ.
#[tokio::test]
async fn a_job_of_an_older_encoder_is_not_built_again_under_the_same_attempt() {
    for provider in BATCH_PROVIDERS {
        let older = EncodedBy::AnOlderVersion;
        // The provider may have seen the other bytes: the cargo is sent under another number.
        let report = report_takeover(provider, FaultName::CreateDropBefore, true, older).await;
        assert_eq!(
            report, "1 jobs, 2 submissions: callback_delivered2",
            "{provider}"
        );
        // Nothing was sent, so the batch is packed for the first time once more.
        let report = report_takeover(provider, FaultName::Create429, false, older).await;
        assert_eq!(
            report, "1 jobs, 2 submissions: callback_delivered1",
            "{provider}"
        );
        // The provider has the job, so its bytes are not needed.
        let report = report_takeover(provider, FaultName::CreateDropAfter, true, older).await;
        assert_eq!(
            report, "1 jobs, 1 submissions: callback_delivered1",
            "{provider}"
        );
    }
}
