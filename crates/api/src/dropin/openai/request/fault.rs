//! Why a request of a batch cannot be loaded: the field, and what to write instead.

/// A field that params cannot say, or a wrong value. It becomes the result of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFault {
    /// It names the path of the field, such as `messages[2].content`.
    pub(crate) message: String,
}

impl RequestFault {
    pub(super) fn unsupported(param: &str, advice: &str) -> Self {
        Self::new(format!("Unsupported parameter: '{param}'. {advice}"))
    }

    pub(super) fn unsupported_value(param: &str, advice: &str) -> Self {
        Self::new(format!("Unsupported value of '{param}'. {advice}"))
    }

    pub(super) fn wrong_type(param: &str, expected: &str) -> Self {
        Self::new(format!("Invalid type for '{param}': expected {expected}."))
    }

    pub(super) fn invalid(param: &str, reason: &str) -> Self {
        Self::new(format!("Invalid value of '{param}'. {reason}"))
    }

    pub(super) fn missing(param: &str) -> Self {
        Self::new(format!("Missing required parameter: '{param}'."))
    }

    const fn new(message: String) -> Self {
        Self { message }
    }
}
