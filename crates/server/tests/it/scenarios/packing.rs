//! What lies in a job: no more than the share allows, everyone's turn, like with like.

use serde_json::json;
use simulator::{Pace, Provider};
use workers::Share;
use workers::stage::Stage as _;

use super::play::{BATCHES, SHORT};
use crate::support::jobs::{ACCOUNT, Port, question, share};
use crate::support::receiver::Receiver;

async fn load(port: &Port, provider: Provider, count: usize, receiver: &Receiver) -> Vec<String> {
    let mut cargo = Vec::new();
    for number in 0..count {
        let text = format!("crate {number}");
        cargo.push(port.load(provider, &text, receiver.url()).await);
    }
    cargo
}

fn sizes(port: &Port, provider: Provider) -> Vec<usize> {
    let jobs = port.simulator.jobs(provider, ACCOUNT);
    jobs.iter().map(|job| job.items).collect()
}

#[tokio::test]
async fn what_is_too_much_for_one_job_leaves_in_the_next_in_the_same_attempt() {
    let few = Share {
        most_items: 4,
        ..share()
    };
    let small = Share {
        most_bytes: 500,
        ..share()
    };
    for provider in BATCHES {
        for share in [few, small] {
            let mut port = Port::sharing(share).await;
            let receiver = Receiver::new().await;
            let cargo = load(&port, provider, 6, &receiver).await;
            port.wait_for(&cargo, SHORT, 20).await;
            let sizes = sizes(&port, provider);
            assert_eq!(sizes.iter().sum::<usize>(), 6, "{provider} {sizes:?}");
            assert!(sizes.iter().all(|size| *size <= 4), "{provider} {sizes:?}");
            assert_eq!(receiver.received().len(), 6);
            for cargo in &cargo {
                let record = port.service.track(&port.customer, cargo).await;
                assert_eq!(record["attempt"], 1, "{provider} {record}");
            }
            // What was left over is in the share of the batch that it left in, and no other.
            let shares =
                "select sum(s.cargo) from shard.share s join shard.batch b on b.id = s.batch
                          where s.cargo = cardinality(b.cargo) and s.succeeded = s.cargo";
            let shares = sqlx::query_scalar::<_, i64>(shares);
            let shares = shares.fetch_one(&port.service.north.pool).await;
            assert_eq!(shares.unwrap(), 6, "{provider}");
        }
    }
}

#[tokio::test]
async fn requests_with_the_same_system_prompt_lie_together() {
    let mut port = Port::open().await;
    let mut systems = std::collections::HashMap::new();
    for number in 0..9 {
        let system = ["You stow.", "You lash.", "You tally."][number % 3];
        let mut body = question("openai", &format!("crate {number}"), "");
        body["params"]["system"] = json!(system);
        body["callback_url"] = json!(null);
        let cargo = port.service.load(&port.customer, &body).await;
        systems.insert(cargo, system);
    }
    port.advance(SHORT).await;
    assert_eq!(sizes(&port, Provider::OpenAi), [9]);
    let order = sqlx::query_scalar::<_, Vec<uuid::Uuid>>("select cargo from shard.batch");
    let order = order.fetch_one(&port.service.north.pool).await.unwrap();
    let mut runs: Vec<&str> = order
        .into_iter()
        .map(|id| systems[&domain::id::CargoId::from_uuid(id).to_string()])
        .collect();
    runs.dedup();
    assert_eq!(runs.len(), 3, "{runs:?}");
}

#[tokio::test]
async fn who_has_one_cargo_leaves_with_the_next_batch() {
    for provider in BATCHES {
        let mut port = Port::open().await;
        let receiver = Receiver::new().await;
        load(&port, provider, 25, &receiver).await;
        let other = port.service.customer().await;
        let credit = domain::money::Money(1_000_000_000);
        port.service.add_credit(&other, credit).await;
        let body = question(provider.name(), "the only one", receiver.url());
        let only = port.service.load(&other, &body).await;
        let now = port.service.now();
        // One batch of ten, of which all but one are the other's.
        port.service.crews[0].gather.step(now).await.unwrap();
        assert_eq!(
            port.service.status(&other, &only).await,
            "BATCHED",
            "{provider}"
        );
        port.service.crews[0].dispatch.step(now).await.unwrap();
        assert_eq!(sizes(&port, provider), [10]);
        assert_eq!(port.service.status(&other, &only).await, "PROCESSING");
    }
}

