//! A conversation with a model. Worker sets die in every turn of it.

use std::time::Duration;

use domain::features::{
    Features, PromptCaching, SchemaDialect, StructuredOutput, ThinkingSupport, ToolSupport,
};
use domain::model::{Model, ModelKind, Prices};
use domain::money::Money;
use domain::params::thinking::Effort;
use domain::route::{ChatApi, InferenceMode, Route};
use serde_json::{Map, Value, json};
use simulator::{FaultName, SimulatedFault, SimulatedProvider};
use store::shard::ledger_audit;
use workers::stage::Stage as _;

use super::scenario::SHORT_STEP;
use crate::support::provider_bills::TokenPrices;
use crate::support::simulated_providers::{
    PRIMARY_ACCOUNT, ProviderFixture, inference_mode, route,
};
use crate::takeover::expire_first_lease;

const MODEL: &str = "conversation";
const MAX_STEPS_PER_TURN: u32 = 40;
/// How long after a crash the successor finds the batch.
const TAKEOVER_DELAY: Duration = Duration::from_mins(1);
/// What stops a submission, in turns: the provider does not answer, or it refuses for now.
const SUBMISSION_FAULTS: [FaultName; 2] = [FaultName::CreateDropBefore, FaultName::Create429];

/// What the caller pays.
pub(super) const CALLER_PRICES: TokenPrices = TokenPrices {
    input: 100,
    cached: 10,
    cache_write: 125,
    cache_write_1h: 200,
    output: 400,
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
    /// How many jobs were stopped while they were submitted.
    stopped_submissions: usize,
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

impl Conversation {
    pub(super) async fn start(kind: ChatKind) -> Self {
        let fixture = ProviderFixture::start().await;
        fixture.service.add_model(kind.model());
        Self {
            kind,
            fixture,
            messages: Vec::new(),
            stopped_submissions: 0,
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
        self.submit_over_crashes().await;
        self.fixture.advance(TAKEOVER_DELAY).await;
        for _ in 0..MAX_STEPS_PER_TURN {
            let (service, customer) = (&self.fixture.service, &self.fixture.customer);
            let record = service.track(customer, &cargo).await;
            if record["status"] == "COMPLETED" {
                // A job that cannot be rebuilt is sent under another number.
                assert_eq!(record["attempt"], 1, "{:?} {record}", self.kind);
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

    /// One worker set dies while it submits the job. Another one builds the same job from its rows,
    /// submits it, and dies while it holds the running batch. A third one has to take that over.
    async fn submit_over_crashes(&mut self) {
        let provider = self.kind.provider();
        if inference_mode(provider) == InferenceMode::Batch {
            let fault = SUBMISSION_FAULTS[self.stopped_submissions % SUBMISSION_FAULTS.len()];
            self.stopped_submissions += 1;
            let faults = vec![SimulatedFault::once(fault)];
            let simulator = &self.fixture.simulator;
            simulator.add_faults(provider, PRIMARY_ACCOUNT, faults);
            let before = simulator.submissions(provider, PRIMARY_ACCOUNT).len();
            self.submit().await;
            self.die_with_a_batch("submitting").await;
            self.wait_until_running().await;
            let submissions = self
                .fixture
                .simulator
                .submissions(provider, PRIMARY_ACCOUNT);
            let [stopped, resent] = &submissions[before..] else {
                unreachable!("{provider}: {submissions:?}")
            };
            assert_eq!((&stopped.job, stopped.answered), (&None, false));
            assert_eq!(stopped.ids_sha256, resent.ids_sha256, "{provider}");
        } else {
            self.submit().await;
        }
        self.die_with_a_batch("running").await;
    }

    async fn submit(&mut self) {
        let service = &mut self.fixture.service;
        let (now, workers) = (service.now(), &mut service.worker_sets[0]);
        workers.gather.step(now).await.unwrap();
        workers.dispatch.step(now).await.unwrap();
    }

    async fn wait_until_running(&mut self) {
        let is_running = "select exists (select from shard.batch where state = 'running')";
        for _ in 0..MAX_STEPS_PER_TURN {
            let running = sqlx::query_scalar::<_, bool>(is_running);
            let pool = &self.fixture.service.north.pool;
            if running.fetch_one(pool).await.unwrap() {
                return;
            }
            self.fixture.advance(SHORT_STEP).await;
        }
        unreachable!("{:?}: no job was submitted again", self.kind)
    }

    /// The worker set dies while it holds a batch in this state. Another one takes its place.
    #[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
    async fn die_with_a_batch(&mut self, state: &str) {
        let service = &mut self.fixture.service;
        let now = service.now();
        let still_held = "update shard.batch b set node = n.node, epoch = n.epoch
                          from shard.node n where n.dead_at is null and b.state = $1";
        let held = sqlx::query(still_held).bind(state);
        let held = held.execute(&service.north.pool);
        assert_eq!(held.await.unwrap().rows_affected(), 1, "{state}");
        expire_first_lease(service).await;
        let successor = service.join_another_worker_set().await;
        let mut dead = std::mem::replace(&mut service.worker_sets[0], successor);
        // The dead worker set resumes, and finds no batch that it holds.
        dead.dispatch.step(now).await.unwrap();
    }

    /// Our books agree with themselves and with the provider's bill.
    pub(super) async fn assert_booked_as_billed(&self) {
        self.fixture.assert_booked_as_billed().await;
        let (service, kind) = (&self.fixture.service, self.kind);
        let held = service.read_account(&self.fixture.customer).await.held;
        assert_eq!(held, Money::ZERO, "{kind:?}");
        let audit_report = ledger_audit::check_all(&service.north).await.unwrap();
        assert_eq!(audit_report.faults, []);
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
