//! What a test's service allows: by default so much that no test notices.

use std::sync::Arc;
use std::time::Duration;

use api::limits::LimiterOptions;
use domain::limit::{Backstop, Limits, Rate};
use outbound::counters::Counters;
use store::control::node::Node;

use crate::database::HandMoved;

#[derive(Debug, Clone)]
pub(crate) struct Limited {
    /// The address of a Redis; without one each app limits by itself.
    pub(crate) redis: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) backstop: Backstop,
    /// Longer than a busy machine holds anyone up, so that no call is given up by accident.
    pub(crate) budget: Duration,
}

const ENDLESS: u32 = 10_000_000;

impl Default for Limited {
    fn default() -> Self {
        let mut limits = Limits::default();
        let Limits {
            free,
            starter,
            pro,
            enterprise,
        } = &mut limits;
        for plan in [free, starter, pro, enterprise] {
            plan.rate = Rate {
                burst: ENDLESS,
                per_minute: ENDLESS,
            };
        }
        Self {
            redis: None,
            limits,
            backstop: Backstop {
                per_minute: ENDLESS,
                per_hour: ENDLESS,
            },
            budget: Duration::from_secs(20),
        }
    }
}

impl Limited {
    /// The plans of the contract, counted by this Redis.
    pub(crate) fn by(url: String) -> Self {
        Self {
            redis: Some(url),
            limits: Limits::default(),
            ..Self::default()
        }
    }

    pub(super) fn counters(&self) -> Option<Counters> {
        let url = self.redis.as_ref()?;
        Some(Counters::new(url).unwrap())
    }

    /// Buckets go by the hand-moved clock too.
    pub(super) fn options(&self, clock: &Arc<HandMoved>) -> LimiterOptions {
        LimiterOptions {
            backstop: self.backstop,
            budget: self.budget,
            clock: Some(clock.clone()),
        }
    }
}

pub(super) fn node() -> Node {
    Node {
        id: uuid::Uuid::from_u64_pair(rand::random(), rand::random()),
        name: "test".to_owned(),
    }
}
