//! Flex: a short queue is answered soon at the batch price, unless the provider has no spare capacity.

use std::time::Duration;

use domain::model::Prices;
use domain::money::Money;
use domain::route::{InferenceMode, Route, Routes};
use serde_json::Value;
use simulator::{FaultName, SimulatedFault, SimulatedProvider, rule};
use test_support::callback_receiver::CallbackReceiver;

use crate::support::credit::PRICE;
use crate::support::provider_bills::{BillComparison, BillException, provider_prices};
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
        let routes = ways.iter().map(|via| match via {
            InferenceMode::Batch | InferenceMode::Flex => route("openai", *via),
            InferenceMode::Realtime => route("server", *via),
        });
        // At the standard tier, `OpenAI` bills what callers would pay for realtime.
        let prices = Prices {
            batch: PRICE,
            realtime: Some(provider_prices(InferenceMode::Realtime).price()),
        };
        Self::start_with_routes(routes.collect(), &prices, faults).await
    }

    async fn start_with_routes(
        mut routes: Vec<Route>,
        prices: &Prices,
        faults: &[SimulatedFault],
    ) -> Self {
        let fixture = ProviderFixture::start().await;
        let first = routes.remove(0);
        let mut model = routed_model(MODEL, first.clone());
        model.routes = Routes::new(first, routes);
        model.prices = Some(*prices);
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
    flex.fixture.assert_booked_as_billed().await;
}

/// Three refusals in a row open the circuit breaker.
#[tokio::test]
async fn a_refused_request_is_sent_again_in_its_batch() {
    let refusals = SimulatedFault::new(NO_CAPACITY).times(2);
    let mut flex = FlexFixture::start(&ALL_WAYS, &[refusals]).await;
    let cargo = flex.load("one crate", Some(600)).await;
    insta::assert_snapshot!(flex.watch(&cargo, Duration::from_secs(5), 20).await, @"
    PENDING1 waiting_for_batch | flex | flex_queue_short
    callback_delivered1 - | flex | flex_queue_short
    ");
    flex.fixture.assert_booked_as_billed().await;
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
    flex.fixture.assert_booked_as_billed().await;
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
    flex.fixture.assert_booked_as_billed().await;
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
    flex.fixture.assert_booked_as_billed().await;
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
    let lost = [BillException::LostResponses];
    let difference = flex.fixture.compare_bill().await.explain(&lost).unwrap();
    insta::assert_snapshot!(difference, @"billed 2520, booked 900: lost responses");
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
    flex.fixture.assert_booked_as_billed().await;
}

/// The realtime route of the same account says what its standard tier costs. Realtime costs
/// callers something else.
#[tokio::test]
async fn an_answer_of_the_standard_tier_costs_us_what_the_accounts_realtime_route_costs() {
    let downgrade = SimulatedFault::new(DOWNGRADE);
    let routes = ALL_WAYS.map(|via| route("openai", via)).to_vec();
    let prices = Prices {
        batch: PRICE,
        realtime: Some(PRICE),
    };
    let mut flex = FlexFixture::start_with_routes(routes, &prices, &[downgrade]).await;
    let cargo = flex.load("one crate", None).await;
    flex.watch(&cargo, SHORT_STEP, 4).await;
    assert_eq!(flex.track(&cargo).await["success"], true);
    flex.fixture.assert_booked_as_billed().await;
}

/// The provider bills answers that it gave up, too, each at the tier that served it.
#[tokio::test]
async fn attempts_without_an_answer_are_booked_at_the_tier_that_served_them() {
    for faults in [Vec::new(), vec![SimulatedFault::new(DOWNGRADE)]] {
        let mut flex = FlexFixture::start(&[InferenceMode::Flex], &faults).await;
        let cargo = flex.load("[[abort]] one crate", None).await;
        flex.watch(&cargo, Duration::from_mins(30), 20).await;
        assert_eq!(flex.track(&cargo).await["error_code"], "attempts_exhausted");
        flex.fixture.assert_booked_as_billed().await;
    }
}

/// The comparison finds a price that is a nano-dollar too high for each token of output.
#[tokio::test]
async fn a_wrong_price_is_found() {
    let mut wrong = route("openai", InferenceMode::Flex);
    let price = wrong.cost.as_mut().unwrap();
    price.base.output = Money(price.base.output.nanos() + 1_000_000);
    let prices = Prices {
        batch: PRICE,
        realtime: None,
    };
    let mut flex = FlexFixture::start_with_routes(vec![wrong], &prices, &[]).await;
    let cargo = flex.load("one crate", None).await;
    flex.watch(&cargo, SHORT_STEP, 4).await;
    let BillComparison { billed, booked } = flex.fixture.compare_bill().await;
    let output = rule::output_tokens(&rule::chat_text("one crate"));
    assert_eq!(booked, billed + output);
}
