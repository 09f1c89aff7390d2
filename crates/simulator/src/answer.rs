//! The answer to one item: the answer rule, changed by directives and faults.

use crate::request::{ItemRequest, ItemTask};
use crate::rule;
use crate::rule::FinishReason;

const ABSURD_TOKENS: u64 = 9_000_000_000_000;
const REFUSAL_TEXT: &str = "I'm sorry, but I can't help with that.";

#[derive(Debug)]
pub enum SimulatedAnswer {
    Chat(ChatAnswer),
    Embeddings(EmbeddingAnswer),
    Failed(FailedAnswer),
}

#[derive(Debug)]
pub struct ChatAnswer {
    /// None: a content filter removed the text.
    pub text: Option<String>,
    pub finish_reason: FinishReason,
    pub usage: Option<SimulatedUsage>,
}

#[derive(Debug)]
pub struct EmbeddingAnswer {
    pub vectors: Vec<Vec<f32>>,
    pub is_base64: bool,
    pub usage: Option<SimulatedUsage>,
}

#[derive(Debug)]
pub struct FailedAnswer {
    pub status: u16,
    pub message: String,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SimulatedUsage {
    pub input: u64,
    pub output: u64,
}

/// Faults of a job or an account that change every answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerFaults {
    pub usage_missing: bool,
    pub usage_absurd: bool,
    pub is_blocked: bool,
}

pub fn answer_request(question: &ItemRequest, habits: AnswerFaults) -> SimulatedAnswer {
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
            })
        } else {
            Some(usage)
        }
    };
    let input = question.input_tokens();
    match &question.task {
        ItemTask::Embedding(task) => {
            let inputs = task.inputs.iter();
            SimulatedAnswer::Embeddings(EmbeddingAnswer {
                vectors: inputs
                    .map(|text| rule::embedding(text, task.dimensions))
                    .collect(),
                is_base64: task.is_base64,
                usage: reported(SimulatedUsage { input, output: 0 }),
            })
        }
        ItemTask::Chat(task) => {
            let generated = rule::chat(&task.last_user_text, task.max_tokens, &task.stops);
            let (text, finish) = if habits.is_blocked || directives.is_blocked() {
                (None, FinishReason::Blocked)
            } else if directives.is_refused() {
                (Some(REFUSAL_TEXT.to_owned()), FinishReason::Refused)
            } else if let Some(name) = directives.stop() {
                (Some(generated.text), FinishReason::Named(name.to_owned()))
            } else {
                (Some(generated.text), generated.finish_reason)
            };
            let output = rule::output_tokens(text.as_deref().unwrap_or_default());
            let usage = reported(SimulatedUsage { input, output });
            SimulatedAnswer::Chat(ChatAnswer {
                text,
                finish_reason: finish,
                usage,
            })
        }
    }
}
