//! `GET /models`: the models that a key may load, what they can do and what they cost.

use domain::effort::Effort;
use domain::features::{Features, PromptCaching, SamplingSupport, StructuredOutput, ToolSupport};
use domain::model::{Model, ModelKind};
use domain::money::Money;
use domain::price::{Price, Rates};
use domain::route::InferenceMode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::tracking::CargoKindBody;

/// The models, sorted by id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ModelList)]
pub struct ModelListResponse {
    pub models: Vec<ModelBody>,
}

/// A model. Every field is always present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Model)]
pub struct ModelBody {
    /// For `params.model`. Ids are case-sensitive.
    #[schema(example = "svc-mock")]
    pub id: String,
    pub kind: CargoKindBody,
    /// What it reads besides text: `vision`, `documents`, `video`.
    #[schema(value_type = Vec<String>, example = json!(["vision"]))]
    pub capabilities: Vec<&'static str>,
    /// The ways to it: `batch`, `flex`, `realtime`.
    #[schema(value_type = Vec<String>, example = json!(["batch"]))]
    pub via: Vec<&'static str>,
    pub limits: ModelLimitsBody,
    /// Null for a free model.
    #[schema(required = true)]
    pub price: Option<ModelPriceBody>,
    /// Null for an embedding model.
    #[schema(required = true)]
    pub features: Option<ModelFeaturesBody>,
    /// Null for a chat model.
    #[schema(required = true)]
    pub embedding: Option<EmbeddingFeaturesBody>,
    /// The day on which its provider stops serving it, if that is known.
    #[schema(required = true, example = "2027-01-14")]
    pub retires_at: Option<String>,
}

/// Null means no limit that Longshore knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ModelLimits)]
pub struct ModelLimitsBody {
    /// The context window in tokens.
    #[schema(required = true, example = 128_000)]
    pub context: Option<u64>,
    /// The largest `max_tokens`.
    #[schema(required = true, example = 16_384)]
    pub max_output: Option<u32>,
}

/// Prices in whole numbers of 10^-`scale` of the currency, for `per_tokens` tokens. You pay the
/// batch price, by whatever way the cargo goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ModelPrice)]
pub struct ModelPriceBody {
    pub batch: RatesBody,
    /// What the same work costs in realtime, for comparison; null if it is not known.
    #[schema(required = true)]
    pub realtime: Option<RatesBody>,
    #[schema(example = 1_000_000)]
    pub per_tokens: u32,
    #[schema(value_type = String, example = "USD")]
    pub currency: &'static str,
    #[schema(example = 9)]
    pub scale: u8,
}

/// The price of each kind of token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Rates)]
pub struct RatesBody {
    #[schema(example = 75_000_000)]
    pub input: u64,
    /// Input that the provider read from its cache.
    pub cached_input: u64,
    /// Input that the provider wrote to its cache for minutes.
    pub cache_write: u64,
    /// The same for an hour.
    pub cache_write_1h: u64,
    /// With thoughts.
    #[schema(example = 300_000_000)]
    pub output: u64,
    /// Other prices for the whole request when its input is larger.
    pub steps: Vec<RateStepBody>,
}

/// The prices of a request with more input tokens than `above`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = RateStep)]
pub struct RateStepBody {
    #[schema(example = 200_000)]
    pub above: u64,
    pub input: u64,
    pub cached_input: u64,
    pub cache_write: u64,
    pub cache_write_1h: u64,
    pub output: u64,
}

/// What a chat model can do, by whatever way the cargo goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent flag of the catalogue"
)]
#[schema(as = ModelFeatures)]
pub struct ModelFeaturesBody {
    /// `none`, `always_parallel` (parallel calls cannot be turned off) or `parallel`.
    #[schema(value_type = String, example = "parallel")]
    pub tools: &'static str,
    /// `tool_choice` may force a call.
    pub forced_tools: bool,
    /// The schema of a tool with `strict` is enforced.
    pub strict_tools: bool,
    /// Results of tools may contain images and documents.
    pub tool_result_files: bool,
    pub max_tools: u32,
    /// `none`, `without_tools` or `with_tools`.
    #[schema(value_type = String, example = "with_tools")]
    pub structured_output: &'static str,
    pub thinking: ThinkingFeaturesBody,
    /// `automatic`, or `marks`: `cache_control` is sent to the provider.
    #[schema(value_type = String, example = "automatic")]
    pub caching: &'static str,
    /// `pass`; or `drop` or `refuse` for `temperature`, `top_p` and `top_k`.
    #[schema(value_type = String, example = "pass")]
    pub sampling: &'static str,
    pub top_k: bool,
    /// More stop sequences than this are applied by Longshore.
    pub max_stop_sequences: u32,
    /// Messages may have the roles `system` and `developer`.
    pub system_messages: bool,
    /// The last message may be the assistant's.
    pub prefill: bool,
    pub seed: bool,
    /// A smaller `max_tokens` is raised to this.
    pub min_output: u32,
}

