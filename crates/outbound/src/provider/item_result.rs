//! The result of one item: an outcome, a retry, or a fault of the provider account.

use domain::outcome::{
    ChatCompletion, Completion, CompletionText, EmbeddingCompletion, Outcome, StopReason,
    TokenUsage,
};
use domain::reason_code::{CargoFailure, FailureCode};

use super::item_key::ItemKey;
use super::provider_error::{ProviderError, ProviderErrorClassification};

/// No model reads or writes more tokens: a provider that reports more has miscounted.
const MAX_PLAUSIBLE_TOKENS: u64 = 1 << 40;

#[derive(Debug, Clone, PartialEq)]
pub enum ItemResult {
    Outcome {
        outcome: Outcome,
        /// False if the provider reported no plausible usage. The usage is then 0.
        is_usage_known: bool,
    },
    /// The item was not run, or not completed, through no fault of its request.
    Retry(String),
    /// The provider refused the item with an error code about the account's credential or
    /// billing. One item does not prove it; see `domain::account_fault`.
    AccountFault(String),
}

impl ItemResult {
    /// Failures cost nothing.
    pub(super) const fn failure(failure: CargoFailure) -> Self {
        Self::Outcome {
            outcome: Outcome::Failure(failure),
            is_usage_known: true,
        }
    }

    pub(super) fn retry(why: impl Into<String>) -> Self {
        Self::Retry(why.into())
    }

    pub(super) fn from_provider_error(status: u16, error: &ProviderError) -> Self {
        match error.classify(status) {
            ProviderErrorClassification::Permanent => {
                let message = error.message_or_default(status);
                Self::failure(FailureCode::RequestRejected.with_message(message))
            }
            ProviderErrorClassification::Retryable => Self::Retry(format!("status {status}")),
            ProviderErrorClassification::Account if error.code.is_empty() => {
                Self::AccountFault(format!("status {status}"))
            }
            ProviderErrorClassification::Account => {
                Self::AccountFault(format!("{} (status {status})", error.code))
            }
        }
    }

    fn success(completion: Completion, usage: Option<TokenUsage>) -> Self {
        Self::Outcome {
            outcome: Outcome::Success(completion),
            is_usage_known: usage.is_some(),
        }
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModelStop {
    Reason(StopReason),
    /// A content filter stopped the model. Text before that is still an answer.
    Blocked(String),
    /// The model stopped for a feature that Longshore does not support.
    Unsupported(String),
}

pub(super) fn chat_result(
    key: ItemKey,
    model: &str,
    text: String,
    stop: ModelStop,
    usage: Option<TokenUsage>,
) -> ItemResult {
    let stop_reason = match stop {
        ModelStop::Reason(reason) => reason,
        ModelStop::Blocked(name) if text.is_empty() => {
            let message = format!("blocked by provider: {name}");
            return ItemResult::failure(FailureCode::ContentBlocked.with_message(message));
        }
        ModelStop::Blocked(_) => StopReason::EndTurn,
        ModelStop::Unsupported(name) => {
            let message = format!("the model stopped for an unsupported feature: {name}");
            return ItemResult::failure(FailureCode::UnsupportedStop.with_message(message));
        }
    };
    let completion = ChatCompletion {
        id: format!("msg_{}", key.cargo.uuid().simple()),
        kind: "message".to_owned(),
        role: "assistant".to_owned(),
        content: vec![CompletionText::of(text)],
        model: model.to_owned(),
        stop_reason,
        usage: usage.unwrap_or_default(),
    };
    ItemResult::success(Completion::Chat(completion), usage)
}

pub(super) fn embedding_result(
    key: ItemKey,
    model: &str,
    embeddings: Vec<Vec<f32>>,
    usage: Option<TokenUsage>,
) -> ItemResult {
    let completion = EmbeddingCompletion {
        id: format!("emb_{}", key.cargo.uuid().simple()),
        kind: "embedding".to_owned(),
        model: model.to_owned(),
        embeddings,
        usage: usage.unwrap_or_default(),
    };
    ItemResult::success(Completion::Embedding(completion), usage)
}

/// `None` if a count is missing or implausible.
pub(super) fn plausible_usage(input: Option<u64>, output: Option<u64>) -> Option<TokenUsage> {
    let usage = TokenUsage {
        input_tokens: input?,
        output_tokens: output?,
    };
    (usage.input_tokens <= MAX_PLAUSIBLE_TOKENS && usage.output_tokens <= MAX_PLAUSIBLE_TOKENS)
        .then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_that_is_missing_or_absurd_is_not_known() {
        let most = 1 << 40;
        assert!(plausible_usage(Some(0), Some(0)).is_some());
        assert!(plausible_usage(Some(most), Some(most)).is_some());
        assert!(plausible_usage(Some(most + 1), Some(0)).is_none());
        assert!(plausible_usage(Some(0), Some(u64::MAX)).is_none());
        assert!(plausible_usage(None, Some(0)).is_none());
        assert!(plausible_usage(Some(0), None).is_none());
    }
}