#[tokio::test]
async fn a_job_that_is_cut_leaves_out_those_who_have_most() {
    let few = Share {
        most_items: 4,
        ..share()
    };
    for provider in BATCHES {
        let mut port = Port::sharing(few).await;
        let receiver = Receiver::new().await;
        load(&port, provider, 8, &receiver).await;
        let other = port.service.customer().await;
        let credit = domain::money::Money(1_000_000_000);
        port.service.add_credit(&other, credit).await;
        let body = question(provider.name(), "the only one", receiver.url());
        let only = port.service.load(&other, &body).await;
        let now = port.service.now();
        port.service.crews[0].gather.step(now).await.unwrap();
        port.service.crews[0].dispatch.step(now).await.unwrap();
        assert_eq!(sizes(&port, provider), [4]);
        let status = port.service.status(&other, &only).await;
        assert_eq!(status, "PROCESSING", "{provider}");
    }
}

#[tokio::test]
async fn batches_that_leave_at_once_share_the_room_that_there_is() {
    let narrow = Share {
        most_enqueued_tokens: 700,
        ..share()
    };
    for provider in BATCHES {
        let mut port = Port::sharing(narrow).await;
        let receiver = Receiver::new().await;
        let pace = Pace {
            running_ms: 300_000,
            ..Pace::default()
        };
        port.simulator.set_pace(provider, ACCOUNT, pace);
        load(&port, provider, 30, &receiver).await;
        let now = port.service.now();
        // Three batches of ten, each of which has room alone.
        for _ in 0..3 {
            port.service.crews[0].gather.step(now).await.unwrap();
        }
        port.service.crews[0].dispatch.step(now).await.unwrap();
        let north = &port.service.north;
        let enqueued = store::shard::provider::enqueued(north, provider.name(), now);
        let (tokens, _) = enqueued.await.unwrap();
        assert!((1..=700).contains(&tokens), "{provider} {tokens}");
        assert!(
            sizes(&port, provider).iter().sum::<usize>() < 30,
            "{provider}"
        );
    }
}

#[tokio::test]
async fn what_waits_at_the_provider_keeps_other_jobs_back() {
    let narrow = Share {
        most_items: 3,
        most_enqueued_tokens: 200,
        ..share()
    };
    for provider in BATCHES {
        let mut port = Port::sharing(narrow).await;
        let receiver = Receiver::new().await;
        let pace = Pace {
            running_ms: 300_000,
            ..Pace::default()
        };
        port.simulator.set_pace(provider, ACCOUNT, pace);
        let cargo = load(&port, provider, 9, &receiver).await;
        let mut most = 0;
        for _ in 0..60 {
            port.advance(SHORT).await;
            let jobs = port.simulator.jobs(provider, ACCOUNT);
            let open = jobs.iter().filter(|job| job.ended_at.is_none());
            most = most.max(open.map(|job| job.items).sum());
            let (north, name) = (&port.service.north, provider.name());
            let now = port.service.now();
            let enqueued = store::shard::provider::enqueued(north, name, now);
            let (tokens, _) = enqueued.await.unwrap();
            assert!(tokens <= narrow.most_enqueued_tokens, "{provider} {tokens}");
        }
        port.wait_for(&cargo, SHORT, 60).await;
        assert!((1..=6).contains(&most), "{provider}: {most} at once");
        assert_eq!(receiver.received().len(), 9, "{provider}");
        for cargo in &cargo {
            let record = port.service.track(&port.customer, cargo).await;
            assert_eq!(record["attempt"], 1, "{provider} {record}");
        }
    }
}
