//! Two shards that share one provider account: neither adopts the other's job.

use domain::model::{Model, ModelKind};
use domain::route::{InferenceMode, Routes};
use simulator::{FaultName, SimulatedFault, SimulatedProvider, rule};
use test_support::callback_receiver::CallbackReceiver;

use super::scenario::SHORT_STEP;
use crate::support::Customer;
use crate::support::simulated_providers::{
    PRIMARY_ACCOUNT, ProviderFixture, provider_chat_request, route,
};

const FREE_MODEL: &str = "free";

/// The answers to both submissions are lost, and each shard reconciles its submission.
#[tokio::test]
async fn each_shard_adopts_its_own_job() {
    for provider in [SimulatedProvider::OpenAi, SimulatedProvider::Gemini] {
        for fault in [FaultName::CreateDropAfter, FaultName::CreateDropBefore] {
            let mut fixture = ProviderFixture::start_with_second_shard().await;
            fixture.service.add_model(Model {
                routes: Routes::from(route(provider.name(), InferenceMode::Batch)),
                ..Model::plain(FREE_MODEL, "unused", ModelKind::Chat)
            });
            let receiver = CallbackReceiver::new().await;
            let faults = vec![SimulatedFault::new(fault).times(2)];
            fixture
                .simulator
                .set_faults(provider, PRIMARY_ACCOUNT, faults);
            let south = fixture.service.create_customer_on("south").await;
            let loaded = [
                load(&fixture, &fixture.customer, "north's", receiver.url()).await,
                load(&fixture, &south, "south's", receiver.url()).await,
            ];
            for _ in 0..10 {
                fixture.advance(SHORT_STEP).await;
            }
            let customers = [&fixture.customer, &south];
            for ((customer, cargo), text) in customers
                .into_iter()
                .zip(&loaded)
                .zip(["north's", "south's"])
            {
                let record = fixture.service.track(customer, cargo).await;
                assert_eq!(record["attempt"], 1, "{provider} {fault:?} {record}");
                let answer = &record["response"]["content"][0]["text"];
                assert_eq!(*answer, rule::chat_text(text), "{provider} {fault:?}");
            }
            assert_eq!(receiver.callbacks().len(), 2);
            let jobs = fixture.simulator.jobs(provider, PRIMARY_ACCOUNT);
            let mut labels: Vec<_> = jobs.into_iter().map(|job| job.label).collect();
            labels.dedup();
            assert_eq!(labels.len(), 2, "{provider} {fault:?}");
            fixture.assert_booked_as_billed().await;
        }
    }
}

async fn load(
    fixture: &ProviderFixture,
    customer: &Customer,
    text: &str,
    callback: &str,
) -> String {
    let body = provider_chat_request(FREE_MODEL, text, callback);
    fixture.service.load(customer, &body).await
}
