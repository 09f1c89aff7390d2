//! After a failover, workers search providers for jobs that the rows do not know.

use std::time::Duration;

use domain::recovery::JobFate;
use simulator::{FaultName, SimulatedFault, SimulatedProvider};
use workers::recovery::unknown_jobs::{self, JobSearchScope};
use workers::stage::Stage as _;

use crate::support::simulated_providers::{PRIMARY_ACCOUNT, ProviderFixture};

const CALLBACK_URL: &str = "https://example.com/hook";
const ACCOUNT_TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::test]
async fn an_account_that_never_answers_hides_no_job_of_another() {
    let mut fixture = ProviderFixture::start().await;
    fixture
        .load(SimulatedProvider::OpenAi, "sent", CALLBACK_URL)
        .await;
    let now = fixture.service.now();
    let north = fixture.service.north.clone();
    let workers = &mut fixture.service.worker_sets[0];
    workers.gather.step(now).await.unwrap();
    workers.dispatch.step(now).await.unwrap();
    // The rows as they were before the submission.
    let lost = "update shard.batch set state = 'gathered', job = null, sent_at = null
                where state = 'running'";
    let lost = sqlx::raw_sql(lost).execute(&north.pool).await.unwrap();
    assert_eq!(lost.rows_affected(), 1);

    // The accounts are searched in the order of their names.
    let hangs = vec![SimulatedFault::new(FaultName::Stall)];
    fixture
        .simulator
        .set_faults(SimulatedProvider::Anthropic, PRIMARY_ACCOUNT, hangs);
    let scope = JobSearchScope::since(now).with_account_timeout(ACCOUNT_TIMEOUT);
    let providers = fixture.service.providers();
    let found = unknown_jobs::find(&north, providers, &scope).await.unwrap();
    let failed: Vec<&str> = found.failures.iter().map(|(name, _)| &**name).collect();
    assert_eq!(failed, [SimulatedProvider::Anthropic.name()]);
    let fates: Vec<JobFate> = found.jobs.iter().map(|job| job.fate).collect();
    assert_eq!(fates, [JobFate::Adopt]);
    assert_eq!(unknown_jobs::adopt(&north, &found).await.unwrap(), 1);
}
