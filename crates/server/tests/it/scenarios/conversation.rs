//! A conversation with a model. A worker set dies in every turn of it.

use std::time::Duration;

use domain::features::{
    Features, PromptCaching, SchemaDialect, StructuredOutput, ThinkingSupport, ToolSupport,
};
use domain::model::{Model, ModelKind, Prices};
use domain::money::Money;
use domain::params::thinking::Effort;
use domain::price::{MAX_STEPS, Price, Rates};
use domain::route::{ChatApi, Route};
use serde_json::{Map, Value, json};
use simulator::SimulatedProvider;
use store::shard::ledger_audit;
use workers::stage::Stage as _;

use super::scenario::SHORT_STEP;
use crate::support::simulated_providers::{
    PRIMARY_ACCOUNT, ProviderFixture, inference_mode, route,
};
use crate::takeover::expire_first_lease;

const MODEL: &str = "conversation";
const MAX_STEPS_PER_TURN: u32 = 40;
/// How long after a crash the successor finds the batch.
const TAKEOVER_DELAY: Duration = Duration::from_mins(1);

/// Nano-dollars for one token of each bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenPrices {
    input: u64,
    cached: u64,
    cache_write: u64,
    cache_write_1h: u64,
    output: u64,
}

/// What the caller pays.
pub(super) const CALLER_PRICES: TokenPrices = TokenPrices {
    input: 100,
    cached: 10,
    cache_write: 125,
    cache_write_1h: 200,
    output: 400,
};

/// What the provider bills us.
const PROVIDER_PRICES: TokenPrices = TokenPrices {
    input: 60,
    cached: 6,
    cache_write: 75,
    cache_write_1h: 120,
    output: 240,
};

/// The API by which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChatKind {
    Completions,
    Responses,
    Anthropic,
    Gemini,
    Server,
}

pub(super) struct Conversation {
    kind: ChatKind,
    fixture: ProviderFixture,
    messages: Vec<Value>,
}

impl ChatKind {
    pub(super) const ALL: [Self; 5] = [
        Self::Completions,
        Self::Responses,
        Self::Anthropic,
        Self::Gemini,
        Self::Server,
    ];

    const fn provider(self) -> SimulatedProvider {
        match self {
            Self::Completions | Self::Responses => SimulatedProvider::OpenAi,
            Self::Anthropic => SimulatedProvider::Anthropic,
            Self::Gemini => SimulatedProvider::Gemini,
            Self::Server => SimulatedProvider::Server,
        }
    }

    const fn api(self) -> ChatApi {
        match self {
            Self::Responses => ChatApi::Responses,
            Self::Completions | Self::Anthropic | Self::Gemini | Self::Server => {
                ChatApi::Completions
            }
        }
    }

    const fn schema_dialect(self) -> SchemaDialect {
        match self {
            Self::Completions | Self::Responses => SchemaDialect::OpenAi,
            Self::Anthropic => SchemaDialect::Anthropic,
            Self::Gemini => SchemaDialect::Gemini,
            Self::Server => SchemaDialect::Server,
        }
    }

    /// Whether the provider caches where the request says so.
    pub(super) const fn has_cache_marks(self) -> bool {
        matches!(self, Self::Completions | Self::Responses | Self::Anthropic)
    }

    const fn max_stop_sequences(self) -> u32 {
        match self {
            Self::Responses => 0,
            Self::Completions => 4,
            Self::Gemini => 5,
            Self::Anthropic | Self::Server => 16,
        }
    }

    fn features(self) -> Features {
        Features {
            tools: ToolSupport::Parallel,
            forced_tools: true,
            strict_tools: true,
            max_tools: 128,
            structured_output: StructuredOutput::WithTools,
            schema_dialects: vec![self.schema_dialect()],
            thinking: ThinkingSupport {
                adaptive: true,
                disabled: true,
                summaries: self != Self::Completions,
                efforts: vec![Effort::Low, Effort::Medium, Effort::High],
                ..ThinkingSupport::none()
            },
            caching: if self.has_cache_marks() {
                PromptCaching::Marks
            } else {
                PromptCaching::Automatic
            },
            max_stop_sequences: self.max_stop_sequences(),
            ..Features::plain()
        }
    }

    fn model(self) -> Model {
        let provider = self.provider();
        let route = Route {
            api: self.api(),
            features: self.features(),
            cost: Some(PROVIDER_PRICES.price()),
            ..route(provider.name(), inference_mode(provider))
        };
        Model {
            routes: route.into(),
            prices: Some(Prices {
                batch: CALLER_PRICES.price(),
                realtime: None,
            }),
            features: self.features(),
            ..Model::plain(MODEL, "unused", ModelKind::Chat)
        }
    }
}

impl TokenPrices {
    /// The price of a million tokens.
    fn price(self) -> Price {
        let million = |nanos: u64| Money(i64::try_from(nanos).unwrap() * 1_000_000);
        let base = Rates {
            input: million(self.input),
            cached_input: million(self.cached),
            cache_write: million(self.cache_write),
            cache_write_1h: million(self.cache_write_1h),
            output: million(self.output),
        };
        let steps = [None; MAX_STEPS];
        Price { base, steps }
    }

