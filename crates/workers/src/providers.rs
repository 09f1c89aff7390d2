//! Who serves models on a shard, by the names that the catalogue uses.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::lane::Lane;
use domain::route::Via;
use outbound::provider::Provider;
use outbound::provider::jobs::Jobs;
use outbound::provider::server::Server;

use crate::accounts::AccountSlots;
use crate::packing::Packing;

/// A batch that is asked for one by one holds so many times what is asked at once.
const QUESTIONS_AHEAD: usize = 4;
/// Of a lane that is asked one by one: one is served while the next is made ready.
const REALTIME_BACKLOG: usize = 2;

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
    /// How long the call that creates a job may take: before that, it is not sent again.
    pub create_timeout: TimeDelta,
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
            // Small ones, so that a cargo that comes late need not wait for all of a large one.
            Some(Access::Jobs { share, .. } | Access::Server { share, .. }) => Packing {
                most_items: (share.most_questions * QUESTIONS_AHEAD).min(usual.most_items),
                ..usual
            },
            Some(Access::Mock(_)) | None => usual,
        }
    }

    /// How many batches of a lane may wait for its provider before no more are gathered: those
    /// who come later would have to wait for all of them.
    pub(crate) fn max_backlog(&self, lane: &Lane, slots: AccountSlots) -> u64 {
        let batches = match self.find(&lane.provider) {
            _ if lane.via == Via::Realtime => REALTIME_BACKLOG,
            // Only one is on its way at a time.
            Some(Access::Jobs { jobs, .. }) if !jobs.labelled() => 2,
            Some(Access::Jobs { .. } | Access::Server { .. } | Access::Mock(_)) | None => {
                slots.submissions.saturating_mul(2)
            }
        };
        u64::try_from(batches).unwrap_or(u64::MAX)
    }
}
