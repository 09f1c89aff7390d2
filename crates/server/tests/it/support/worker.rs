//! The dependencies of a worker set in tests, and more worker processes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::callback_url::AllowedSchemes;
use domain::history_retention::HistoryRetention;
use domain::model::Catalogue;
use domain::retry_schedule::RetrySchedule;
use outbound::callback::HttpCallbackClient;
use outbound::provider::mock::MockProvider;
use store::Shard;
use tokio::sync::watch;
use workers::{CallbackLimits, PackingLimits, Providers, WorkerSet};

use crate::support::signing::signing_roots;
use crate::support::{MOCK_DELAY, TestService};

impl TestService {
    /// Joins another worker process on the north shard, with changed dependencies.
    pub(crate) async fn join_worker_set_with(
        &self,
        change: impl FnOnce(&mut workers::WorkerSetDeps),
    ) -> WorkerSet {
        let mut deps = self.worker_deps.clone();
        deps.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
        change(&mut deps);
        WorkerSet::join(deps).await.unwrap()
    }

    /// Joins another worker process, which reaches the north shard through this handle.
    pub(crate) async fn join_worker_set_on(&self, shard: Arc<Shard>) -> WorkerSet {
        self.join_worker_set_with(|deps| deps.shard = shard).await
    }

    /// Joins another worker process on the north shard.
    pub(crate) async fn join_another_worker_set(&self) -> WorkerSet {
        self.join_worker_set_with(|_| {}).await
    }

    /// Joins another worker process on the north shard, one that calls https URLs only.
    pub(crate) async fn join_production_worker_set(&self) -> WorkerSet {
        let callbacks = callback_client(AllowedSchemes::HttpsOnly);
        self.join_worker_set_with(|deps| deps.callbacks = callbacks)
            .await
    }
}

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
        tracer: None,
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
            listener_timeout: Some(Duration::from_secs(20)),
            signing_roots: Some(signing_roots()),
            retention: HistoryRetention::default(),
            spool_dir: std::env::temp_dir(),
            drain_timeout: Duration::from_secs(5),
        },
    }
}

fn callback_client(schemes: AllowedSchemes) -> Arc<HttpCallbackClient> {
    let client = HttpCallbackClient::new(outbound::callback::Options {
        timeout: Duration::from_secs(2),
        allowed_ranges: vec!["127.0.0.0/16".parse().unwrap()],
        schemes,
        rules: <_>::default(),
    });
    Arc::new(client.unwrap())
}
