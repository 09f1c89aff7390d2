//! The providers of a shard, by the names that the catalogue uses.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::lane::Lane;
use domain::route::InferenceMode;
use outbound::provider::batch_provider::BatchProvider;
use outbound::provider::mock::MockProvider;
use outbound::provider::realtime::RealtimeProvider;

use crate::account_states::AccountSlots;
use crate::packing_limits::PackingLimits;

/// A realtime batch has this many times the cargo of the concurrent requests.
const REALTIME_BATCH_FACTOR: usize = 4;
/// A flex batch has fewer: its answers take minutes, and urgent cargo waits for the batch before it.
const FLEX_BATCH_FACTOR: usize = 1;
/// In a realtime or flex lane, one batch is sent while the next is prepared.
const MAX_STREAM_BACKLOG: usize = 2;

#[derive(Debug, Default)]
pub struct Providers(pub HashMap<String, ProviderAccess>);

/// How one provider is called.
#[derive(Debug, Clone)]
pub enum ProviderAccess {
    /// The mock, which keeps no jobs.
    Mock(MockProvider),
    /// A provider with a batch API, and perhaps realtime requests.
    Batch {
        batch: Arc<dyn BatchProvider>,
        realtime: Option<Arc<dyn RealtimeProvider>>,
        share: AccountShare,
    },
    /// A server with realtime requests only.
    Realtime {
        realtime: Arc<dyn RealtimeProvider>,
        share: AccountShare,
    },
}

/// This shard's share of a provider account's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountShare {
    /// Per job.
    pub max_items: usize,
    pub max_bytes: u64,
    pub max_tokens: u64,
    /// Tokens of all jobs enqueued at the provider.
    pub max_enqueued_tokens: u64,
    /// Realtime requests in flight.
    pub max_concurrent_requests: usize,
    /// How long a lane lingers after a job that was not full, so that the next one is larger.
    pub linger: TimeDelta,
    /// A generous bound on how long the provider takes to list a job after its creation.
    pub grace: TimeDelta,
    /// How long the call that creates a job may take. The job is not resubmitted before that.
    pub create_timeout: TimeDelta,
}

impl Providers {
    pub(crate) fn find(&self, name: &str) -> Option<&ProviderAccess> {
        self.0.get(name)
    }

    /// The packing limits of a lane: those of its provider's jobs, or the default.
    pub(crate) fn packing(&self, lane: &Lane, usual: PackingLimits) -> PackingLimits {
        match self.find(&lane.provider) {
            Some(ProviderAccess::Batch { share, .. }) if lane.via == InferenceMode::Batch => {
                PackingLimits {
                    max_items: share.max_items,
                    linger: share.linger,
                }
            }
            // Small batches, so that late cargo does not wait for a large one.
            Some(ProviderAccess::Batch { share, .. } | ProviderAccess::Realtime { share, .. }) => {
                let factor = match lane.via {
                    InferenceMode::Flex => FLEX_BATCH_FACTOR,
                    InferenceMode::Batch | InferenceMode::Realtime => REALTIME_BATCH_FACTOR,
                };
                PackingLimits {
                    max_items: (share.max_concurrent_requests * factor).min(usual.max_items),
                    ..usual
                }
            }
            Some(ProviderAccess::Mock(_)) | None => usual,
        }
    }

    /// How many batches of a lane may wait for its provider before gather stops: later cargo would
    /// have to wait for all of them.
    pub(crate) fn max_backlog(&self, lane: &Lane, slots: AccountSlots) -> u64 {
        let batches = match self.find(&lane.provider) {
            _ if lane.via.is_single_request() => MAX_STREAM_BACKLOG,
            // Such a provider gets one submission at a time.
            Some(ProviderAccess::Batch { batch: jobs, .. }) if !jobs.supports_labels() => 2,
            Some(
                ProviderAccess::Batch { .. }
                | ProviderAccess::Realtime { .. }
                | ProviderAccess::Mock(_),
            )
            | None => slots.submissions.saturating_mul(2),
        };
        u64::try_from(batches).unwrap_or(u64::MAX)
    }
}
