//! The client for an account's protocol.

use std::sync::Arc;

use domain::model::ModelKind as Work;
use outbound::provider::anthropic::Anthropic;
use outbound::provider::batch_provider::BatchProvider;
use outbound::provider::client::{ProviderOptions, ProviderSetupFailure, ProviderTimeouts};
use outbound::provider::gemini::Gemini;
use outbound::provider::openai::OpenAi;
use outbound::provider::realtime::RealtimeProvider;
use outbound::tls::native_roots;
use workers::{AccountShare, ProviderAccess};

use crate::providers::ProviderAccount;
use crate::providers::kind::ProviderKind;

/// All shards share it and its connections.
#[derive(Debug, Clone)]
pub enum ProviderAdapter {
    Batch {
        batch: Arc<dyn BatchProvider>,
        realtime: Option<Arc<RealtimeProvider>>,
    },
    Realtime(Arc<RealtimeProvider>),
}

impl ProviderAccount {
    pub fn adapter(
        &self,
        patience: ProviderTimeouts,
    ) -> Result<ProviderAdapter, ProviderSetupFailure> {
        let options = ProviderOptions {
            base_url: self.base_url.clone(),
            credential: self.credential.clone(),
            timeouts: patience,
        };
        let roots = native_roots();
        Ok(match self.kind {
            ProviderKind::OpenAi => ProviderAdapter::Batch {
                batch: Arc::new(OpenAi::new(options.clone(), roots.clone())?),
                realtime: Some(Arc::new(RealtimeProvider::new(options, roots)?)),
            },
            ProviderKind::Anthropic => ProviderAdapter::Batch {
                batch: Arc::new(Anthropic::new(options, roots)?),
                realtime: None,
            },
            ProviderKind::Gemini => ProviderAdapter::Batch {
                batch: Arc::new(Gemini::new(options, roots)?),
                realtime: None,
            },
            ProviderKind::Server => {
                ProviderAdapter::Realtime(Arc::new(RealtimeProvider::new(options, roots)?))
            }
        })
    }
}

impl ProviderAdapter {
    /// The access of one shard, with its share of the limits.
    pub fn access(&self, share: AccountShare) -> ProviderAccess {
        match self {
            Self::Batch {
                batch: jobs,
                realtime,
            } => {
                // The provider's limit also covers the bytes around the items.
                let max_bytes = jobs.limits(Work::Chat).max_bytes;
                ProviderAccess::Batch {
                    batch: Arc::clone(jobs),
                    realtime: realtime.clone(),
                    share: AccountShare {
                        max_bytes: share.max_bytes.min(max_bytes),
                        ..share
                    },
                }
            }
            Self::Realtime(server) => ProviderAccess::Realtime {
                realtime: Arc::clone(server),
                share,
            },
        }
    }
}
