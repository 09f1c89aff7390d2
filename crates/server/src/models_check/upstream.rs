//! What providers tell about the models that routes name.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::error_chain;
use domain::model::{Catalogue, ModelKind};
use outbound::provider::client::{ProviderCallFailure, ProviderOptions, ProviderTimeouts};
use outbound::provider::model_info::{ModelInfo, ModelInfoApi, ModelInfoClient};
use outbound::provider::realtime::{OpenAiRealtime, ProbedFeatures, RealtimeProvider as _};
use outbound::tls::native_roots;
use tokio::task::JoinSet;

use crate::providers::kind::ProviderKind;
use crate::providers::{ProviderAccount, ProviderAccounts, ProviderAdapter};

/// For one call; accounts are asked in parallel.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// What a provider tells about one model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct UpstreamFacts {
    /// None if the provider does not tell.
    pub(super) exists: Option<bool>,
    pub(super) info: ModelInfo,
    /// Of a self-hosted server.
    pub(super) probed: Option<ProbedFeatures>,
}

/// By account and the provider's name for the model. An error says why nothing is known.
pub(super) type UpstreamAnswers = BTreeMap<(String, String), Result<UpstreamFacts, String>>;

pub(super) async fn ask_all(catalogue: &Catalogue, accounts: &ProviderAccounts) -> UpstreamAnswers {
    let mut questions = JoinSet::new();
    for account in accounts.iter().cloned() {
        let upstreams = list_upstreams(catalogue, &account.name);
        if !upstreams.is_empty() {
            questions.spawn(async move { ask_account(&account, upstreams).await });
        }
    }
    questions.join_all().await.into_iter().flatten().collect()
}

/// The models of an account by the provider's names.
fn list_upstreams(catalogue: &Catalogue, provider: &str) -> BTreeMap<String, ModelKind> {
    let mut upstreams = BTreeMap::new();
    for model in catalogue.models() {
        let routes = model.routes.iter().filter(|it| it.provider == provider);
        upstreams.extend(routes.map(|route| (route.upstream_model.clone(), model.kind)));
    }
    upstreams
}

async fn ask_account(
    account: &ProviderAccount,
    upstreams: BTreeMap<String, ModelKind>,
) -> UpstreamAnswers {
    let source = FactSource::open(account).await;
    let mut answers = UpstreamAnswers::new();
    for (upstream, kind) in upstreams {
        let answer = match &source {
            Ok(source) => source.ask(&upstream, kind).await,
            Err(why) => Err(why.clone()),
        };
        answers.insert((account.name.clone(), upstream), answer);
    }
    answers
}

/// How an account can be asked.
enum FactSource {
    /// The provider describes each model.
    Descriptions(Box<ModelInfoClient>),
    /// The provider has a list of names.
    Names(BTreeSet<String>),
    Server {
        names: BTreeSet<String>,
        server: Box<OpenAiRealtime>,
    },
    /// The provider lists its models by other names than routes use.
    Nothing,
}

impl FactSource {
    async fn open(account: &ProviderAccount) -> Result<Self, String> {
        let timeouts = ProviderTimeouts {
            call: CALL_TIMEOUT,
            ..ProviderTimeouts::default()
        };
        match account.kind {
            ProviderKind::Anthropic => describe(account, timeouts, ModelInfoApi::Anthropic),
            ProviderKind::Gemini => describe(account, timeouts, ModelInfoApi::Gemini),
            ProviderKind::OpenAi if !account.account_kind().lists_upstream_names() => {
                Ok(Self::Nothing)
            }
            ProviderKind::OpenAi => {
                let adapter = account.adapter(timeouts);
                let adapter = adapter.map_err(|failure| error_chain::chain(&failure))?;
                let ProviderAdapter::Batch {
                    realtime: Some(realtime),
                    ..
                } = adapter
                else {
                    return Ok(Self::Nothing);
                };
                let names = realtime.list_models().await;
                Ok(Self::Names(names.map_err(diagnose)?))
            }
            ProviderKind::Server => {
                let server = account.server(timeouts);
                let server = server.map_err(|failure| error_chain::chain(&failure))?;
                let Some(server) = server else {
                    return Ok(Self::Nothing);
                };
                Ok(Self::Server {
                    names: server.list_models().await.map_err(diagnose)?,
                    server: Box::new(server),
                })
            }
        }
    }

    async fn ask(&self, upstream: &str, kind: ModelKind) -> Result<UpstreamFacts, String> {
        let mut facts = UpstreamFacts::default();
        match self {
            Self::Nothing => {}
            Self::Names(names) => facts.exists = Some(names.contains(upstream)),
            Self::Descriptions(client) => {
                let info = client.describe(upstream).await.map_err(diagnose)?;
                facts.exists = Some(info.is_some());
                facts.info = info.unwrap_or_default();
            }
            Self::Server { names, server } => {
                let exists = names.contains(upstream);
                facts.exists = Some(exists);
                if exists && kind == ModelKind::Chat {
                    let probed = server.probe_features(upstream).await;
                    facts.probed = Some(probed.map_err(diagnose)?);
                }
            }
        }
        Ok(facts)
    }
}

fn describe(
    account: &ProviderAccount,
    timeouts: ProviderTimeouts,
    api: ModelInfoApi,
) -> Result<FactSource, String> {
    let options = ProviderOptions {
        base_url: account.base_url.clone(),
        credential: account.credential.clone(),
        timeouts,
    };
    let client = ModelInfoClient::new(options, native_roots(), api);
    let client = client.map_err(|failure| error_chain::chain(&failure))?;
    Ok(FactSource::Descriptions(Box::new(client)))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the argument of map_err is a value"
)]
fn diagnose(failure: ProviderCallFailure) -> String {
    failure.diagnosis()
}
