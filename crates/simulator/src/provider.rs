//! The simulated providers.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SimulatedProvider {
    OpenAi,
    Anthropic,
    Gemini,
    /// A realtime server with `OpenAI`-compatible calls, such as vLLM.
    Server,
}

impl SimulatedProvider {
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Server];

    /// The URL prefix and the name in the admin API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Server => "server",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// A provider with `OpenAI`'s protocol. Its accounts are `OpenAI`'s.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SimulatedDialect {
    #[default]
    OpenAi,
    /// The key in a header of its own, deployments in place of models, and no expiry.
    Azure,
    /// Chat only.
    Groq,
}

/// What the first part of a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedApi {
    pub provider: SimulatedProvider,
    pub dialect: SimulatedDialect,
}

impl SimulatedApi {
    pub fn from_prefix(prefix: &str) -> Option<Self> {
        let (provider, dialect) = match prefix {
            "azure" => (SimulatedProvider::OpenAi, SimulatedDialect::Azure),
            "groq" => (SimulatedProvider::OpenAi, SimulatedDialect::Groq),
            name => (
                SimulatedProvider::from_name(name)?,
                SimulatedDialect::OpenAi,
            ),
        };
        Some(Self { provider, dialect })
    }
}

impl fmt::Display for SimulatedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
