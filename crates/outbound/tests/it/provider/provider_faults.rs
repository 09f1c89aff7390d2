//! Faults of providers while a job is created, runs, or is downloaded.

use std::time::Duration;

use outbound::provider::batch_provider::{JobEndReason, JobFailureReason, JobStatus};
use outbound::provider::client::ProviderCallFailure;
use simulator::{FaultName, SimulatedFault};

use super::simulated::{BATCH_SERVICES, BatchService, OPENAI_SERVICES, SimulatedBatchProvider};
use super::spool;

#[tokio::test]
async fn a_job_whose_creation_was_not_confirmed_is_found() {
    for service in BATCH_SERVICES {
        for fault in [
            FaultName::Create500After,
            FaultName::CreateDropAfter,
            FaultName::CreateDropBody,
        ] {
            let stage = SimulatedBatchProvider::with_fault_once(service, fault).await;
            let created = stage.submit(&["a", "b"]).await;
            assert!(
                matches!(created, Err(ProviderCallFailure::Indeterminate(_))),
                "{service} {fault:?}"
            );
            assert_eq!(stage.created_jobs(), 1);
            let found = stage.jobs.find_jobs(&stage.job_search(2)).await.unwrap();
            assert_eq!(found.len(), 1, "{service} {fault:?}");
            assert_eq!(found[0].is_exact, stage.jobs.supports_labels());
            assert!((stage.now() - found[0].created_at).num_seconds() <= 1);
            let seen = stage.final_status(&found[0].job).await;
            assert!(
                matches!(seen, JobStatus::Ended { .. }),
                "{service} {fault:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_job_that_was_not_created_is_not_found() {
    for service in BATCH_SERVICES {
        for fault in [FaultName::Create500Before, FaultName::CreateDropBefore] {
            let stage = SimulatedBatchProvider::with_fault_once(service, fault).await;
            let created = stage.submit(&["a"]).await;
            assert!(
                matches!(created, Err(ProviderCallFailure::Indeterminate(_))),
                "{service} {fault:?}"
            );
            assert_eq!(stage.created_jobs(), 0);
            assert_eq!(
                stage.jobs.find_jobs(&stage.job_search(1)).await,
                Ok(Vec::new())
            );
        }
    }
}

#[tokio::test]
async fn a_job_may_show_only_later_and_others_are_not_mistaken_for_it() {
    for service in BATCH_SERVICES {
        let stage = SimulatedBatchProvider::start(service).await;
        // A job of another size, older than the search allows.
        stage.submit(&["a", "b", "c"]).await.unwrap();
        stage.simulator.advance(Duration::from_hours(1));
        stage.set_faults(vec![
            SimulatedFault::once(FaultName::CreateDropAfter),
            SimulatedFault::once(FaultName::ListLag).seconds(10),
        ]);
        stage.submit(&["a", "b"]).await.unwrap_err();
        assert_eq!(
            stage.jobs.find_jobs(&stage.job_search(2)).await,
            Ok(Vec::new()),
            "{service}"
        );
        stage.simulator.advance(Duration::from_secs(10));
        let found = stage.jobs.find_jobs(&stage.job_search(2)).await.unwrap();
        assert_eq!(found.len(), 1, "{service}");
    }
}

#[tokio::test]
async fn refusals_of_a_new_job_are_told_apart() {
    for service in BATCH_SERVICES {
        let stage = SimulatedBatchProvider::with_fault_once(service, FaultName::Create429).await;
        let wait = Some(Duration::from_secs(1));
        let busy = ProviderCallFailure::RateLimited { retry_after: wait };
        assert_eq!(stage.submit(&["a"]).await, Err(busy), "{service}");
        let stage =
            SimulatedBatchProvider::with_fault_once(service, FaultName::Create413Html).await;
        assert_eq!(
            stage.submit(&["a"]).await,
            Err(ProviderCallFailure::TooLarge),
            "{service}"
        );
        let stage = SimulatedBatchProvider::with_faults(service, &[FaultName::Unauthorized]).await;
        assert_eq!(
            stage.submit(&["a"]).await,
            Err(ProviderCallFailure::Unauthorized),
            "{service}"
        );
        assert_eq!(stage.created_jobs(), 0);
    }
    for service in [
        BatchService::OpenAi,
        BatchService::Azure,
        BatchService::Groq,
        BatchService::Anthropic,
    ] {
        let stage = SimulatedBatchProvider::with_faults(service, &[FaultName::OutOfFunds]).await;
        assert_eq!(
            stage.submit(&["a"]).await,
            Err(ProviderCallFailure::OutOfCredit),
            "{service}"
        );
    }
}

#[tokio::test]
async fn openai_refuses_a_whole_job_after_it_was_taken() {
    for (service, _) in OPENAI_SERVICES {
        for (fault, reason) in [
            (
                SimulatedFault::once(FaultName::TokenLimit),
                JobFailureReason::TokenLimit,
            ),
            (
                SimulatedFault::once(FaultName::ValidationFailed),
                JobFailureReason::InvalidLines(vec![(1, "This line is not valid.".to_owned())]),
            ),
        ] {
            let stage = SimulatedBatchProvider::start(service).await;
            stage.set_faults(vec![fault]);
            let job = stage.submit(&["a", "b"]).await.unwrap();
            let seen = stage.final_status(&job).await;
            assert_eq!(seen, JobStatus::Failed { reason }, "{service}");
        }
    }
}

#[tokio::test]
async fn items_not_run_before_a_job_expired_are_retried() {
    for service in [
        BatchService::OpenAi,
        BatchService::Groq,
        BatchService::Anthropic,
    ] {
        let stage = SimulatedBatchProvider::with_faults(service, &[FaultName::ExpirePartial]).await;
        let job = stage.submit(&["a", "b", "c", "d"]).await.unwrap();
        let seen = stage.final_status(&job).await;
        let JobStatus::Ended {
            results,
            end_reason: JobEndReason::Expired,
        } = seen
        else {
            panic!("{service} {seen:?}")
        };
        let found = stage.results(&job, &results).await;
        assert_eq!(found.len(), 4);
        let retried = found
            .iter()
            .filter(|(_, described)| described.contains("expired"));
        assert_eq!(retried.count(), 2, "{found:?}");
    }
    let stage =
        SimulatedBatchProvider::with_faults(BatchService::Gemini, &[FaultName::Stuck]).await;
    let job = stage.submit(&["a"]).await.unwrap();
    let nothing = JobStatus::Ended {
        results: Vec::new(),
        end_reason: JobEndReason::Expired,
    };
    assert_eq!(stage.final_status(&job).await, nothing);
}

#[tokio::test]
async fn a_job_that_is_cancelled_ends_and_may_be_cancelled_again() {
    for service in BATCH_SERVICES {
        let stage = SimulatedBatchProvider::start(service).await;
        let job = stage.submit(&["a", "b", "c", "d"]).await.unwrap();
        stage.simulator.advance(Duration::from_millis(200));
        stage.jobs.cancel(&job).await.unwrap();
        let seen = stage.final_status(&job).await;
        let JobStatus::Ended {
            results,
            end_reason: JobEndReason::Cancelled,
        } = seen
        else {
            panic!("{service} {seen:?}")
        };
        for (_, described) in stage.results(&job, &results).await {
            assert!(
                described.contains("sim:") || described.starts_with("retry: "),
                "{described}"
            );
        }
        stage.jobs.cancel(&job).await.unwrap();
    }
}

#[tokio::test]
async fn a_job_may_end_with_failures_alone_and_an_empty_name() {
    for service in BATCH_SERVICES {
        let stage = SimulatedBatchProvider::with_faults(
            service,
            &[FaultName::AllFail, FaultName::EmptyErrorFileId],
        )
        .await;
        let found = stage.run(&["a", "b"]).await;
        assert_eq!(found.len(), 2, "{service}");
    }
    for (service, _) in OPENAI_SERVICES {
        let faults = [FaultName::EmptyErrorFileId];
        let stage = SimulatedBatchProvider::with_faults(service, &faults).await;
        assert_eq!(stage.run(&["a"]).await.len(), 1, "{service}");
    }
}

#[tokio::test]
async fn results_that_were_cut_off_are_fetched_again() {
    for service in BATCH_SERVICES {
        for fault in [FaultName::TruncateDownload, FaultName::Download500] {
            let stage = SimulatedBatchProvider::with_fault_once(service, fault).await;
            let job = stage.submit(&["a", "b", "c"]).await.unwrap();
            let seen = stage.final_status(&job).await;
            let JobStatus::Ended { results, .. } = seen else {
                panic!("{service} {seen:?}")
            };
            let mut cut = spool().await;
            let fetched = stage
                .jobs
                .download_results(&job, &results[0], &mut cut)
                .await;
            assert!(
                matches!(fetched, Err(ProviderCallFailure::Unavailable { .. })),
                "{service} {fault:?} {fetched:?}"
            );
            assert_eq!(cut.length(), 0);
            assert_eq!(stage.results(&job, &results).await.len(), 3);
        }
    }
}

#[tokio::test]
async fn a_question_may_fail_and_a_job_may_vanish() {
    for service in BATCH_SERVICES {
        let stage = SimulatedBatchProvider::start(service).await;
        let job = stage.submit(&["a"]).await.unwrap();
        stage.set_faults(vec![SimulatedFault::once(FaultName::Poll500)]);
        let seen = stage.jobs.fetch_status(&job).await;
        assert!(
            matches!(seen, Err(ProviderCallFailure::Unavailable { .. })),
            "{service}"
        );
        stage.set_faults(vec![SimulatedFault::once(FaultName::Poll429)]);
        let seen = stage.jobs.fetch_status(&job).await;
        assert!(
            matches!(seen, Err(ProviderCallFailure::RateLimited { .. })),
            "{service}"
        );
        stage.set_faults(vec![SimulatedFault::once(FaultName::List500)]);
        assert!(
            stage.jobs.find_jobs(&stage.job_search(1)).await.is_err(),
            "{service}"
        );
        stage.set_faults(vec![SimulatedFault::new(FaultName::Vanish)]);
        assert_eq!(
            stage.jobs.fetch_status(&job).await,
            Ok(JobStatus::Gone),
            "{service}"
        );
    }
}
