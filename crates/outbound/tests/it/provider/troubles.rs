//! Providers that fail while a job is made, runs, or is fetched.

use std::time::Duration;

use outbound::provider::call::CallFailure;
use outbound::provider::jobs::{Ending, JobFault, Sight};
use simulator::{Fault, FaultName, Provider};

use super::simulated::{EVERY, Stage};
use super::spool;

#[tokio::test]
async fn a_job_whose_creation_was_not_told_is_found() {
    for provider in EVERY {
        for fault in [
            FaultName::Create500After,
            FaultName::CreateDropAfter,
            FaultName::CreateDropBody,
        ] {
            let stage = Stage::once(provider, fault).await;
            let created = stage.submit(&["a", "b"]).await;
            assert!(
                matches!(created, Err(CallFailure::Unknown(_))),
                "{provider} {fault:?}"
            );
            assert_eq!(stage.created(), 1);
            let found = stage.jobs.find(&stage.sought(2)).await.unwrap();
            assert_eq!(found.len(), 1, "{provider} {fault:?}");
            assert_eq!(found[0].exact, stage.jobs.labelled());
            assert!((stage.now() - found[0].created_at).num_seconds() <= 1);
            let seen = stage.end_of(&found[0].job).await;
            assert!(matches!(seen, Sight::Ended { .. }), "{provider} {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_job_that_was_not_created_is_not_found() {
    for provider in EVERY {
        for fault in [FaultName::Create500Before, FaultName::CreateDropBefore] {
            let stage = Stage::once(provider, fault).await;
            let created = stage.submit(&["a"]).await;
            assert!(
                matches!(created, Err(CallFailure::Unknown(_))),
                "{provider} {fault:?}"
            );
            assert_eq!(stage.created(), 0);
            assert_eq!(stage.jobs.find(&stage.sought(1)).await, Ok(Vec::new()));
        }
    }
}

#[tokio::test]
async fn a_job_may_show_only_later_and_others_are_not_mistaken_for_it() {
    for provider in EVERY {
        let stage = Stage::of(provider).await;
        // Of another size; older than what is sought.
        stage.submit(&["a", "b", "c"]).await.unwrap();
        stage.simulator.advance(Duration::from_hours(1));
        stage.set(vec![
            Fault::once(FaultName::CreateDropAfter),
            Fault::once(FaultName::ListLag).seconds(10),
        ]);
        stage.submit(&["a", "b"]).await.unwrap_err();
        assert_eq!(
            stage.jobs.find(&stage.sought(2)).await,
            Ok(Vec::new()),
            "{provider}"
        );
        stage.simulator.advance(Duration::from_secs(10));
        let found = stage.jobs.find(&stage.sought(2)).await.unwrap();
        assert_eq!(found.len(), 1, "{provider}");
    }
}

#[tokio::test]
async fn a_no_at_the_door_is_told_apart() {
    for provider in EVERY {
        let stage = Stage::once(provider, FaultName::Create429).await;
        let wait = Some(Duration::from_secs(1));
        let busy = CallFailure::Busy { retry_after: wait };
        assert_eq!(stage.submit(&["a"]).await, Err(busy), "{provider}");
        let stage = Stage::once(provider, FaultName::Create413Html).await;
        assert_eq!(
            stage.submit(&["a"]).await,
            Err(CallFailure::TooLarge),
            "{provider}"
        );
        let stage = Stage::with(provider, &[FaultName::Unauthorized]).await;
        assert_eq!(
            stage.submit(&["a"]).await,
            Err(CallFailure::Unauthorized),
            "{provider}"
        );
        assert_eq!(stage.created(), 0);
    }
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let stage = Stage::with(provider, &[FaultName::OutOfFunds]).await;
        assert_eq!(
            stage.submit(&["a"]).await,
            Err(CallFailure::OutOfFunds),
            "{provider}"
        );
    }
}

#[tokio::test]
async fn openai_refuses_a_whole_job_after_it_was_taken() {
    for (fault, reason) in [
        (Fault::once(FaultName::TokenLimit), JobFault::TokenLimit),
        (
            Fault::once(FaultName::ValidationFailed),
            JobFault::Lines(vec![(1, "This line is not valid.".to_owned())]),
        ),
    ] {
        let stage = Stage::of(Provider::OpenAi).await;
        stage.set(vec![fault]);
        let job = stage.submit(&["a", "b"]).await.unwrap();
        assert_eq!(stage.end_of(&job).await, Sight::Failed { reason });
    }
}

#[tokio::test]
async fn what_was_not_run_before_a_job_expired_goes_again() {
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let stage = Stage::with(provider, &[FaultName::ExpirePartial]).await;
        let job = stage.submit(&["a", "b", "c", "d"]).await.unwrap();
        let seen = stage.end_of(&job).await;
        let Sight::Ended {
            results,
            why: Ending::Expired,
        } = seen
        else {
            panic!("{provider} {seen:?}")
        };
        let found = stage.results(&job, &results).await;
        assert_eq!(found.len(), 4);
        let again = found.iter().filter(|(_, told)| told.contains("expired"));
        assert_eq!(again.count(), 2, "{found:?}");
    }
    let stage = Stage::with(Provider::Gemini, &[FaultName::Stuck]).await;
    let job = stage.submit(&["a"]).await.unwrap();
    let nothing = Sight::Ended {
        results: Vec::new(),
        why: Ending::Expired,
    };
    assert_eq!(stage.end_of(&job).await, nothing);
}

#[tokio::test]
async fn a_job_that_is_cancelled_ends_and_may_be_cancelled_again() {
    for provider in EVERY {
        let stage = Stage::of(provider).await;
        let job = stage.submit(&["a", "b", "c", "d"]).await.unwrap();
        stage.simulator.advance(Duration::from_millis(200));
        stage.jobs.cancel(&job).await.unwrap();
        let seen = stage.end_of(&job).await;
        let Sight::Ended {
            results,
            why: Ending::Cancelled,
        } = seen
        else {
            panic!("{provider} {seen:?}")
        };
        for (_, told) in stage.results(&job, &results).await {
            assert!(
                told.contains("sim:") || told.starts_with("again: "),
                "{told}"
            );
        }
        stage.jobs.cancel(&job).await.unwrap();
    }
}

#[tokio::test]
async fn a_job_may_end_with_failures_alone_and_an_empty_name() {
    for provider in EVERY {
        let stage = Stage::with(provider, &[FaultName::AllFail, FaultName::EmptyErrorFileId]).await;
        let found = stage.run(&["a", "b"]).await;
        assert_eq!(found.len(), 2, "{provider}");
    }
    let stage = Stage::with(Provider::OpenAi, &[FaultName::EmptyErrorFileId]).await;
    assert_eq!(stage.run(&["a"]).await.len(), 1);
}

#[tokio::test]
async fn results_that_were_cut_off_are_fetched_again() {
    for provider in EVERY {
        for fault in [FaultName::TruncateDownload, FaultName::Download500] {
            let stage = Stage::once(provider, fault).await;
            let job = stage.submit(&["a", "b", "c"]).await.unwrap();
            let seen = stage.end_of(&job).await;
            let Sight::Ended { results, .. } = seen else {
                panic!("{provider} {seen:?}")
            };
            let mut cut = spool().await;
            let fetched = stage.jobs.results(&job, &results[0], &mut cut).await;
            assert!(
                matches!(fetched, Err(CallFailure::Unavailable { .. })),
                "{provider} {fault:?} {fetched:?}"
            );
            assert_eq!(cut.length(), 0);
            assert_eq!(stage.results(&job, &results).await.len(), 3);
        }
    }
}

#[tokio::test]
async fn a_question_may_fail_and_a_job_may_vanish() {
    for provider in EVERY {
        let stage = Stage::of(provider).await;
        let job = stage.submit(&["a"]).await.unwrap();
        stage.set(vec![Fault::once(FaultName::Poll500)]);
        let seen = stage.jobs.look(&job).await;
        assert!(
            matches!(seen, Err(CallFailure::Unavailable { .. })),
            "{provider}"
        );
        stage.set(vec![Fault::once(FaultName::Poll429)]);
        let seen = stage.jobs.look(&job).await;
        assert!(matches!(seen, Err(CallFailure::Busy { .. })), "{provider}");
        stage.set(vec![Fault::once(FaultName::List500)]);
        assert!(
            stage.jobs.find(&stage.sought(1)).await.is_err(),
            "{provider}"
        );
        stage.set(vec![Fault::of(FaultName::Vanish)]);
        assert_eq!(stage.jobs.look(&job).await, Ok(Sight::Gone), "{provider}");
    }
}
