//! A realtime server, which answers one request at a time.

use simulator::{FaultName, SimulatedFault, SimulatedProvider};

use super::scenario::{ProviderScenario, ScenarioIntervention};
use crate::support::provider_bills::BillException;

#[tokio::test]
async fn all_succeed() {
    let scenario = ProviderScenario::with_faults([]);
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn some_fail() {
    let scenario = ProviderScenario::with_texts(&[
        "one",
        "[[fail 400]] two",
        "[[blocked]] three",
        "[[no-usage]] four",
        "[[absurd-usage]] five",
    ])
    .billed_otherwise(&[BillException::WrongUsage]);
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | its own answer | charged 900
    PENDING1 callback_delivered1 | request_rejected: simulated failure 400 | charged 0
    PENDING1 callback_delivered1 | content_blocked: blocked by provider: content_filter | charged 0
    PENDING1 callback_delivered1 | its own answer | charged 4600
    PENDING1 callback_delivered1 | its own answer | charged 5100
    5 callbacks, 0 jobs, 5 calls, 0.00 held
    billed 6130, booked 13740: wrong usage
    ");
}

#[tokio::test]
async fn it_is_busy_for_a_while() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Busy503).times(20)]);
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 23 calls, 0.00 held
    ");
}

#[tokio::test]
async fn it_is_dead_for_a_while() {
    let scenario = ProviderScenario {
        intervention: ScenarioIntervention::ClearFaults(4),
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::Dead)])
    };
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn it_is_dead_until_the_deadline() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Dead)]).over_a_day();
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 PROCESSING1 callback_delivered1 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    3 callbacks, 0 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn an_answer_is_cut_off() {
    let scenario = ProviderScenario::with_faults([SimulatedFault::new(FaultName::Drop).times(2)])
        .billed_otherwise(&[BillException::LostResponses]);
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 5 calls, 0.00 held
    billed 9300, booked 5580: lost responses
    ");
}

#[tokio::test]
async fn one_request_is_never_answered() {
    let scenario = ProviderScenario::with_texts(&["one", "[[fail 500]] two", "three"]).over_a_day();
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PENDING2 PENDING3 PENDING4 PENDING5 PENDING6 PENDING7 PENDING8 callback_delivered8 | attempts_exhausted: no answer in 8 attempts: provider unavailable: status 500 | charged 0
    PENDING1 callback_delivered1 | its own answer | charged 1000
    3 callbacks, 0 jobs, 26 calls, 0.00 held
    ");
}

#[tokio::test]
async fn a_request_is_too_long_for_it() {
    let scenario = ProviderScenario::with_fault_once(FaultName::Context400);
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | request_rejected: This model's maximum context length is 4096 tokens. However, your request has more. Please reduce the length of the input messages. | charged 0
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn it_rejects_the_credential() {
    let scenario = ProviderScenario {
        intervention: ScenarioIntervention::ClearFaults(4),
        shows_waiting_reasons: true,
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::Unauthorized)])
    };
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 PENDING2 BATCHED2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PENDING2 BATCHED2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PENDING2 BATCHED2 callback_delivered2 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: the provider is paused: the provider rejected the credential; the operator can resolve this
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn it_is_out_of_credit() {
    // Only the message says so. Longshore handles it like any other 429, and pauses nothing.
    let scenario = ProviderScenario {
        intervention: ScenarioIntervention::ClearFaults(4),
        shows_waiting_reasons: true,
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::OutOfFunds)])
    };
    insta::assert_snapshot!(scenario.run_on(&[SimulatedProvider::Server]).await, @"
    server:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: the model's server does not answer right now; retrying soon
    3 callbacks, 0 jobs, 35 calls, 0.00 held
    ");
}
