//! The dependencies of a worker set in tests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::callback_url::AllowedSchemes;
use domain::model::Catalogue;
use domain::retry_schedule::RetrySchedule;
use outbound::callback::HttpCallbackClient;
use outbound::provider::mock::MockProvider;
use store::Shard;
use tokio::sync::watch;
use workers::{CallbackLimits, PackingLimits, Providers};

use crate::support::MOCK_DELAY;

pub(super) fn worker_set_deps(
    shard: Arc<Shard>,
    catalogue: watch::Receiver<Arc<Catalogue>>,
) -> workers::WorkerSetDeps {
    let mock = MockProvider::new(MOCK_DELAY);
    workers::WorkerSetDeps {
        shard,
        catalogue,
        providers: Arc::new(Providers(HashMap::from([(
            "mock".to_owned(),
            workers::ProviderAccess::Mock(mock),
        )]))),
        callbacks: callback_client(AllowedSchemes::HttpAndHttps),
        files: None,
        options: workers::Options {
            node: uuid::Uuid::from_u64_pair(rand::random(), rand::random()),
            name: "test".to_owned(),
            // No test renews the lease, and only a live node can claim.
            lease_duration: Duration::from_hours(1),
            packing: PackingLimits {
                max_items: 10,
                linger: chrono::TimeDelta::zero(),
            },
            account_slots: workers::AccountSlots::default(),
            callback_limits: CallbackLimits {
                slots: 64,
                per_destination: 16,
                payload_bytes: 1 << 20,
            },
            retry_schedule: RetrySchedule::default(),
            retention: chrono::TimeDelta::days(30),
            spool_dir: std::env::temp_dir(),
            drain_timeout: Duration::from_secs(5),
        },
    }
}

pub(super) fn callback_client(schemes: AllowedSchemes) -> Arc<HttpCallbackClient> {
    let client = HttpCallbackClient::new(outbound::callback::Options {
        timeout: Duration::from_secs(2),
        allowed_ranges: vec!["127.0.0.0/16".parse().unwrap()],
        schemes,
    });
    Arc::new(client.unwrap())
}
