//! Why a command ended without success: what happened, and what to do next.

use std::io;
use std::path::Path;

use client::ClientError;
use serde_json::{Value, json};

use crate::exit_status::ExitStatus;

pub type CliResult<T> = Result<T, CliError>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliError {
    pub exit: ExitStatus,
    /// For programs.
    pub code: String,
    pub message: String,
    /// What to do next.
    pub next: Option<String>,
    pub request_id: Option<String>,
}

impl CliError {
    pub fn new(exit: ExitStatus, code: &str, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: code.to_owned(),
            message: message.into(),
            next: None,
            request_id: None,
        }
    }

    #[must_use]
    pub fn with_next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    pub fn file(path: &Path, error: &io::Error) -> Self {
        let message = format!("{}: {error}", path.display());
        Self::new(ExitStatus::Failed, "file_error", message)
    }

    /// The reader of standard output has gone: `longshore list | head`.
    pub fn closed_output() -> Self {
        Self::new(ExitStatus::Done, CLOSED_OUTPUT, "")
    }

    /// No reader is left.
    pub fn is_silent(&self) -> bool {
        self.code == CLOSED_OUTPUT
    }

    pub fn to_json(&self) -> Value {
        json!({
            "code": self.code,
            "message": self.message,
            "next": self.next,
            "request_id": self.request_id,
        })
    }
}

const CLOSED_OUTPUT: &str = "closed_output";

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::Refused(refusal) => {
                let (class, advice) = (refusal.class, refusal.advice);
                Self {
                    exit: ExitStatus::of_http_status(refusal.status),
                    code: refusal.code.clone().unwrap_or_else(|| class.to_owned()),
                    message,
                    next: (!advice.is_empty()).then(|| advice.to_owned()),
                    request_id: refusal.request_id,
                }
            }
            ClientError::Transport(_) => Self::new(ExitStatus::ServiceAway, "no_answer", message)
                .with_next("Check the base URL and the network, then run the same command again."),
            ClientError::UnreadableAnswer(_) => {
                Self::new(ExitStatus::ServiceAway, "unreadable_answer", message)
                    .with_next("Check that the base URL is that of a Longshore service.")
            }
            ClientError::Setup(_) => Self::new(ExitStatus::Failed, "setup_failed", message),
            ClientError::InvalidRequest(_) => {
                Self::new(ExitStatus::Usage, "invalid_request", message)
            }
            ClientError::File { .. } => Self::new(ExitStatus::Failed, "file_error", message),
        }
    }
}

#[cfg(test)]
mod tests {
    use client::client_error::ApiErrorAnswer;

    use super::*;

    #[test]
    fn exit_codes_follow_the_answer() {
        let exit = |status: u16| {
            let refusal = ApiErrorAnswer::from_detail(status, Value::Null);
            CliError::from(ClientError::Refused(Box::new(refusal)))
                .exit
                .number()
        };
        let exits = [400, 401, 403, 404, 409, 422, 429, 500, 503].map(exit);
        assert_eq!(exits, [1, 4, 4, 5, 1, 1, 6, 7, 7]);
    }
}
