//! Cargo that does not end in time takes another route, or fails at its deadline.

use domain::route::InferenceMode;
use simulator::{FaultName, SimulatedFault, SimulatedProvider};

use super::scenario::{ProviderScenario, spare_routes};
use crate::support::provider_bills::BillException;
use crate::support::simulated_providers::route;

#[tokio::test]
async fn a_job_is_stuck_and_there_is_no_other_route() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Stuck)]).over_a_day();
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_stuck_and_there_is_a_server() {
    let scenario = ProviderScenario {
        fallback_routes: |_| vec![route("server", InferenceMode::Realtime)],
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::Stuck)])
    }
    .over_a_day();
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 1 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_stuck_and_there_is_another_account() {
    let scenario = ProviderScenario {
        fallback_routes: spare_routes,
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::Stuck)])
    }
    .over_a_day();
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 1 jobs, 1 at the spare account, 0.00 held
    ");
}

#[tokio::test]
async fn no_job_is_accepted_until_the_deadline() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Create429)]).over_a_day();
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 callback_delivered1 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    3 callbacks, 0 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn no_job_is_accepted_and_there_is_a_server() {
    let scenario = ProviderScenario {
        fallback_routes: |_| vec![route("server", InferenceMode::Realtime)],
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::Create429)])
    }
    .over_a_day();
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn a_lost_submission_can_never_be_reconciled() {
    let scenario = ProviderScenario::with_faults([
        SimulatedFault::once(FaultName::CreateDropAfter),
        SimulatedFault::new(FaultName::List500),
    ])
    .over_a_day()
    .billed_otherwise(&[BillException::UnreadResults]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    3 callbacks, 1 jobs, 0.00 held
    billed 2700, booked 0: unread results
    ");
}

#[tokio::test]
async fn a_job_would_miss_the_deadline_of_its_caller() {
    // With nine hours left, the cargo takes a batch. An hour before the deadline its job is cancelled.
    let scenario = ProviderScenario {
        fallback_routes: |_| vec![route("server", InferenceMode::Realtime)],
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::Stuck)])
    }
    .with_deadline(9);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 1 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn a_batch_usually_takes_longer_than_the_deadline_of_the_caller() {
    let scenario = ProviderScenario {
        fallback_routes: |_| vec![route("server", InferenceMode::Realtime)],
        ..ProviderScenario::with_faults([])
    }
    .with_deadline(2);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn no_job_is_accepted_until_the_deadline_of_the_caller() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Create429)]).with_deadline(2);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 callback_delivered1 | deadline_exceeded: the deadline of the load has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | deadline_exceeded: the deadline of the load has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | deadline_exceeded: the deadline of the load has passed | charged 0
    3 callbacks, 0 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_server_is_dead_until_the_deadline_of_the_caller() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Dead)]).with_deadline(2);
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 PROCESSING1 callback_delivered1 | deadline_exceeded: the deadline of the load has passed | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | deadline_exceeded: the deadline of the load has passed | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | deadline_exceeded: the deadline of the load has passed | charged 0
    3 callbacks, 0 jobs, 0.00 held
    ");
}
