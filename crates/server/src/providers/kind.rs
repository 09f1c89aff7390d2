//! The adapters for provider accounts: what each supports, and its default limits.

use domain::model::{Capability, ModelKind as Work};
use domain::route::InferenceMode;

/// The protocol of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    OpenAi,
    Anthropic,
    Gemini,
    /// An `OpenAI`-compatible server without batches, such as vLLM or llama.cpp.
    Server,
}

impl ProviderKind {
    const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Server];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Server => "server",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The base URL when the file has none.
    pub const fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::Server => None,
        }
    }

    /// Whether the base URL ends with the API version, as in this provider's client libraries.
    pub const fn base_has_version(self) -> bool {
        matches!(self, Self::OpenAi | Self::Server)
    }

    pub const fn needs_credential(self) -> bool {
        !matches!(self, Self::Server)
    }

    /// Whether jobs carry a label, so that each shard recognizes its own.
    pub const fn has_labels(self) -> bool {
        !matches!(self, Self::Anthropic)
    }

    /// The default first.
    pub const fn supported_modes(self) -> &'static [InferenceMode] {
        match self {
            Self::OpenAi => &[
                InferenceMode::Batch,
                InferenceMode::Flex,
                InferenceMode::Realtime,
            ],
            Self::Gemini => &[InferenceMode::Batch, InferenceMode::Flex],
            Self::Anthropic => &[InferenceMode::Batch],
            Self::Server => &[InferenceMode::Realtime],
        }
    }

    pub const fn has_embeddings(self) -> bool {
        !matches!(self, Self::Anthropic)
    }

    /// Whether its protocol can express input of this capability.
    pub const fn can_read(self, capability: Capability) -> bool {
        match (self, capability) {
            (_, Capability::Vision) => true,
            // A server accepts text, but no PDF.
            (_, Capability::Documents) => !matches!(self, Self::Server),
            (_, Capability::Video) => matches!(self, Self::Gemini | Self::Server),
        }
    }

    pub fn can_serve(self, work: Work) -> bool {
        work != Work::Embedding || self.has_embeddings()
    }

    /// The provider's limit per job. A server has no jobs; this bounds a batch of requests to it.
    pub const fn max_job_items(self) -> u64 {
        match self {
            Self::OpenAi => 50_000,
            Self::Anthropic | Self::Gemini => 100_000,
            Self::Server => 10_000,
        }
    }

    pub const fn max_job_bytes(self) -> u64 {
        match self {
            Self::OpenAi | Self::Server => 200_000_000,
            Self::Anthropic => 256_000_000,
            Self::Gemini => 2_000_000_000,
        }
    }

    /// The provider's limit depends on the account's tier, which only its owner knows. A value that
    /// is too low costs time; with one that is too high, the provider refuses jobs.
    pub const fn default_enqueued_tokens(self) -> Option<u64> {
        match self {
            Self::OpenAi => Some(2_000_000),
            Self::Gemini => Some(3_000_000),
            Self::Anthropic | Self::Server => None,
        }
    }

    /// How long the call that creates a job may take. Anthropic's call carries the whole job.
    pub const fn default_create_seconds(self) -> u64 {
        match self {
            Self::Anthropic => 30 * 60,
            Self::OpenAi | Self::Gemini | Self::Server => 60,
        }
    }

    /// In billionths of the realtime price.
    pub const fn default_price_factor(self) -> i64 {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Gemini => 500_000_000,
            Self::Server => 1_000_000_000,
        }
    }

    pub fn list_names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}
