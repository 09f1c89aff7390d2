//! Two shards with one account: neither takes the other's job for its own.

use domain::model::{Kind, Model};
use domain::route::{Routes, Via};
use simulator::{Fault, FaultName, Provider, rule};

use super::play::SHORT;
use crate::support::Customer;
use crate::support::jobs::{ACCOUNT, Port, question, route};
use crate::support::receiver::Receiver;

const FREE: &str = "free";

/// The answers to both submissions are lost, and each shard looks for its own.
#[tokio::test]
async fn each_shard_adopts_its_own_job() {
    for provider in [Provider::OpenAi, Provider::Gemini] {
        for fault in [FaultName::CreateDropAfter, FaultName::CreateDropBefore] {
            let mut port = Port::open().await;
            port.service.sell(Model {
                routes: Routes::from(route(provider.name(), Via::Batch)),
                ..Model::plain(FREE, "nobody", Kind::Chat)
            });
            let receiver = Receiver::new().await;
            let faults = vec![Fault::of(fault).times(2)];
            port.simulator.set_faults(provider, ACCOUNT, faults);
            let south = port.service.customer_on("south").await;
            let loaded = [
                load(&port, &port.customer, "north's", receiver.url()).await,
                load(&port, &south, "south's", receiver.url()).await,
            ];
            for _ in 0..10 {
                port.advance(SHORT).await;
            }
            let customers = [&port.customer, &south];
            for ((customer, cargo), text) in customers
                .into_iter()
                .zip(&loaded)
                .zip(["north's", "south's"])
            {
                let record = port.service.track(customer, cargo).await;
                assert_eq!(record["attempt"], 1, "{provider} {fault:?} {record}");
                let said = &record["response"]["content"][0]["text"];
                assert_eq!(*said, rule::chat_text(text), "{provider} {fault:?}");
            }
            assert_eq!(receiver.received().len(), 2);
            let jobs = port.simulator.jobs(provider, ACCOUNT);
            let mut labels: Vec<_> = jobs.into_iter().map(|job| job.label).collect();
            labels.dedup();
            assert_eq!(labels.len(), 2, "{provider} {fault:?}");
        }
    }
}

async fn load(port: &Port, customer: &Customer, text: &str, callback: &str) -> String {
    let body = question(FREE, text, callback);
    port.service.load(customer, &body).await
}
