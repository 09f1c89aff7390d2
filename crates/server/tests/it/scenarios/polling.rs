//! Polling a job that the provider accepted.

use simulator::{FaultName, SimulatedFault, SimulatedProvider};

use super::scenario::{ProviderScenario, slow_pace};
use crate::support::provider_bills::BillException;

#[tokio::test]
async fn a_burst_of_500_at_poll() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Poll500).times(3)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_burst_of_429_at_poll() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Poll429).times(3)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_missing_for_a_moment() {
    let scenario = ProviderScenario::with_faults([SimulatedFault::new(FaultName::Vanish).times(2)]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_vanishes() {
    let scenario = ProviderScenario::with_faults([SimulatedFault::new(FaultName::Vanish).times(5)])
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
async fn anthropic_says_when_to_poll_again() {
    let scenario = ProviderScenario {
        pace: slow_pace(),
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::RetryAfter).times(3)])
    };
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Anthropic]).await, @"
    anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_cannot_be_polled_until_the_deadline() {
    let scenario = ProviderScenario::with_faults([SimulatedFault::new(FaultName::Poll500)])
        .over_a_day()
        .billed_otherwise(&[BillException::UnreadResults]);
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    3 callbacks, 1 jobs, 0.00 held
    billed 2700, booked 0: unread results
    ");
}
