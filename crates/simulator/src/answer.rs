//! The answer to one item: the answer rule, changed by the request, directives and faults.

use serde_json::Value;

use crate::bill::SimulatedTier;
use crate::cache::CacheCounts;
use crate::request::{ItemRequest, ItemTask};
use crate::rule;
use crate::rule::{FinishReason, UsageStyle};
use crate::usage::SimulatedUsage;

mod chat;

const ABSURD_TOKENS: u64 = 9_000_000_000_000;

#[derive(Debug)]
pub enum SimulatedAnswer {
    Chat(Box<ChatAnswer>),
    Embeddings(EmbeddingAnswer),
    Failed(FailedAnswer),
}

#[derive(Debug)]
pub struct ChatAnswer {
    pub thought: Option<ThoughtText>,
    /// None: a content filter removed the text, or the model only calls tools.
    pub text: Option<String>,
    pub calls: Vec<SimulatedToolCall>,
    pub finish_reason: FinishReason,
    pub usage: Option<SimulatedUsage>,
    pub usage_style: UsageStyle,
    /// What the provider bills, whatever it reports.
    pub billed: SimulatedUsage,
    pub signing: AnswerSigning,
    /// The error of a response that failed with the status 200.
    pub responses_error: Option<String>,
    /// The tier that served the request, if the request named one.
    pub tier: Option<SimulatedTier>,
}

#[derive(Debug)]
pub struct ThoughtText {
    pub text: String,
    /// Whether the answer contains the text.
    pub is_shown: bool,
}

#[derive(Debug)]
pub struct SimulatedToolCall {
    pub name: String,
    pub arguments: CallArguments,
    /// False: the provider gives no id.
    pub has_id: bool,
}

#[derive(Debug)]
pub enum CallArguments {
    Json(Value),
    /// Text that is not JSON.
    Invalid(String),
}

impl CallArguments {
    /// The JSON text of `OpenAI`'s calls.
    pub fn to_text(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Invalid(text) => text.clone(),
        }
    }

    /// The JSON of the other providers, where invalid arguments are a string.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Invalid(text) => Value::String(text.clone()),
        }
    }
}

/// What the answer signs, so that it can come back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerSigning {
    /// Gemini: the first part, also without thoughts.
    pub signs_parts: bool,
    /// `OpenAI`: reasoning items have `encrypted_content`.
    pub encrypts_reasoning: bool,
}

#[derive(Debug)]
pub struct EmbeddingAnswer {
    pub vectors: Vec<Vec<f32>>,
    pub is_base64: bool,
    pub usage: Option<SimulatedUsage>,
    pub billed: SimulatedUsage,
}

#[derive(Debug)]
pub struct FailedAnswer {
    pub status: u16,
    pub message: String,
}

impl SimulatedAnswer {
    /// The status of the item, and what the provider bills for it.
    pub fn billed(&self) -> (u16, SimulatedUsage) {
        match self {
            Self::Chat(chat) => (200, chat.billed),
            Self::Embeddings(embeddings) => (200, embeddings.billed),
            Self::Failed(failed) => (failed.status, SimulatedUsage::default()),
        }
    }
}

/// Faults of a job or an account that change every answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerFaults {
    pub usage_missing: bool,
    pub usage_absurd: bool,
    pub is_blocked: bool,
}

pub fn answer_request(
    question: &ItemRequest,
    habits: AnswerFaults,
    cache: CacheCounts,
) -> SimulatedAnswer {
    let directives = question.directives();
    if let Some(status) = directives.fail() {
        return SimulatedAnswer::Failed(FailedAnswer {
            status,
            message: format!("simulated failure {status}"),
        });
    }
    let reported = |usage: SimulatedUsage| {
        if habits.usage_missing || directives.hides_usage() {
            None
        } else if habits.usage_absurd || directives.inflates_usage() {
            Some(SimulatedUsage {
                input: ABSURD_TOKENS,
                output: ABSURD_TOKENS,
                ..SimulatedUsage::default()
            })
        } else {
            Some(usage)
        }
    };
    match &question.task {
        ItemTask::Embedding(task) => {
            let inputs = task.inputs.iter();
            let usage = SimulatedUsage {
                input: question.input_tokens(),
                ..SimulatedUsage::default()
            };
            SimulatedAnswer::Embeddings(EmbeddingAnswer {
                vectors: inputs
                    .map(|text| rule::embedding(text, task.dimensions))
                    .collect(),
                is_base64: task.is_base64,
                usage: reported(usage),
                billed: usage,
            })
        }
        ItemTask::Chat(task) => {
            let mut answer = chat::answer(question, task, &directives, habits.is_blocked, cache);
            answer.usage = reported(answer.reported_usage());
            SimulatedAnswer::Chat(Box::new(answer))
        }
    }
}
