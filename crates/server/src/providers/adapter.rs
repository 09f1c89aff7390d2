//! From an account to who speaks with it.

use std::sync::Arc;

use domain::model::Kind as Work;
use outbound::callback::native_roots;
use outbound::provider::anthropic::Anthropic;
use outbound::provider::call::{Options, Patience, SetupFailure};
use outbound::provider::gemini::Gemini;
use outbound::provider::jobs::Jobs;
use outbound::provider::openai::OpenAi;
use outbound::provider::server::Server;
use workers::{Access, Share};

use crate::providers::Account;
use crate::providers::kind::Kind;

/// Shards share it, and its connections.
#[derive(Debug, Clone)]
pub enum Adapter {
    Jobs {
        jobs: Arc<dyn Jobs>,
        realtime: Option<Arc<Server>>,
    },
    Server(Arc<Server>),
}

impl Account {
    pub fn adapter(&self, patience: Patience) -> Result<Adapter, SetupFailure> {
        let options = Options {
            base: self.base.clone(),
            credential: self.credential.clone(),
            patience,
        };
        let roots = native_roots();
        Ok(match self.kind {
            Kind::OpenAi => Adapter::Jobs {
                jobs: Arc::new(OpenAi::new(options.clone(), roots.clone())?),
                realtime: Some(Arc::new(Server::new(options, roots)?)),
            },
            Kind::Anthropic => Adapter::Jobs {
                jobs: Arc::new(Anthropic::new(options, roots)?),
                realtime: None,
            },
            Kind::Gemini => Adapter::Jobs {
                jobs: Arc::new(Gemini::new(options, roots)?),
                realtime: None,
            },
            Kind::Server => Adapter::Server(Arc::new(Server::new(options, roots)?)),
        })
    }
}

impl Adapter {
    /// As a shard uses it.
    pub fn access(&self, share: Share) -> Access {
        match self {
            Self::Jobs { jobs, realtime } => {
                // A little of what a provider takes stands around our lines.
                let most = jobs.limits(Work::Chat).most_bytes;
                Access::Jobs {
                    jobs: Arc::clone(jobs),
                    realtime: realtime.clone(),
                    share: Share {
                        most_bytes: share.most_bytes.min(most),
                        ..share
                    },
                }
            }
            Self::Server(server) => Access::Server {
                server: Arc::clone(server),
                share,
            },
        }
    }
}
