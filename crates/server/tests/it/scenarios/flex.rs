//! Flex: a short queue is answered soon at the batch price, unless the provider has no spare capacity.

use std::time::Duration;

use domain::route::{InferenceMode, Routes};
use serde_json::Value;
use simulator::{FaultName, SimulatedFault, SimulatedProvider};
use test_support::callback_receiver::CallbackReceiver;

use crate::support::simulated_providers::{
    PRIMARY_ACCOUNT, ProviderFixture, provider_chat_request, route, routed_model,
};

const MODEL: &str = "flexible";
const NO_CAPACITY: FaultName = FaultName::FlexUnavailable;
const DOWNGRADE: FaultName = FaultName::FlexDowngrade;

struct FlexFixture {
    fixture: ProviderFixture,
    receiver: CallbackReceiver,
}

impl FlexFixture {
    /// One model with these ways at `OpenAI`, and a server if realtime is one of them.
    async fn start(ways: &[InferenceMode], faults: &[SimulatedFault]) -> Self {
        let fixture = ProviderFixture::start().await;
        let mut routes = ways.iter().map(|via| match via {
            InferenceMode::Batch | InferenceMode::Flex => route("openai", *via),
            InferenceMode::Realtime => route("server", *via),
        });
        let first = routes.next().unwrap();
        let mut model = routed_model(MODEL, first.clone());
        model.routes = Routes::new(first, routes.collect());
        fixture.service.add_model(model);
        fixture
            .simulator
            .set_faults(SimulatedProvider::OpenAi, PRIMARY_ACCOUNT, faults.to_vec());
        let receiver = CallbackReceiver::new().await;
        Self { fixture, receiver }
    }

    async fn load(&self, text: &str, deadline_seconds: Option<u32>) -> String {
        let mut body = provider_chat_request(MODEL, text, self.receiver.url());
        if let Some(seconds) = deadline_seconds {
            body["deadline_seconds"] = seconds.into();
        }
        let service = &self.fixture.service;
        service.load(&self.fixture.customer, &body).await
    }

    async fn track(&self, cargo: &str) -> Value {
        let service = &self.fixture.service;
        service.track(&self.fixture.customer, cargo).await
    }

    /// Advances in steps of this length, and describes each new state of the cargo.
    async fn watch(&mut self, cargo: &str, step: Duration, steps: u32) -> String {
        let mut states: Vec<String> = Vec::new();
        for _ in 0..steps {
            let record = self.track(cargo).await;
            let text = |pointer: &str| {
                let value = record.pointer(pointer).and_then(Value::as_str);
                value.unwrap_or("-").to_owned()
            };
            let state = format!(
                "{}{} {} | {} | {}",
                text("/status"),
                record["attempt"],
                text("/waiting/code"),
                text("/route/via"),
                text("/route/reason"),
            );
            if states.last() != Some(&state) {
                states.push(state);
            }
            if text("/status").starts_with("callback_") {
                break;
            }
            self.fixture.advance(step).await;
        }
        states.join("\n")
    }

    fn jobs(&self) -> usize {
        let simulator = &self.fixture.simulator;
        simulator
            .jobs(SimulatedProvider::OpenAi, PRIMARY_ACCOUNT)
            .len()
    }
}

const ALL_WAYS: [InferenceMode; 3] = InferenceMode::ALL;
const SHORT_STEP: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_short_queue_takes_flex() {
    let mut flex = FlexFixture::start(&ALL_WAYS, &[]).await;
    let cargo = flex.load("one crate", None).await;
    insta::assert_snapshot!(flex.watch(&cargo, SHORT_STEP, 4).await, @"
    PENDING1 waiting_for_batch | flex | flex_queue_short
    callback_delivered1 - | flex | flex_queue_short
    ");
    assert_eq!(flex.jobs(), 0);
    // The caller pays the batch price.
    assert_eq!(flex.track(&cargo).await["cost"]["charged"], 1500);
}

#[tokio::test]
async fn a_refusal_for_lack_of_capacity_costs_no_attempt() {
    let refusals = SimulatedFault::new(NO_CAPACITY).times(5);
    let mut flex = FlexFixture::start(&ALL_WAYS, &[refusals]).await;
    let cargo = flex.load("one crate", None).await;
    insta::assert_snapshot!(flex.watch(&cargo, Duration::from_secs(20), 40).await, @"
    PENDING1 waiting_for_batch | flex | flex_queue_short
    PENDING1 flex_capacity | flex | flex_queue_short
    callback_delivered1 - | flex | flex_queue_short
    ");
}

#[tokio::test]
async fn cargo_with_little_time_leaves_a_provider_without_capacity_for_a_server() {
    let refusals = SimulatedFault::new(NO_CAPACITY);
    let mut flex = FlexFixture::start(&ALL_WAYS, &[refusals]).await;
    let cargo = flex.load("one crate", Some(600)).await;
    let states = flex.watch(&cargo, Duration::from_secs(10), 60).await;
    insta::assert_snapshot!(states, @"
    PENDING1 waiting_for_batch | flex | flex_queue_short
    PENDING1 flex_capacity | flex | flex_for_deadline
    callback_delivered1 - | realtime | realtime_for_deadline
    ");
    let record = flex.track(&cargo).await;
    let time = |field: &str| record[field].as_str().unwrap().to_owned();
    assert!(time("completed_at") < time("deadline_at"));
}

#[tokio::test]
async fn cargo_with_a_day_leaves_a_provider_without_capacity_for_a_batch() {
    let refusals = SimulatedFault::new(NO_CAPACITY);
    let mut flex = FlexFixture::start(&ALL_WAYS, &[refusals]).await;
    let cargo = flex.load("one crate", Some(86_400)).await;
    let states = flex.watch(&cargo, Duration::from_mins(1), 60).await;
    let last = states.lines().last().unwrap().to_owned();
    insta::assert_snapshot!(last, @"callback_delivered1 - | batch | flex_without_capacity");
    assert_eq!(flex.jobs(), 1);
}

#[tokio::test]
async fn a_request_without_a_response_is_repeated_once_and_then_takes_a_batch() {
    let lost = SimulatedFault::new(FaultName::Drop).times(2);
    let mut flex = FlexFixture::start(&ALL_WAYS, &[lost]).await;
    let cargo = flex.load("one crate", Some(86_400)).await;
    let states = flex.watch(&cargo, SHORT_STEP, 20).await;
    let end = states.lines().last().unwrap().to_owned();
    insta::assert_snapshot!(end, @"callback_delivered2 - | batch | after_failure");
    assert_eq!(flex.jobs(), 1);
}

#[tokio::test]
async fn an_answer_of_the_standard_tier_costs_the_caller_the_same() {
    let downgrade = SimulatedFault::new(DOWNGRADE);
    let mut flex = FlexFixture::start(&ALL_WAYS, &[downgrade]).await;
    let cargo = flex.load("one crate", None).await;
    flex.watch(&cargo, SHORT_STEP, 4).await;
    let record = flex.track(&cargo).await;
    assert_eq!(record["success"], true);
    assert_eq!(record["cost"]["charged"], 1500);
}
