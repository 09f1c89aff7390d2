//! Why a provider refuses the body of a request.

use crate::refusal::SimulatedRefusal;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRequest {
    pub message: String,
    /// The field. Only `OpenAI` sends it apart from the message.
    pub param: Option<String>,
    /// A code that only `OpenAI` sends.
    pub code: Option<&'static str>,
}

impl InvalidRequest {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            param: None,
            code: None,
        }
    }

    #[must_use]
    pub fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    pub fn refusal(&self, status: u16) -> SimulatedRefusal {
        let mut refusal = SimulatedRefusal::new(status, self.message.clone());
        refusal.param.clone_from(&self.param);
        refusal.openai_code = self.code;
        refusal
    }
}

impl From<String> for InvalidRequest {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for InvalidRequest {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}
