//! Jobs and their files are deleted at the provider after their results were stored.

use std::time::Duration;

use simulator::{FaultName, SimulatedFault, SimulatedProvider};
use test_support::callback_receiver::CallbackReceiver;
use workers::stage::{Stage as _, StepResult};

use super::scenario::{BATCH_PROVIDERS, SHORT_STEP};
use crate::support::simulated_providers::{PRIMARY_ACCOUNT, ProviderFixture};

/// When a deletion that failed is tried again.
const RETRY_DELAY: Duration = Duration::from_mins(15);

/// Loads one cargo and runs its job to the end.
async fn run_job(fixture: &mut ProviderFixture, provider: SimulatedProvider) {
    let receiver = CallbackReceiver::new().await;
    let cargo = fixture.load(provider, "one crate", receiver.url()).await;
    let cargo = std::slice::from_ref(&cargo);
    fixture.wait_for_callbacks(cargo, SHORT_STEP, 60).await;
}

async fn sweep_jobs(fixture: &mut ProviderFixture) {
    let now = fixture.service.now();
    let stage = &mut fixture.service.worker_sets[0].sweep_jobs;
    while stage.step(now).await.unwrap() != StepResult::Idle {}
}

/// How many jobs wait for their deletion.
async fn count_queued(fixture: &ProviderFixture) -> i64 {
    let queued = "select count(*) from shard.provider_file";
    let queued = sqlx::query_scalar(queued).fetch_one(&fixture.service.north.pool);
    queued.await.unwrap()
}

#[tokio::test]
async fn m6_a_job_is_deleted_after_its_results_were_stored() {
    for provider in BATCH_PROVIDERS {
        let mut fixture = ProviderFixture::start().await;
        run_job(&mut fixture, provider).await;
        assert_eq!(count_queued(&fixture).await, 1, "{provider}");
        sweep_jobs(&mut fixture).await;
        assert_eq!(count_queued(&fixture).await, 0, "{provider}");
        let jobs = fixture.simulator.jobs(provider, PRIMARY_ACCOUNT);
        // OpenAI keeps the job itself, without its files.
        let is_deleted = provider != SimulatedProvider::OpenAi;
        let deleted: Vec<bool> = jobs.iter().map(|job| job.is_deleted).collect();
        assert_eq!(deleted, [is_deleted], "{provider}");
        fixture.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn a_deletion_that_fails_is_tried_again() {
    for provider in BATCH_PROVIDERS {
        let mut fixture = ProviderFixture::start().await;
        run_job(&mut fixture, provider).await;
        let faults = vec![SimulatedFault::once(FaultName::Poll500)];
        fixture
            .simulator
            .set_faults(provider, PRIMARY_ACCOUNT, faults);
        sweep_jobs(&mut fixture).await;
        assert_eq!(count_queued(&fixture).await, 1, "{provider}");
        fixture.advance(RETRY_DELAY).await;
        sweep_jobs(&mut fixture).await;
        assert_eq!(count_queued(&fixture).await, 0, "{provider}");
        fixture.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn an_account_that_fails_is_not_called_again_in_the_same_step() {
    let mut fixture = ProviderFixture::start().await;
    let provider = SimulatedProvider::Anthropic;
    run_job(&mut fixture, provider).await;
    let more = "insert into shard.provider_file (provider, job, upload, due_at)
                select provider, job, upload, due_at
                from shard.provider_file, generate_series(1, 9)";
    let added = sqlx::raw_sql(more).execute(&fixture.service.north.pool);
    assert_eq!(added.await.unwrap().rows_affected(), 9);
    // As many as are called at the same time.
    let faults = vec![SimulatedFault::new(FaultName::Poll500).times(4)];
    fixture
        .simulator
        .set_faults(provider, PRIMARY_ACCOUNT, faults);
    sweep_jobs(&mut fixture).await;
    assert_eq!(count_queued(&fixture).await, 10);
    fixture.simulator.clear_faults(provider, PRIMARY_ACCOUNT);
    fixture.advance(RETRY_DELAY).await;
    sweep_jobs(&mut fixture).await;
    assert_eq!(count_queued(&fixture).await, 0);
    fixture.assert_booked_as_billed().await;
}
