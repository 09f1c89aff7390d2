//! What a job leaves at its provider is deleted after its results were read.

use outbound::provider::batch_provider::{JobStatus, ProviderFileId, ResultLocation};
use outbound::provider::client::ProviderCallFailure;

use super::simulated::{BATCH_SERVICES, SimulatedBatchProvider};
use super::{job_request, label, spool, spool_items};

#[tokio::test]
async fn results_are_gone_after_the_files_and_the_job_were_deleted() {
    for service in BATCH_SERVICES {
        let stage = SimulatedBatchProvider::start(service).await;
        let jobs = &stage.jobs;
        let lines = spool_items(&**jobs, &["a", "b"]).await;
        let mut order = job_request(2);
        order.upload = jobs.upload(&label(), &lines).await.unwrap();
        let job = jobs.create_job(&order, &lines).await.unwrap();
        let seen = stage.final_status(&job).await;
        let JobStatus::Ended { results, .. } = seen else {
            panic!("{service} {seen:?}")
        };
        assert_eq!(stage.results(&job, &results).await.len(), 2);
        let files = results.iter().filter_map(|location| match location {
            ResultLocation::File(name) => Some(ProviderFileId(name.clone())),
            ResultLocation::Job => None,
        });
        let files: Vec<ProviderFileId> = files.chain(order.upload).collect();
        // What is gone counts as deleted.
        for _ in 0..2 {
            for file in &files {
                jobs.delete_file(file).await.unwrap();
            }
            jobs.delete_job(&job).await.unwrap();
        }
        for location in &results {
            let read = jobs
                .download_results(&job, location, &mut spool().await)
                .await;
            assert_eq!(read, Err(ProviderCallFailure::NotFound), "{service}");
        }
    }
}