/// How a model can think.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ThinkingFeatures)]
pub struct ThinkingFeaturesBody {
    /// The `thinking.type`s that it takes: `adaptive`, `enabled`, `disabled`. Empty: none.
    #[schema(value_type = Vec<String>, example = json!(["adaptive", "disabled"]))]
    pub types: Vec<&'static str>,
    /// Of `thinking.budget_tokens`; null if `enabled` is not among the types.
    #[schema(required = true)]
    pub budget_tokens: Option<NumberRangeBody>,
    /// `display: summarized` is possible.
    pub summaries: bool,
    /// For `output_config.effort`.
    #[schema(value_type = Vec<String>, example = json!(["low", "high"]))]
    pub efforts: Vec<&'static str>,
    /// What Longshore sends when you say nothing.
    #[schema(required = true, value_type = Option<String>, example = "low")]
    pub default_effort: Option<&'static str>,
}

/// What an embedding model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EmbeddingFeatures)]
pub struct EmbeddingFeaturesBody {
    /// Texts in one load; null means any number.
    #[schema(required = true, example = 100)]
    pub max_inputs: Option<u32>,
    /// Of `dimensions`; null if the field is refused.
    #[schema(required = true)]
    pub dimensions: Option<NumberRangeBody>,
    pub input_type: bool,
}

/// Both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = NumberRange)]
pub struct NumberRangeBody {
    #[schema(example = 1024)]
    pub min: u32,
    #[schema(example = 32_768)]
    pub max: u32,
}

impl From<&Model> for ModelBody {
    fn from(model: &Model) -> Self {
        let capabilities = model.capabilities.iter();
        let has = |via: &InferenceMode| model.routes.iter().any(|route| route.via == *via);
        let ways = InferenceMode::ALL.into_iter().filter(has);
        let features = &model.features;
        let (chat, embedding) = match model.kind {
            ModelKind::Chat => (Some(features.into()), None),
            ModelKind::Embedding => (None, Some(features.into())),
        };
        Self {
            id: model.id.clone(),
            kind: model.kind.into(),
            capabilities: capabilities.map(|it| it.as_str()).collect(),
            via: ways.map(InferenceMode::as_str).collect(),
            limits: ModelLimitsBody {
                context: model.context,
                max_output: model.max_output,
            },
            price: model.prices.map(|prices| ModelPriceBody {
                batch: prices.batch.into(),
                realtime: prices.realtime.map(RatesBody::from),
                per_tokens: 1_000_000,
                currency: "USD",
                scale: 9,
            }),
            features: chat,
            embedding,
            retires_at: model.retires_at.map(|day| day.to_string()),
        }
    }
}

impl From<Price> for RatesBody {
    fn from(price: Price) -> Self {
        let Rates {
            input,
            cached_input,
            cache_write,
            cache_write_1h,
            output,
        } = price.base;
        let steps = price.steps.iter().flatten().map(|step| RateStepBody {
            above: step.above,
            input: nanos(step.rates.input),
            cached_input: nanos(step.rates.cached_input),
            cache_write: nanos(step.rates.cache_write),
            cache_write_1h: nanos(step.rates.cache_write_1h),
            output: nanos(step.rates.output),
        });
        Self {
            input: nanos(input),
            cached_input: nanos(cached_input),
            cache_write: nanos(cache_write),
            cache_write_1h: nanos(cache_write_1h),
            output: nanos(output),
            steps: steps.collect(),
        }
    }
}

fn nanos(money: Money) -> u64 {
    u64::try_from(money.nanos()).unwrap_or_default()
}

impl From<&Features> for ModelFeaturesBody {
    fn from(features: &Features) -> Self {
        Self {
            tools: match features.tools {
                ToolSupport::None => "none",
                ToolSupport::AlwaysParallel => "always_parallel",
                ToolSupport::Parallel => "parallel",
            },
            forced_tools: features.forced_tools,
            strict_tools: features.strict_tools,
            tool_result_files: features.tool_result_files,
            max_tools: features.max_tools,
            structured_output: match features.structured_output {
                StructuredOutput::None => "none",
                StructuredOutput::WithoutTools => "without_tools",
                StructuredOutput::WithTools => "with_tools",
            },
            thinking: thinking(features),
            caching: match features.caching {
                PromptCaching::Automatic => "automatic",
                PromptCaching::Marks => "marks",
            },
            sampling: match features.sampling {
                SamplingSupport::Pass => "pass",
                SamplingSupport::Drop => "drop",
                SamplingSupport::Refuse => "refuse",
            },
            top_k: features.top_k,
            max_stop_sequences: features.max_stop_sequences,
            system_messages: features.system_messages,
            prefill: features.prefill,
            seed: features.seed,
            min_output: features.min_output,
        }
    }
}

fn thinking(features: &Features) -> ThinkingFeaturesBody {
    let support = &features.thinking;
    let types = [
        support.adaptive.then_some("adaptive"),
        support.budget.map(|_| "enabled"),
        support.disabled.then_some("disabled"),
    ];
    let efforts = support.efforts.iter();
    ThinkingFeaturesBody {
        types: types.into_iter().flatten().collect(),
        budget_tokens: support
            .budget
            .map(|(min, max)| NumberRangeBody { min, max }),
        summaries: support.summaries,
        efforts: efforts.map(|effort| effort.as_str()).collect(),
        default_effort: support.default_effort.map(Effort::as_str),
    }
}

impl From<&Features> for EmbeddingFeaturesBody {
    fn from(features: &Features) -> Self {
        let embedding = &features.embedding;
        let max_inputs = embedding.max_inputs;
        Self {
            max_inputs: (max_inputs < u32::MAX).then_some(max_inputs),
            dimensions: embedding
                .dimensions
                .map(|(min, max)| NumberRangeBody { min, max }),
            input_type: embedding.input_type,
        }
    }
}
