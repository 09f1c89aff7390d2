//! Ingestion of results that are incomplete, duplicated or wrong.

use simulator::{FaultName, SimulatedFault, SimulatedProvider};

use super::scenario::ProviderScenario;
use crate::support::provider_bills::BillException;

#[tokio::test]
async fn lines_are_shuffled() {
    let scenario = ProviderScenario::with_fault_once(FaultName::Shuffle);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_line_is_duplicated() {
    let scenario = ProviderScenario::with_fault_once(FaultName::DuplicateLines);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_line_is_missing() {
    let scenario = ProviderScenario::with_fault_once(FaultName::MissingLines)
        .billed_otherwise(&[BillException::UnreadResults]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    billed 3600, booked 2700: unread results
    ");
}

#[tokio::test]
async fn a_result_is_of_an_item_that_was_not_sent() {
    let scenario = ProviderScenario::with_fault_once(FaultName::UnknownLines);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn blank_lines_are_between_the_results() {
    let scenario = ProviderScenario::with_fault_once(FaultName::BlankLines);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_results_are_cut_off() {
    let scenario = ProviderScenario::with_fault_once(FaultName::TruncateDownload);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_results_are_gone_once() {
    let scenario = ProviderScenario::with_fault_once(FaultName::ResultsGone);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn usage_is_missing() {
    let scenario = ProviderScenario::with_fault_once(FaultName::UsageMissing)
        .billed_otherwise(&[BillException::WrongUsage]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 3600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 3600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 4000
    3 callbacks, 1 jobs, 0.00 held
    billed 2700, booked 6720: wrong usage
    ");
}

#[tokio::test]
async fn usage_is_absurd() {
    let scenario = ProviderScenario::with_fault_once(FaultName::UsageAbsurd)
        .billed_otherwise(&[BillException::WrongUsage]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 3600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 3600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 4000
    3 callbacks, 1 jobs, 0.00 held
    billed 2700, booked 6720: wrong usage
    ");
}

#[tokio::test]
async fn a_filter_leaves_no_text() {
    let scenario = ProviderScenario::with_fault_once(FaultName::SafetyBlock);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai:
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: content_filter | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: content_filter | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: content_filter | charged 0
    3 callbacks, 1 jobs, 0.00 held

    anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: refusal | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: refusal | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: refusal | charged 0
    3 callbacks, 1 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: SAFETY | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: SAFETY | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | content_blocked: blocked by provider: SAFETY | charged 0
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn all_results_are_missing_once() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::once(FaultName::MissingLines).limit(3)])
            .billed_otherwise(&[BillException::UnreadResults]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    billed 5400, booked 2700: unread results
    ");
}

#[tokio::test]
async fn downloads_fail() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Download500).times(3)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn items_have_different_faulty_lines() {
    let scenario = ProviderScenario::with_texts(&[
        "[[missing]] one",
        "[[twice]] two",
        "[[no-usage]] three",
        "[[absurd-usage]] four",
    ])
    .over_a_day()
    .billed_otherwise(&[BillException::UnreadResults, BillException::WrongUsage]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 ... PENDING13 callback_delivered13 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 4600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 5100
    4 callbacks, 12 jobs, 0.00 held
    billed 14580, booked 6780: unread results, wrong usage
    ");
}

#[tokio::test]
async fn gemini_answers_in_its_other_formats() {
    let scenario = ProviderScenario {
        texts: vec!["one", "[[fail 400]] two"],
        ..ProviderScenario::with_faults([
            SimulatedFault::new(FaultName::InlineAnswer),
            SimulatedFault::new(FaultName::StatusInsteadOfError),
        ])
    };
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Gemini]).await, @"
    gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 callback_delivered1 | request_rejected: simulated failure 400 | charged 0
    2 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn openai_sends_an_empty_error_file_id() {
    let scenario = ProviderScenario::with_fault_once(FaultName::EmptyErrorFileId);
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::OpenAi]).await, @"
    openai:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}
