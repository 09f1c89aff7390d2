//! Batch submissions that the provider refuses, whose answers are lost, or whose files fail.

use domain::model::{Model, ModelKind};
use domain::route::InferenceMode;
use serde_json::json;
use simulator::{FaultName, SimulatedFault, SimulatedProvider};
use test_support::callback_receiver::CallbackReceiver;

use super::scenario::{ProviderScenario, SHORT_STEP};
use crate::support::simulated_providers::{PRIMARY_ACCOUNT, ProviderFixture, route, routed_model};

#[tokio::test]
async fn the_answer_to_a_submission_is_dropped() {
    let scenario = ProviderScenario::with_fault_once(FaultName::CreateDropAfter);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_answer_to_a_submission_is_500() {
    let scenario = ProviderScenario::with_fault_once(FaultName::Create500After);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_answer_to_a_submission_is_cut() {
    let scenario = ProviderScenario::with_fault_once(FaultName::CreateDropBody);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_submission_fails_before_the_job_is_created() {
    let scenario = ProviderScenario::with_fault_once(FaultName::Create500Before);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_submission_is_dropped_before_the_job_is_created() {
    let scenario = ProviderScenario::with_fault_once(FaultName::CreateDropBefore);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_submission_is_too_large() {
    let scenario = ProviderScenario::with_fault_once(FaultName::Create413Html);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held

    anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_burst_of_429_at_create() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Create429).times(3)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_burst_of_503_at_create() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Create503).times(3)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_burst_of_529_at_create() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Create529).times(3)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_lost_submission_is_listed_late() {
    let scenario = ProviderScenario {
        shows_waiting_reasons: true,
        ..ProviderScenario::with_faults([
            SimulatedFault::once(FaultName::CreateDropAfter),
            SimulatedFault::once(FaultName::ListLag).seconds(50),
        ])
    };
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: checking whether the provider received its batch
    waiting: the provider is working on its batch
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_lost_submission_cannot_be_reconciled_for_a_while() {
    let scenario = ProviderScenario::with_faults([
        SimulatedFault::once(FaultName::CreateDropAfter),
        SimulatedFault::new(FaultName::List500).times(3),
    ]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_account_has_too_many_enqueued_tokens() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::once(FaultName::TokenLimit).limit(10)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 BATCHED2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 BATCHED2 PENDING2 BATCHED2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 4 jobs, 0.00 held

    anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn an_uploaded_file_turns_out_unusable() {
    let scenario = ProviderScenario {
        shows_waiting_reasons: true,
        ..ProviderScenario::with_fault_once(FaultName::FileFailed)
    };
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Gemini]).await, @"
    gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: the provider accepts no batches right now; retrying soon
    waiting: the provider is working on its batch
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn an_item_that_the_provider_does_not_support_fails_alone() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    fixture.service.add_model(Model {
        kind: ModelKind::Embedding,
        ..routed_model("theirs", route("gemini", InferenceMode::Batch))
    });
    let mut cargo = Vec::new();
    // Gemini accepts one text per embedding request.
    for input in [json!("one"), json!(["one", "two"])] {
        let params = json!({"model": "theirs", "input_text": input});
        let body = json!({"params": params, "callback_url": receiver.url()});
        cargo.push(fixture.service.load(&fixture.customer, &body).await);
    }
    fixture.wait_for_callbacks(&cargo, SHORT_STEP, 10).await;
    let mut results = Vec::new();
    for cargo in &cargo {
        let record = fixture.service.track(&fixture.customer, cargo).await;
        let (success, error, code) = (&record["success"], &record["error"], &record["error_code"]);
        results.push(format!("{success} {code} {error} in {}", record["attempt"]));
    }
    let unsupported =
        r#"false "unsupported_request" "the model accepts one text per embedding request" in 1"#;
    assert_eq!(results, ["true null null in 1", unsupported]);
    assert_eq!(receiver.callbacks().len(), 2);
    let jobs = fixture
        .simulator
        .jobs(SimulatedProvider::Gemini, PRIMARY_ACCOUNT);
    let sizes: Vec<_> = jobs.iter().map(|job| job.items).collect();
    assert_eq!(sizes, [1]);
    fixture.assert_booked_as_billed().await;
}
