//! A service whose models are served by simulated providers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::model::{Model, ModelKind, Prices};
use domain::route::{InferenceMode, Route, Routes};
use outbound::provider::anthropic::Anthropic;
use outbound::provider::batch_provider::BatchProvider;
use outbound::provider::client::{ProviderOptions, ProviderTimeouts};
use outbound::provider::credential::ProviderCredential;
use outbound::provider::gemini::Gemini;
use outbound::provider::openai::OpenAi;
use outbound::provider::realtime::{OpenAiRealtime, ServerDialect};
use outbound::tls::native_roots;
use serde_json::{Value, json};
use simulator::{SimulatedProvider, Simulator};
use workers::stage::Stage as _;
use workers::{AccountShare, ProviderAccess, Providers, WorkerSet};

use crate::support::credit::{ONE_DOLLAR, PRICE};
use crate::support::provider_bills::provider_prices;
use crate::support::{Customer, TestService};

/// The credential for each provider. The simulator uses it as the account.
pub(crate) const PRIMARY_ACCOUNT: &str = "demo";
/// The credential of a second account with each provider. The account's name ends with it.
pub(crate) const SPARE_ACCOUNT: &str = "spare";
/// How long a new job may be missing from the provider's list.
pub(crate) const RESUBMIT_GRACE: Duration = Duration::from_mins(1);

pub(crate) struct ProviderFixture {
    pub(crate) service: TestService,
    pub(crate) simulator: Simulator,
    pub(crate) customer: Customer,
}

impl ProviderFixture {
    /// Starts a service with one priced model for each provider. The model has the provider's name.
    pub(crate) async fn start() -> Self {
        Self::start_with_share(default_share()).await
    }

    /// The same, with this share of every account.
    pub(crate) async fn start_with_share(share: AccountShare) -> Self {
        Self::start_on(Box::pin(TestService::new()).await, share).await
    }

    pub(crate) async fn start_with_second_shard() -> Self {
        let service = Box::pin(TestService::with_second_shard()).await;
        Self::start_on(service, default_share()).await
    }

    async fn start_on(mut service: TestService, share: AccountShare) -> Self {
        let options = simulator::Options {
            manual_start: Some(service.now()),
            ..simulator::Options::default()
        };
        let simulator = Simulator::start(options).await.unwrap();
        for provider in SimulatedProvider::ALL {
            let route = route(provider.name(), inference_mode(provider));
            service.add_model(routed_model(provider.name(), route));
        }
        Box::pin(service.use_simulated_providers(&simulator, share)).await;
        let customer = service.create_customer().await;
        service.add_credit(&customer, ONE_DOLLAR).await;
        Self {
            service,
            simulator,
            customer,
        }
    }

    pub(crate) async fn load(
        &self,
        provider: SimulatedProvider,
        text: &str,
        callback: &str,
    ) -> String {
        let body = provider_chat_request(provider.name(), text, callback);
        self.service.load(&self.customer, &body).await
    }

    /// Advances both clocks, and runs every stage.
    pub(crate) async fn advance(&mut self, by: Duration) {
        let now = self.service.clock.advance(by);
        self.simulator.advance(by);
        for workers in &mut self.service.worker_sets {
            workers.sweep.step(now).await.unwrap();
        }
        self.service.run_until_idle().await;
    }

    /// Advances until every callback has ended, at most `max_steps` times.
    pub(crate) async fn wait_for_callbacks(
        &mut self,
        cargo: &[String],
        step: Duration,
        max_steps: u32,
    ) {
        for _ in 0..max_steps {
            let mut open = 0;
            for cargo in cargo {
                let status = self.service.status(&self.customer, cargo).await;
                open += usize::from(!status.starts_with("callback_"));
            }
            if open == 0 {
                return;
            }
            self.advance(step).await;
        }
    }

    /// Cancels every job of an account, as its owner can in the provider's console.
    pub(crate) async fn cancel_jobs(&self, provider: SimulatedProvider) {
        let ProviderAccess::Batch { batch: jobs, .. } =
            provider_access(&self.simulator, provider, PRIMARY_ACCOUNT, default_share())
        else {
            return;
        };
        for job in self.simulator.jobs(provider, PRIMARY_ACCOUNT) {
            let name = match provider {
                SimulatedProvider::Gemini => format!("batches/{}", job.id),
                SimulatedProvider::OpenAi
                | SimulatedProvider::Anthropic
                | SimulatedProvider::Server => job.id,
            };
            jobs.cancel(&outbound::provider::ProviderJobId(name))
                .await
                .unwrap();
        }
    }
}

