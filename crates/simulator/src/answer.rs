//! What one item is answered: the rule, and what directives and faults make of it.

use crate::question::{Question, Task};
use crate::rule;
use crate::rule::Finish;

/// What an answer with absurd usage claims.
const ABSURD: u64 = 9_000_000_000_000;
const REFUSAL: &str = "I'm sorry, but I can't help with that.";

#[derive(Debug)]
pub enum Answer {
    Chat(Chat),
    Vectors(Vectors),
    Failed(Failed),
}

#[derive(Debug)]
pub struct Chat {
    /// None when a filter left nothing.
    pub text: Option<String>,
    pub finish: Finish,
    pub usage: Option<Usage>,
}

#[derive(Debug)]
pub struct Vectors {
    pub of_inputs: Vec<Vec<f32>>,
    pub is_base64: bool,
    pub usage: Option<Usage>,
}

#[derive(Debug)]
pub struct Failed {
    pub status: u16,
    pub message: String,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

/// What the faults of a job or an account do to every answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Habits {
    pub usage_missing: bool,
    pub usage_absurd: bool,
    pub blocked: bool,
}

pub fn answer(question: &Question, habits: Habits) -> Answer {
    let directives = question.directives();
    if let Some(status) = directives.fail() {
        return Answer::Failed(Failed {
            status,
            message: format!("simulated failure {status}"),
        });
    }
    let told = |usage: Usage| {
        if habits.usage_missing || directives.hides_usage() {
            None
        } else if habits.usage_absurd || directives.inflates_usage() {
            Some(Usage {
                input: ABSURD,
                output: ABSURD,
            })
        } else {
            Some(usage)
        }
    };
    let input = question.input_tokens();
    match &question.task {
        Task::Embedding(asked) => {
            let vectors = asked.inputs.iter();
            Answer::Vectors(Vectors {
                of_inputs: vectors
                    .map(|text| rule::embedding(text, asked.dimensions))
                    .collect(),
                is_base64: asked.is_base64,
                usage: told(Usage { input, output: 0 }),
            })
        }
        Task::Chat(asked) => {
            let said = rule::chat(&asked.last_user_text, asked.max_tokens, &asked.stops);
            let (text, finish) = if habits.blocked || directives.is_blocked() {
                (None, Finish::Blocked)
            } else if directives.is_refused() {
                (Some(REFUSAL.to_owned()), Finish::Refused)
            } else if let Some(name) = directives.stop() {
                (Some(said.text), Finish::Named(name.to_owned()))
            } else {
                (Some(said.text), said.finish)
            };
            let output = rule::output_tokens(text.as_deref().unwrap_or_default());
            let usage = told(Usage { input, output });
            Answer::Chat(Chat {
                text,
                finish,
                usage,
            })
        }
    }
}
