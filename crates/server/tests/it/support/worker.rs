//! What a crew of the tests is made of.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::delivery::Schedule;
use domain::model::Catalogue;
use outbound::callback::Callbacks;
use outbound::provider::Provider;
use outbound::provider::mock::Mock;
use store::Shard;
use tokio::sync::watch;
use workers::{CallbackLimits, Packing, Providers};

use crate::support::MOCK_DELAY;

pub(super) fn worker_parts(
    shard: Arc<Shard>,
    catalogue: watch::Receiver<Arc<Catalogue>>,
) -> workers::Parts {
    let mock: Arc<dyn Provider> = Arc::new(Mock::new(MOCK_DELAY));
    let callbacks = Callbacks::new(outbound::callback::Options {
        timeout: Duration::from_secs(2),
        allow: vec!["127.0.0.0/16".parse().unwrap()],
    });
    workers::Parts {
        shard,
        catalogue,
        providers: Arc::new(Providers(HashMap::from([(
            "mock".to_owned(),
            workers::Access::Mock(mock),
        )]))),
        callbacks: Arc::new(callbacks.unwrap()),
        files: None,
        options: workers::Options {
            node: uuid::Uuid::from_u64_pair(rand::random(), rand::random()),
            name: "test".to_owned(),
            // Nothing renews it here: claims are made by nodes that are alive.
            lease: Duration::from_hours(1),
            packing: Packing {
                most_items: 10,
                linger: chrono::TimeDelta::zero(),
            },
            account_slots: workers::AccountSlots::default(),
            callback_limits: CallbackLimits {
                slots: 64,
                per_destination: 16,
                payload_bytes: 1 << 20,
            },
            schedule: Schedule::default(),
            retention: chrono::TimeDelta::days(30),
            spools: std::env::temp_dir(),
            drain: Duration::from_secs(5),
        },
    }
}