pub(crate) fn provider_chat_request(model: &str, text: &str, callback: &str) -> Value {
    json!({
        "params": {
            "model": model, "max_tokens": 64,
            "messages": [{"role": "user", "content": text}],
        },
        "callback_url": callback,
    })
}

pub(crate) const fn inference_mode(provider: SimulatedProvider) -> InferenceMode {
    match provider {
        SimulatedProvider::Server => InferenceMode::Realtime,
        SimulatedProvider::OpenAi | SimulatedProvider::Anthropic | SimulatedProvider::Gemini => {
            InferenceMode::Batch
        }
    }
}

pub(crate) fn route(provider: &str, via: InferenceMode) -> Route {
    Route {
        cost: Some(provider_prices(via).price()),
        ..Route::plain(provider, "theirs", via)
    }
}

pub(crate) fn routed_model(id: &str, first: Route) -> Model {
    Model {
        routes: Routes::from(first),
        prices: Some(Prices {
            batch: PRICE,
            realtime: None,
        }),
        ..Model::plain(id, "unused", ModelKind::Chat)
    }
}

impl TestService {
    /// The accounts of the workers.
    pub(crate) fn providers(&self) -> &Providers {
        &self.worker_deps.providers
    }

    /// Replaces the worker sets with ones that call the simulated providers.
    pub(crate) async fn use_simulated_providers(
        &mut self,
        simulator: &Simulator,
        share: AccountShare,
    ) {
        let mut providers = HashMap::new();
        for provider in SimulatedProvider::ALL {
            let account = provider_access(simulator, provider, PRIMARY_ACCOUNT, share);
            providers.insert(provider.name().to_owned(), account);
            let account = provider_access(simulator, provider, SPARE_ACCOUNT, share);
            providers.insert(format!("{provider}-{SPARE_ACCOUNT}"), account);
        }
        self.worker_deps.providers = Arc::new(Providers(providers));
        for workers in std::mem::take(&mut self.worker_sets) {
            workers.leave().await.unwrap();
        }
        for shard in self.shards() {
            let mut deps = workers::WorkerSetDeps {
                shard,
                ..self.worker_deps.clone()
            };
            deps.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
            self.worker_sets.push(WorkerSet::join(deps).await.unwrap());
        }
    }
}

/// A share that is large enough for most tests.
pub(crate) fn default_share() -> AccountShare {
    AccountShare {
        max_items: 10,
        max_bytes: 1 << 20,
        max_tokens: 1 << 30,
        max_enqueued_tokens: 1 << 30,
        max_concurrent_requests: 4,
        linger: TimeDelta::zero(),
        grace: TimeDelta::from_std(RESUBMIT_GRACE).unwrap(),
        create_timeout: TimeDelta::from_std(RESUBMIT_GRACE).unwrap(),
    }
}

fn provider_access(
    simulator: &Simulator,
    provider: SimulatedProvider,
    account: &str,
    share: AccountShare,
) -> ProviderAccess {
    let base = simulator.base_url(provider);
    let options = |path: &str| ProviderOptions {
        base_url: format!("{base}{path}").parse().unwrap(),
        credential: Some(ProviderCredential::new(account)),
        timeouts: ProviderTimeouts::default(),
    };
    let roots = || native_roots();
    let jobs = |jobs: Arc<dyn BatchProvider>| ProviderAccess::Batch {
        batch: jobs,
        realtime: None,
        share,
    };
    match provider {
        SimulatedProvider::OpenAi => ProviderAccess::Batch {
            batch: Arc::new(OpenAi::new(options("/v1"), roots()).unwrap()),
            // For flex.
            realtime: Some(Arc::new(
                OpenAiRealtime::new(options("/v1"), roots(), ServerDialect::OpenAi).unwrap(),
            )),
            share,
        },
        SimulatedProvider::Anthropic => {
            jobs(Arc::new(Anthropic::new(options(""), roots()).unwrap()))
        }
        SimulatedProvider::Gemini => jobs(Arc::new(Gemini::new(options(""), roots()).unwrap())),
        SimulatedProvider::Server => ProviderAccess::Realtime {
            realtime: Arc::new(
                OpenAiRealtime::new(options("/v1"), roots(), ServerDialect::SelfHosted).unwrap(),
            ),
            share,
        },
    }
}