    /// What the usage of an answer costs. All writes are for minutes.
    pub(super) fn of_usage(self, usage: &Value) -> u64 {
        let details = &usage["input_tokens_details"];
        let cached = details["cached_tokens"].as_u64().unwrap_or_default();
        let writes = details["cache_write_tokens"].as_u64().unwrap_or_default();
        let fresh = usage["input_tokens"].as_u64().unwrap() - cached - writes;
        fresh * self.input
            + cached * self.cached
            + writes * self.cache_write
            + usage["output_tokens"].as_u64().unwrap() * self.output
    }
}

impl Conversation {
    pub(super) async fn start(kind: ChatKind) -> Self {
        let fixture = ProviderFixture::start().await;
        fixture.service.add_model(kind.model());
        Self {
            kind,
            fixture,
            messages: Vec::new(),
        }
    }

    pub(super) fn say(&mut self, role: &str, content: impl Into<Value>) {
        let content: Value = content.into();
        self.messages
            .push(json!({"role": role, "content": content}));
    }

    /// Forgets the messages. What the provider has billed stays.
    pub(super) fn restart(&mut self) {
        self.messages.clear();
    }

    /// Asks with the messages so far and these params. Returns the tracked record.
    pub(super) async fn ask(&mut self, params: &Value) -> Value {
        let mut request = Map::from_iter([
            ("model".to_owned(), json!(MODEL)),
            ("max_tokens".to_owned(), json!(200)),
            ("messages".to_owned(), json!(self.messages)),
        ]);
        request.extend(params.as_object().unwrap().clone());
        let (service, customer) = (&self.fixture.service, &self.fixture.customer);
        let cargo = service.load(customer, &json!({"params": request})).await;
        self.die_with_the_batch().await;
        self.fixture.advance(TAKEOVER_DELAY).await;
        for _ in 0..MAX_STEPS_PER_TURN {
            let (service, customer) = (&self.fixture.service, &self.fixture.customer);
            let record = service.track(customer, &cargo).await;
            if record["status"] == "COMPLETED" {
                return record;
            }
            self.fixture.advance(SHORT_STEP).await;
        }
        unreachable!("{} was not answered", self.kind.provider())
    }

    /// As `ask`, for a request that succeeds and pays what its usage says. The answer becomes the
    /// next message.
    pub(super) async fn ask_successfully(&mut self, params: &Value) -> Value {
        let mut record = self.ask(params).await;
        let kind = self.kind;
        assert_eq!(record["success"], true, "{kind:?} {record}");
        let response = record["response"].take();
        let charge = CALLER_PRICES.of_usage(&response["usage"]);
        assert_eq!(record["cost"]["charged"], charge, "{kind:?} {response}");
        self.say("assistant", response["content"].clone());
        response
    }

    /// The worker set submits the batch, and dies while it holds it. Another one takes over.
    async fn die_with_the_batch(&mut self) {
        let service = &mut self.fixture.service;
        let (now, workers) = (service.now(), &mut service.worker_sets[0]);
        workers.gather.step(now).await.unwrap();
        workers.dispatch.step(now).await.unwrap();
        let still_held = "update shard.batch b set node = n.node, epoch = n.epoch
                          from shard.node n where n.dead_at is null and b.state = 'running'";
        let held = sqlx::raw_sql(still_held).execute(&service.north.pool);
        assert_eq!(held.await.unwrap().rows_affected(), 1);
        expire_first_lease(service).await;
        let successor = service.join_another_worker_set().await;
        let mut dead = std::mem::replace(&mut service.worker_sets[0], successor);
        // The dead worker set resumes, and finds no batch that it holds.
        dead.dispatch.step(now).await.unwrap();
    }

    /// Our books agree with themselves and with the provider's bill.
    pub(super) async fn assert_booked_as_billed(&self) {
        let (service, kind) = (&self.fixture.service, self.kind);
        let booked = "select coalesce(sum(cost), 0)::bigint from shard.outcome";
        let booked = sqlx::query_scalar::<_, i64>(booked);
        let booked = booked.fetch_one(&service.north.pool).await.unwrap();
        assert_eq!(booked, i64::try_from(self.bill()).unwrap(), "{kind:?}");
        let held = service.read_account(&self.fixture.customer).await.held;
        assert_eq!(held, Money::ZERO, "{kind:?}");
        let audit_report = ledger_audit::check_all(&service.north).await.unwrap();
        assert_eq!(audit_report.faults, []);
    }

    /// What the simulated provider bills for all requests.
    fn bill(&self) -> u64 {
        let simulator = &self.fixture.simulator;
        let lines = simulator.bill(self.kind.provider(), PRIMARY_ACCOUNT);
        let prices = PROVIDER_PRICES;
        let costs = lines.iter().map(|line| {
            line.fresh * prices.input
                + line.cached * prices.cached
                + line.cache_write * prices.cache_write
                + line.cache_write_1h * prices.cache_write_1h
                + line.output * prices.output
        });
        costs.sum()
    }
}

/// The blocks of this type in an answer.
pub(super) fn blocks<'a>(response: &'a Value, kind: &str) -> Vec<&'a Value> {
    let content = response["content"].as_array().unwrap().iter();
    content.filter(|block| block["type"] == kind).collect()
}

/// The text of an answer with exactly one text block.
pub(super) fn text(response: &Value) -> &str {
    let texts = blocks(response, "text");
    assert_eq!(texts.len(), 1, "{response}");
    texts[0]["text"].as_str().unwrap()
}
