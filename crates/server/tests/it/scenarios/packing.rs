//! The contents of a job: the limits of the share, fairness between organizations, and order.

use serde_json::json;
use simulator::{SimulatedPace, SimulatedProvider};
use test_support::callback_receiver::CallbackReceiver;
use workers::AccountShare;
use workers::stage::Stage as _;

use super::scenario::{BATCH_PROVIDERS, SHORT_STEP};
use crate::support::simulated_providers::{
    PRIMARY_ACCOUNT, ProviderFixture, default_share, provider_chat_request,
};

async fn load_many(
    fixture: &ProviderFixture,
    provider: SimulatedProvider,
    count: usize,
    receiver: &CallbackReceiver,
) -> Vec<String> {
    let mut cargo = Vec::new();
    for number in 0..count {
        let text = format!("crate {number}");
        cargo.push(fixture.load(provider, &text, receiver.url()).await);
    }
    cargo
}

fn job_sizes(fixture: &ProviderFixture, provider: SimulatedProvider) -> Vec<usize> {
    let jobs = fixture.simulator.jobs(provider, PRIMARY_ACCOUNT);
    jobs.iter().map(|job| job.items).collect()
}

#[tokio::test]
async fn items_beyond_one_job_go_into_the_next_in_the_same_attempt() {
    let few = AccountShare {
        max_items: 4,
        ..default_share()
    };
    let small = AccountShare {
        max_bytes: 500,
        ..default_share()
    };
    for provider in BATCH_PROVIDERS {
        for share in [few, small] {
            let mut fixture = ProviderFixture::start_with_share(share).await;
            let receiver = CallbackReceiver::new().await;
            let cargo = load_many(&fixture, provider, 6, &receiver).await;
            fixture.wait_for_callbacks(&cargo, SHORT_STEP, 20).await;
            let sizes = job_sizes(&fixture, provider);
            assert_eq!(sizes.iter().sum::<usize>(), 6, "{provider} {sizes:?}");
            assert!(sizes.iter().all(|size| *size <= 4), "{provider} {sizes:?}");
            assert_eq!(receiver.callbacks().len(), 6);
            for cargo in &cargo {
                let record = fixture.service.track(&fixture.customer, cargo).await;
                assert_eq!(record["attempt"], 1, "{provider} {record}");
            }
            // A leftover item counts only in the batch share of the batch that it was sent in.
            let shares =
                "select sum(s.cargo) from shard.share s join shard.batch b on b.id = s.batch
                          where s.cargo = cardinality(b.cargo) and s.succeeded = s.cargo";
            let shares = sqlx::query_scalar::<_, i64>(shares);
            let shares = shares.fetch_one(&fixture.service.north.pool).await;
            assert_eq!(shares.unwrap(), 6, "{provider}");
            fixture.assert_booked_as_billed().await;
        }
    }
}

#[tokio::test]
async fn requests_with_the_same_system_prompt_are_adjacent() {
    let mut fixture = ProviderFixture::start().await;
    let mut systems = std::collections::HashMap::new();
    for number in 0..9 {
        let system = ["You stow.", "You lash.", "You tally."][number % 3];
        let mut body = provider_chat_request("openai", &format!("crate {number}"), "");
        body["params"]["system"] = json!(system);
        body["callback_url"] = json!(null);
        let cargo = fixture.service.load(&fixture.customer, &body).await;
        systems.insert(cargo, system);
    }
    fixture.advance(SHORT_STEP).await;
    assert_eq!(job_sizes(&fixture, SimulatedProvider::OpenAi), [9]);
    let order = sqlx::query_scalar::<_, Vec<uuid::Uuid>>("select cargo from shard.batch");
    let order = order.fetch_one(&fixture.service.north.pool).await.unwrap();
    let mut runs: Vec<&str> = order
        .into_iter()
        .map(|id| systems[&domain::id::CargoId::from_uuid(id).to_string()])
        .collect();
    runs.dedup();
    assert_eq!(runs.len(), 3, "{runs:?}");
    fixture.finish_and_compare_bill().await;
}

#[tokio::test]
async fn an_organization_with_one_cargo_is_in_the_next_batch() {
    for provider in BATCH_PROVIDERS {
        let mut fixture = ProviderFixture::start().await;
        let receiver = CallbackReceiver::new().await;
        load_many(&fixture, provider, 25, &receiver).await;
        let other = fixture.service.create_customer().await;
        let credit = domain::money::Money(1_000_000_000);
        fixture.service.add_credit(&other, credit).await;
        let body = provider_chat_request(provider.name(), "the only one", receiver.url());
        let only = fixture.service.load(&other, &body).await;
        let now = fixture.service.now();
        // One batch of ten: nine items are of the large organization.
        fixture.service.worker_sets[0]
            .gather
            .step(now)
            .await
            .unwrap();
        assert_eq!(
            fixture.service.status(&other, &only).await,
            "BATCHED",
            "{provider}"
        );
        fixture.service.worker_sets[0]
            .dispatch
            .step(now)
            .await
            .unwrap();
        assert_eq!(job_sizes(&fixture, provider), [10]);
        assert_eq!(fixture.service.status(&other, &only).await, "PROCESSING");
        fixture.finish_and_compare_bill().await;
    }
}

