//! Faults of providers while a job is created, runs, or is downloaded.

use std::time::Duration;

use outbound::provider::batch_provider::{JobEndReason, JobFailureReason, JobStatus};
use outbound::provider::client::ProviderCallFailure;
use simulator::{FaultName, SimulatedFault, SimulatedProvider};

use super::simulated::{BATCH_PROVIDERS, SimulatedBatchProvider};
use super::spool;

#[tokio::test]
async fn a_job_whose_creation_was_not_confirmed_is_found() {
    for provider in BATCH_PROVIDERS {
        for fault in [
            FaultName::Create500After,
            FaultName::CreateDropAfter,
            FaultName::CreateDropBody,
        ] {
            let stage = SimulatedBatchProvider::with_fault_once(provider, fault).await;
            let created = stage.submit(&["a", "b"]).await;
            assert!(
                matches!(created, Err(ProviderCallFailure::Indeterminate(_))),
                "{provider} {fault:?}"
            );
            assert_eq!(stage.created_jobs(), 1);
            let found = stage.jobs.find_jobs(&stage.job_search(2)).await.unwrap();
            assert_eq!(found.len(), 1, "{provider} {fault:?}");
            assert_eq!(found[0].is_exact, stage.jobs.supports_labels());
            assert!((stage.now() - found[0].created_at).num_seconds() <= 1);
            let seen = stage.final_status(&found[0].job).await;
            assert!(
                matches!(seen, JobStatus::Ended { .. }),
                "{provider} {fault:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_job_that_was_not_created_is_not_found() {
    for provider in BATCH_PROVIDERS {
        for fault in [FaultName::Create500Before, FaultName::CreateDropBefore] {
            let stage = SimulatedBatchProvider::with_fault_once(provider, fault).await;
            let created = stage.submit(&["a"]).await;
            assert!(
                matches!(created, Err(ProviderCallFailure::Indeterminate(_))),
                "{provider} {fault:?}"
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
    for provider in BATCH_PROVIDERS {
        let stage = SimulatedBatchProvider::start(provider).await;
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
            "{provider}"
        );
        stage.simulator.advance(Duration::from_secs(10));
        let found = stage.jobs.find_jobs(&stage.job_search(2)).await.unwrap();
        assert_eq!(found.len(), 1, "{provider}");
    }
}

#[tokio::test]
async fn refusals_of_a_new_job_are_told_apart() {
    for provider in BATCH_PROVIDERS {
        let stage = SimulatedBatchProvider::with_fault_once(provider, FaultName::Create429).await;
        let wait = Some(Duration::from_secs(1));
        let busy = ProviderCallFailure::RateLimited { retry_after: wait };
        assert_eq!(stage.submit(&["a"]).await, Err(busy), "{provider}");
        let stage =
            SimulatedBatchProvider::with_fault_once(provider, FaultName::Create413Html).await;
        assert_eq!(
            stage.submit(&["a"]).await,
            Err(ProviderCallFailure::TooLarge),
            "{provider}"
        );
        let stage = SimulatedBatchProvider::with_faults(provider, &[FaultName::Unauthorized]).await;
        assert_eq!(
            stage.submit(&["a"]).await,
            Err(ProviderCallFailure::Unauthorized),
            "{provider}"
        );
        assert_eq!(stage.created_jobs(), 0);
    }
    for provider in [SimulatedProvider::OpenAi, SimulatedProvider::Anthropic] {
        let stage = SimulatedBatchProvider::with_faults(provider, &[FaultName::OutOfFunds]).await;
        assert_eq!(
            stage.submit(&["a"]).await,
            Err(ProviderCallFailure::OutOfCredit),
            "{provider}"
        );
    }
}

#[tokio::test]
async fn openai_refuses_a_whole_job_after_it_was_taken() {
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
        let stage = SimulatedBatchProvider::start(SimulatedProvider::OpenAi).await;
        stage.set_faults(vec![fault]);
        let job = stage.submit(&["a", "b"]).await.unwrap();
        assert_eq!(stage.final_status(&job).await, JobStatus::Failed { reason });
    }
}

#[tokio::test]
async fn items_not_run_before_a_job_expired_are_retried() {
    for provider in [SimulatedProvider::OpenAi, SimulatedProvider::Anthropic] {
        let stage =
            SimulatedBatchProvider::with_faults(provider, &[FaultName::ExpirePartial]).await;
        let job = stage.submit(&["a", "b", "c", "d"]).await.unwrap();
        let seen = stage.final_status(&job).await;
        let JobStatus::Ended {
            results,
            end_reason: JobEndReason::Expired,
        } = seen
        else {
            panic!("{provider} {seen:?}")
        };
        let found = stage.results(&job, &results).await;
        assert_eq!(found.len(), 4);
        let retried = found
            .iter()
            .filter(|(_, described)| described.contains("expired"));
        assert_eq!(retried.count(), 2, "{found:?}");
    }
    let stage =
        SimulatedBatchProvider::with_faults(SimulatedProvider::Gemini, &[FaultName::Stuck]).await;
    let job = stage.submit(&["a"]).await.unwrap();
    let nothing = JobStatus::Ended {
        results: Vec::new(),
        end_reason: JobEndReason::Expired,
    };
    assert_eq!(stage.final_status(&job).await, nothing);
}

#[tokio::test]
async fn a_job_that_is_cancelled_ends_and_may_be_cancelled_again() {
    for provider in BATCH_PROVIDERS {
        let stage = SimulatedBatchProvider::start(provider).await;
        let job = stage.submit(&["a", "b", "c", "d"]).await.unwrap();
        stage.simulator.advance(Duration::from_millis(200));
        stage.jobs.cancel(&job).await.unwrap();
        let seen = stage.final_status(&job).await;
        let JobStatus::Ended {
            results,
            end_reason: JobEndReason::Cancelled,
        } = seen
        else {
            panic!("{provider} {seen:?}")
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
    for provider in BATCH_PROVIDERS {
        let stage = SimulatedBatchProvider::with_faults(
            provider,
            &[FaultName::AllFail, FaultName::EmptyErrorFileId],
        )
        .await;
        let found = stage.run(&["a", "b"]).await;
        assert_eq!(found.len(), 2, "{provider}");
    }
    let stage = SimulatedBatchProvider::with_faults(
        SimulatedProvider::OpenAi,
        &[FaultName::EmptyErrorFileId],
    )
    .await;
    assert_eq!(stage.run(&["a"]).await.len(), 1);
}

#[tokio::test]
async fn results_that_were_cut_off_are_fetched_again() {
    for provider in BATCH_PROVIDERS {
        for fault in [FaultName::TruncateDownload, FaultName::Download500] {
            let stage = SimulatedBatchProvider::with_fault_once(provider, fault).await;
            let job = stage.submit(&["a", "b", "c"]).await.unwrap();
            let seen = stage.final_status(&job).await;
            let JobStatus::Ended { results, .. } = seen else {
                panic!("{provider} {seen:?}")
            };
            let mut cut = spool().await;
            let fetched = stage
                .jobs
                .download_results(&job, &results[0], &mut cut)
                .await;
            assert!(
                matches!(fetched, Err(ProviderCallFailure::Unavailable { .. })),
                "{provider} {fault:?} {fetched:?}"
            );
            assert_eq!(cut.length(), 0);
            assert_eq!(stage.results(&job, &results).await.len(), 3);
        }
    }
}

#[tokio::test]
async fn a_question_may_fail_and_a_job_may_vanish() {
    for provider in BATCH_PROVIDERS {
        let stage = SimulatedBatchProvider::start(provider).await;
        let job = stage.submit(&["a"]).await.unwrap();
        stage.set_faults(vec![SimulatedFault::once(FaultName::Poll500)]);
        let seen = stage.jobs.fetch_status(&job).await;
        assert!(
            matches!(seen, Err(ProviderCallFailure::Unavailable { .. })),
            "{provider}"
        );
        stage.set_faults(vec![SimulatedFault::once(FaultName::Poll429)]);
        let seen = stage.jobs.fetch_status(&job).await;
        assert!(
            matches!(seen, Err(ProviderCallFailure::RateLimited { .. })),
            "{provider}"
        );
        stage.set_faults(vec![SimulatedFault::once(FaultName::List500)]);
        assert!(
            stage.jobs.find_jobs(&stage.job_search(1)).await.is_err(),
            "{provider}"
        );
        stage.set_faults(vec![SimulatedFault::new(FaultName::Vanish)]);
        assert_eq!(
            stage.jobs.fetch_status(&job).await,
            Ok(JobStatus::Gone),
            "{provider}"
        );
    }
}
