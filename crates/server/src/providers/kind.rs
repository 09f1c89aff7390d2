//! The kinds of accounts: what each takes, and how much of it by default.

use domain::model::{Capability, Kind as Work};
use domain::route::Via;

/// Which protocol an account speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    OpenAi,
    Anthropic,
    Gemini,
    /// One that speaks like `OpenAI` and has no batches, such as vLLM and llama.cpp.
    Server,
}

impl Kind {
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

    /// Where it is when the file does not say.
    pub const fn base(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::Server => None,
        }
    }

    /// Whether the version stands in the base address, as clients of this kind write it.
    pub const fn base_has_version(self) -> bool {
        matches!(self, Self::OpenAi | Self::Server)
    }

    pub const fn needs_credential(self) -> bool {
        !matches!(self, Self::Server)
    }

    /// Whether its jobs carry our label, so that shards can tell theirs apart.
    pub const fn is_labelled(self) -> bool {
        !matches!(self, Self::Anthropic)
    }

    /// The ways that it can be asked, the usual first.
    pub const fn ways(self) -> &'static [Via] {
        match self {
            Self::OpenAi => &[Via::Batch, Via::Realtime],
            Self::Anthropic | Self::Gemini => &[Via::Batch],
            Self::Server => &[Via::Realtime],
        }
    }

    pub const fn embeds(self) -> bool {
        !matches!(self, Self::Anthropic)
    }

    /// Whether work of a model with this capability can be put into its words.
    pub const fn reads(self, capability: Capability) -> bool {
        match (self, capability) {
            (_, Capability::Vision) => true,
            // A server is given text, but no PDF.
            (_, Capability::Documents) => !matches!(self, Self::Server),
            (_, Capability::Video) => matches!(self, Self::Gemini | Self::Server),
        }
    }

    pub fn takes(self, work: Work) -> bool {
        work != Work::Embedding || self.embeds()
    }

    /// As much as the provider lets one job have; a server has none, but work is gathered for it.
    pub const fn most_items(self) -> u64 {
        match self {
            Self::OpenAi => 50_000,
            Self::Anthropic | Self::Gemini => 100_000,
            Self::Server => 10_000,
        }
    }

    pub const fn most_bytes(self) -> u64 {
        match self {
            Self::OpenAi | Self::Server => 200_000_000,
            Self::Anthropic => 256_000_000,
            Self::Gemini => 2_000_000_000,
        }
    }

    /// What waits at a provider is capped by an account's standing there, which only its owner
    /// knows. Too little costs time; too much, and whole jobs are refused.
    pub const fn usual_enqueued_tokens(self) -> Option<u64> {
        match self {
            Self::OpenAi => Some(2_000_000),
            Self::Gemini => Some(3_000_000),
            Self::Anthropic | Self::Server => None,
        }
    }

    /// How long the call that creates a job may take. Anthropic's carries all of the job.
    pub const fn usual_create_seconds(self) -> u64 {
        match self {
            Self::Anthropic => 30 * 60,
            Self::OpenAi | Self::Gemini | Self::Server => 60,
        }
    }

    /// In billionths of the realtime price.
    pub const fn usual_price_factor(self) -> i64 {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Gemini => 500_000_000,
            Self::Server => 1_000_000_000,
        }
    }

    pub fn words() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}
