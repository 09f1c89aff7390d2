//! The client for an account's protocol.

use std::sync::Arc;

use domain::model::ModelKind as Work;
use outbound::provider::anthropic::Anthropic;
use outbound::provider::batch_provider::BatchProvider;
use outbound::provider::client::{ProviderOptions, ProviderSetupFailure, ProviderTimeouts};
use outbound::provider::gemini::Gemini;
use outbound::provider::gemini::realtime::GeminiRealtime;
use outbound::provider::openai::OpenAi;
use outbound::provider::realtime::{OpenAiRealtime, RealtimeProvider, ServerDialect};
use outbound::tls::native_roots;
use workers::{AccountShare, ProviderAccess};

use crate::providers::ProviderAccount;
use crate::providers::kind::ProviderKind;

/// `eu.api.openai.com` and the like are `OpenAI`, too.
const OPENAI_HOST: &str = "api.openai.com";

/// All shards share it and its connections.
#[derive(Debug, Clone)]
pub enum ProviderAdapter {
    Batch {
        batch: Arc<dyn BatchProvider>,
        realtime: Option<Arc<dyn RealtimeProvider>>,
    },
    Realtime(Arc<dyn RealtimeProvider>),
}

impl ProviderAccount {
    pub fn adapter(
        &self,
        timeouts: ProviderTimeouts,
    ) -> Result<ProviderAdapter, ProviderSetupFailure> {
        let options = self.options(timeouts);
        let roots = native_roots();
        Ok(match self.kind {
            ProviderKind::OpenAi => {
                let mut service = self.account_kind().service();
                // Other services with OpenAI's API may refuse fields that only OpenAI knows.
                if !self.is_at_openai() {
                    service.dialect = ServerDialect::Compatible;
                }
                let batch = OpenAi::for_service(options.clone(), roots.clone(), service)?;
                let realtime = OpenAiRealtime::for_service(options, roots, service)?;
                ProviderAdapter::Batch {
                    batch: Arc::new(batch),
                    realtime: Some(Arc::new(realtime)),
                }
            }
            ProviderKind::Anthropic => ProviderAdapter::Batch {
                batch: Arc::new(Anthropic::new(options, roots)?),
                realtime: None,
            },
            ProviderKind::Gemini => ProviderAdapter::Batch {
                batch: Arc::new(Gemini::new(options.clone(), roots.clone())?),
                realtime: Some(Arc::new(GeminiRealtime::new(options, roots)?)),
            },
            ProviderKind::Server => {
                let server = OpenAiRealtime::new(options, roots, ServerDialect::SelfHosted)?;
                ProviderAdapter::Realtime(Arc::new(server))
            }
        })
    }

    fn is_at_openai(&self) -> bool {
        let host = self.base_url.host_str().unwrap_or_default();
        host == OPENAI_HOST
            || host
                .strip_suffix(OPENAI_HOST)
                .is_some_and(|it| it.ends_with('.'))
    }

    /// The client of a self-hosted server, which can be asked for its features. None for other
    /// accounts.
    pub fn server(
        &self,
        timeouts: ProviderTimeouts,
    ) -> Result<Option<OpenAiRealtime>, ProviderSetupFailure> {
        if self.kind != ProviderKind::Server {
            return Ok(None);
        }
        let options = self.options(timeouts);
        OpenAiRealtime::new(options, native_roots(), ServerDialect::SelfHosted).map(Some)
    }

    fn options(&self, timeouts: ProviderTimeouts) -> ProviderOptions {
        ProviderOptions {
            base_url: self.base_url.clone(),
            credential: self.credential.clone(),
            timeouts,
        }
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
