//! A service whose models are served by simulated providers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::model::{Kind, Model, Prices};
use domain::money::Money;
use domain::route::{Route, Routes, Via};
use outbound::callback::native_roots;
use outbound::provider::anthropic::Anthropic;
use outbound::provider::call::{Options, Patience};
use outbound::provider::credential::Credential;
use outbound::provider::gemini::Gemini;
use outbound::provider::jobs::Jobs;
use outbound::provider::openai::OpenAi;
use outbound::provider::server::Server;
use serde_json::{Value, json};
use simulator::{Provider, Simulator};
use workers::stage::Stage as _;
use workers::{Access, Crew, Providers, Share};

use crate::support::credit::PRICE;
use crate::support::{Customer, Service};

/// The credential of each provider, which is its account in the simulator.
pub(crate) const ACCOUNT: &str = "quay";
/// The credential of a second account with each provider, whose name ends like it.
pub(crate) const SPARE: &str = "spare";
/// How long a new job may be out of sight.
pub(crate) const GRACE: Duration = Duration::from_mins(1);

pub(crate) struct Port {
    pub(crate) service: Service,
    pub(crate) simulator: Simulator,
    pub(crate) customer: Customer,
}

impl Port {
    /// One with a priced model for each provider, named like it.
    pub(crate) async fn open() -> Self {
        Self::sharing(share()).await
    }

    /// The same, with such a share of every account.
    pub(crate) async fn sharing(share: Share) -> Self {
        let mut service = Box::pin(Service::new()).await;
        let held_at = Some(service.now());
        let options = simulator::Options {
            held_at,
            ..simulator::Options::default()
        };
        let simulator = Simulator::start(options).await.unwrap();
        for provider in Provider::ALL {
            let via = match provider {
                Provider::Server => Via::Realtime,
                Provider::OpenAi | Provider::Anthropic | Provider::Gemini => Via::Batch,
            };
            service.sell(model(provider.name(), route(provider.name(), via)));
        }
        Box::pin(service.ship_with(&simulator, share)).await;
        let customer = service.customer().await;
        service.add_credit(&customer, Money(1_000_000_000)).await;
        Self {
            service,
            simulator,
            customer,
        }
    }

    pub(crate) async fn load(&self, provider: Provider, text: &str, callback: &str) -> String {
        let body = question(provider.name(), text, callback);
        self.service.load(&self.customer, &body).await
    }

    /// Both clocks, and every stage.
    pub(crate) async fn advance(&mut self, by: Duration) {
        let now = self.service.clock.advance(by);
        self.simulator.advance(by);
        for crew in &mut self.service.crews {
            crew.sweep.step(now).await.unwrap();
        }
        self.service.work().await;
    }

    /// Advances until every cargo has its callback, or as often as said.
    pub(crate) async fn wait_for(&mut self, cargo: &[String], step: Duration, most: u32) {
        for _ in 0..most {
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

    /// Cancels every job of an account, as its owner could in the provider's console.
    pub(crate) async fn cancel_jobs(&self, provider: Provider) {
        let Access::Jobs { jobs, .. } = access(&self.simulator, provider, ACCOUNT, share()) else {
            return;
        };
        for job in self.simulator.jobs(provider, ACCOUNT) {
            let name = match provider {
                Provider::Gemini => format!("batches/{}", job.id),
                Provider::OpenAi | Provider::Anthropic | Provider::Server => job.id,
            };
            jobs.cancel(&outbound::provider::Job(name)).await.unwrap();
        }
    }
}

pub(crate) fn question(model: &str, text: &str, callback: &str) -> Value {
    json!({
        "params": {
            "model": model, "max_tokens": 64,
            "messages": [{"role": "user", "content": text}],
        },
        "callback_url": callback,
    })
}

pub(crate) fn route(provider: &str, via: Via) -> Route {
    Route {
        provider: provider.to_owned(),
        upstream: "theirs".to_owned(),
        via,
        shards: Vec::new(),
    }
}

pub(crate) fn model(id: &str, first: Route) -> Model {
    Model {
        routes: Routes::from(first),
        prices: Some(Prices {
            batch: PRICE,
            realtime: None,
        }),
        ..Model::plain(id, "nobody", Kind::Chat)
    }
}

impl Service {
    /// Puts crews to work that know the simulated providers.
    pub(crate) async fn ship_with(&mut self, simulator: &Simulator, share: Share) {
        let mut served = HashMap::new();
        for provider in Provider::ALL {
            let account = access(simulator, provider, ACCOUNT, share);
            served.insert(provider.name().to_owned(), account);
            let account = access(simulator, provider, SPARE, share);
            served.insert(format!("{provider}-{SPARE}"), account);
        }
        self.parts.providers = Arc::new(Providers(served));
        for crew in std::mem::take(&mut self.crews) {
            crew.leave().await.unwrap();
        }
        for shard in [&self.north, &self.south] {
            let mut parts = workers::Parts {
                shard: shard.clone(),
                ..self.parts.clone()
            };
            parts.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
            self.crews.push(Crew::join(parts).await.unwrap());
        }
    }
}

/// Enough for every test that does not ask for less.
pub(crate) fn share() -> Share {
    Share {
        most_items: 10,
        most_bytes: 1 << 20,
        most_tokens: 1 << 30,
        most_enqueued_tokens: 1 << 30,
        most_questions: 4,
        linger: TimeDelta::zero(),
        grace: TimeDelta::from_std(GRACE).unwrap(),
        create_timeout: TimeDelta::from_std(GRACE).unwrap(),
    }
}

fn access(simulator: &Simulator, provider: Provider, account: &str, share: Share) -> Access {
    let base = simulator.base_url(provider);
    let options = |path: &str| Options {
        base: format!("{base}{path}").parse().unwrap(),
        credential: Some(Credential::new(account)),
        patience: Patience::default(),
    };
    let roots = || native_roots();
    let jobs = |jobs: Arc<dyn Jobs>| Access::Jobs {
        jobs,
        realtime: None,
        share,
    };
    match provider {
        Provider::OpenAi => jobs(Arc::new(OpenAi::new(options("/v1"), roots()).unwrap())),
        Provider::Anthropic => jobs(Arc::new(Anthropic::new(options(""), roots()).unwrap())),
        Provider::Gemini => jobs(Arc::new(Gemini::new(options(""), roots()).unwrap())),
        Provider::Server => Access::Server {
            server: Arc::new(Server::new(options("/v1"), roots()).unwrap()),
            share,
        },
    }
}