#[tokio::test]
async fn a_truncated_job_leaves_out_items_of_the_largest_organization() {
    let few = AccountShare {
        max_items: 4,
        ..default_share()
    };
    for provider in BATCH_PROVIDERS {
        let mut fixture = ProviderFixture::start_with_share(few).await;
        let receiver = CallbackReceiver::new().await;
        load_many(&fixture, provider, 8, &receiver).await;
        let other = fixture.service.create_customer().await;
        let credit = domain::money::Money(1_000_000_000);
        fixture.service.add_credit(&other, credit).await;
        let body = provider_chat_request(provider.name(), "the only one", receiver.url());
        let only = fixture.service.load(&other, &body).await;
        let now = fixture.service.now();
        fixture.service.worker_sets[0]
            .gather
            .step(now)
            .await
            .unwrap();
        fixture.service.worker_sets[0]
            .dispatch
            .step(now)
            .await
            .unwrap();
        assert_eq!(job_sizes(&fixture, provider), [4]);
        let status = fixture.service.status(&other, &only).await;
        assert_eq!(status, "PROCESSING", "{provider}");
        fixture.finish_and_compare_bill().await;
    }
}

#[tokio::test]
async fn batches_submitted_at_once_share_the_enqueue_limit() {
    let narrow = AccountShare {
        max_enqueued_tokens: 700,
        ..default_share()
    };
    for provider in BATCH_PROVIDERS {
        let mut fixture = ProviderFixture::start_with_share(narrow).await;
        let receiver = CallbackReceiver::new().await;
        let pace = SimulatedPace {
            running_ms: 300_000,
            ..SimulatedPace::default()
        };
        fixture.simulator.set_pace(provider, PRIMARY_ACCOUNT, pace);
        load_many(&fixture, provider, 30, &receiver).await;
        let now = fixture.service.now();
        // Three batches of ten. Each of them alone fits below the limit.
        for _ in 0..3 {
            fixture.service.worker_sets[0]
                .gather
                .step(now)
                .await
                .unwrap();
        }
        fixture.service.worker_sets[0]
            .dispatch
            .step(now)
            .await
            .unwrap();
        let north = &fixture.service.north;
        let enqueued = store::shard::provider::count_enqueued_tokens(north, provider.name(), now);
        let (tokens, _) = enqueued.await.unwrap();
        assert!((1..=700).contains(&tokens), "{provider} {tokens}");
        assert!(
            job_sizes(&fixture, provider).iter().sum::<usize>() < 30,
            "{provider}"
        );
        fixture.finish_and_compare_bill().await;
    }
}

#[tokio::test]
async fn tokens_enqueued_at_the_provider_delay_other_jobs() {
    let narrow = AccountShare {
        max_items: 3,
        max_enqueued_tokens: 200,
        ..default_share()
    };
    for provider in BATCH_PROVIDERS {
        let mut fixture = ProviderFixture::start_with_share(narrow).await;
        let receiver = CallbackReceiver::new().await;
        let pace = SimulatedPace {
            running_ms: 300_000,
            ..SimulatedPace::default()
        };
        fixture.simulator.set_pace(provider, PRIMARY_ACCOUNT, pace);
        let cargo = load_many(&fixture, provider, 9, &receiver).await;
        let mut most = 0;
        for _ in 0..60 {
            fixture.advance(SHORT_STEP).await;
            let jobs = fixture.simulator.jobs(provider, PRIMARY_ACCOUNT);
            let open = jobs.iter().filter(|job| job.ended_at.is_none());
            most = most.max(open.map(|job| job.items).sum());
            let (north, name) = (&fixture.service.north, provider.name());
            let now = fixture.service.now();
            let enqueued = store::shard::provider::count_enqueued_tokens(north, name, now);
            let (tokens, _) = enqueued.await.unwrap();
            assert!(tokens <= narrow.max_enqueued_tokens, "{provider} {tokens}");
        }
        fixture.wait_for_callbacks(&cargo, SHORT_STEP, 60).await;
        assert!((1..=6).contains(&most), "{provider}: {most} at once");
        assert_eq!(receiver.callbacks().len(), 9, "{provider}");
        for cargo in &cargo {
            let record = fixture.service.track(&fixture.customer, cargo).await;
            assert_eq!(record["attempt"], 1, "{provider} {record}");
        }
        fixture.assert_booked_as_billed().await;
    }
}
