//! Who serves models on a shard, by the names that the catalogue uses.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::lane::Lane;
use domain::route::Via;
use outbound::provider::Provider;
use outbound::provider::jobs::Jobs;
use outbound::provider::server::Server;

use crate::packing::Packing;

#[derive(Debug, Default)]
pub struct Providers(pub HashMap<String, Access>);

/// How one provider can be asked.
#[derive(Debug, Clone)]
pub enum Access {
    /// The mock: it keeps no jobs.
    Mock(Arc<dyn Provider>),
    /// One that takes whole jobs, and perhaps single questions.
    Jobs {
        jobs: Arc<dyn Jobs>,
        realtime: Option<Arc<Server>>,
        share: Share,
    },
    /// A server that is asked one by one.
    Server { server: Arc<Server>, share: Share },
}

/// What this shard may have of a provider's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// In one job.
    pub most_items: usize,
    pub most_bytes: u64,
    pub most_tokens: u64,
    /// Tokens of all jobs that wait there.
    pub most_enqueued_tokens: u64,
    /// Single questions under way.
    pub most_questions: usize,
    /// How long a lane rests after a job that was not full, so that the next one holds more.
    pub linger: TimeDelta,
    /// How long a job may stay out of sight after it was created, many times over.
    pub grace: TimeDelta,
}

impl Providers {
    pub(crate) fn find(&self, name: &str) -> Option<&Access> {
        self.0.get(name)
    }

    /// How the batches of a lane are filled: as its provider's jobs, or else as is usual.
    pub(crate) fn packing(&self, lane: &Lane, usual: Packing) -> Packing {
        match self.find(&lane.provider) {
            Some(Access::Jobs { share, .. }) if lane.via == Via::Batch => Packing {
                most_items: share.most_items,
                linger: share.linger,
            },
            Some(Access::Jobs { .. } | Access::Server { .. } | Access::Mock(_)) | None => usual,
        }
    }
}
