//! How jobs and their items end.

use simulator::{FaultName, SimulatedFault, SimulatedPace, SimulatedProvider};

use super::scenario::{ProviderScenario, ScenarioIntervention, slow_pace};
use crate::support::provider_bills::BillException;

/// Items that are not done within an hour expire.
fn one_hour_window() -> SimulatedPace {
    SimulatedPace {
        window_ms: Some(3_600_000),
        ..SimulatedPace::default()
    }
}

#[tokio::test]
async fn all_succeed() {
    let scenario = ProviderScenario::with_faults([]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn all_fail() {
    let scenario = ProviderScenario::with_texts(&["[[fail 400]] one", "[[fail 400]] two"]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: simulated failure 400 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: simulated failure 400 | charged 0
    2 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn all_fail_by_the_job() {
    let scenario = ProviderScenario::with_faults([SimulatedFault::new(FaultName::AllFail)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: simulated failure 400 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: simulated failure 400 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: simulated failure 400 | charged 0
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn some_fail_are_blocked_or_refused() {
    let scenario = ProviderScenario::with_texts(&[
        "one",
        "[[fail 422]] two",
        "[[blocked]] three",
        "[[refuse]] four",
    ]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @r#"
    openai:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: simulated failure 422 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: content_filter | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | says "I'm sorry, but I can't help with that." | charged 3600
    4 callbacks, 1 jobs, 0.00 held

    anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: simulated failure 422 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: refusal | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | says "I'm sorry, but I can't help with that." | charged 3600
    4 callbacks, 1 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: simulated failure 422 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: SAFETY | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | says "I'm sorry, but I can't help with that." | charged 3600
    4 callbacks, 1 jobs, 0.00 held
    "#);
}

#[tokio::test]
async fn an_item_that_failed_with_a_provider_error_is_retried_up_to_the_limit() {
    let scenario = ProviderScenario::with_texts(&["one", "[[fail 500]] two"]).over_a_day();
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 ... PROCESSING8 callback_delivered8 | attempts_exhausted: no answer in 8 attempts: status 500 | charged 0
    2 callbacks, 8 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_expires_half_done() {
    let scenario = ProviderScenario {
        pace: one_hour_window(),
        ..ProviderScenario::with_fault_once(FaultName::ExpirePartial)
    }
    .over_a_day()
    .billed_otherwise(&[BillException::UnreadResults]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    billed 3600, booked 2700: unread results
    ");
}

#[tokio::test]
async fn a_job_is_cancelled_in_the_providers_console() {
    let scenario = ProviderScenario {
        pace: slow_pace(),
        intervention: ScenarioIntervention::CancelJobs(4),
        ..ProviderScenario::with_faults([])
    };
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_cancelled_job_has_results_of_every_kind() {
    let scenario = ProviderScenario {
        pace: slow_pace(),
        intervention: ScenarioIntervention::CancelJobs(4),
        texts: vec!["one", "two", "three", "four"],
        ..ProviderScenario::with_fault_once(FaultName::CancelMixed)
    }
    .billed_otherwise(&[BillException::UnreadResults]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1000
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    4 callbacks, 2 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1000
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    4 callbacks, 2 jobs, 0.00 held
    billed 2760, booked 2220: unread results
    ");
}

#[tokio::test]
async fn all_items_are_counted_long_before_the_results_exist() {
    let scenario = ProviderScenario::with_fault_once(FaultName::LongFinalizing);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_refused_for_one_line() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::once(FaultName::ValidationFailed).line(2)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held

    anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_refused_for_one_line_again_and_again() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::ValidationFailed).line(1)]);
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::OpenAi, SimulatedProvider::Gemini]).await, @"
    openai:
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | request_rejected: This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 PENDING3 PROCESSING3 callback_delivered3 | request_rejected: This line is not valid. | charged 0
    3 callbacks, 3 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 PENDING3 PROCESSING3 callback_delivered3 | batch_rejected: This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 PENDING3 PROCESSING3 callback_delivered3 | batch_rejected: This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 PENDING3 PROCESSING3 callback_delivered3 | batch_rejected: This line is not valid. | charged 0
    3 callbacks, 3 jobs, 0.00 held
    ");
}
