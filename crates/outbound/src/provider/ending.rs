//! How one item ended: answered, failed, or to be tried again.

use domain::outcome::{
    ChatCompletion, Completion, EmbeddingCompletion, Outcome, StopReason, Text, Usage,
};

use super::key::ItemKey;
use super::no::{No, Verdict};

/// No model reads or writes so many tokens: whoever says so has not counted.
const ABSURD: u64 = 1 << 40;

#[derive(Debug, Clone, PartialEq)]
pub enum ItemEnd {
    Outcome {
        outcome: Outcome,
        /// False: the provider did not say, or said nonsense, and the usage reads 0.
        usage_known: bool,
    },
    /// Not run, or not to its end, for no fault of its own.
    Again(String),
    /// Refused with an error code that speaks of the account: its credential or its payment.
    /// One item is no proof of it; see `domain::account_fault`.
    AccountFault(String),
}

impl ItemEnd {
    /// In words for the caller. Failures cost nothing.
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Outcome {
            outcome: Outcome::Failure(why.into()),
            usage_known: true,
        }
    }

    pub(super) fn again(why: impl Into<String>) -> Self {
        Self::Again(why.into())
    }

    pub(super) fn refused(status: u16, no: &No) -> Self {
        match no.verdict(status) {
            Verdict::Fails => Self::failed(no.words(status)),
            Verdict::GoesAgain => Self::Again(format!("status {status}")),
            Verdict::Account if no.code.is_empty() => {
                Self::AccountFault(format!("status {status}"))
            }
            Verdict::Account => Self::AccountFault(format!("{} (status {status})", no.code)),
        }
    }

    fn succeeded(completion: Completion, usage: Option<Usage>) -> Self {
        Self::Outcome {
            outcome: Outcome::Success(completion),
            usage_known: usage.is_some(),
        }
    }
}

/// Why a model stopped, as far as we offer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    Reason(StopReason),
    /// A filter cut in: what was said before counts, if anything was.
    Blocked(String),
    /// It wants what we do not offer.
    Unoffered(String),
}

/// A chat as our callers read it.
pub(super) fn chat(
    key: ItemKey,
    model: &str,
    text: String,
    stop: Stop,
    usage: Option<Usage>,
) -> ItemEnd {
    let stop_reason = match stop {
        Stop::Reason(reason) => reason,
        Stop::Blocked(name) if text.is_empty() => {
            return ItemEnd::failed(format!("blocked by provider: {name}"));
        }
        Stop::Blocked(_) => StopReason::EndTurn,
        Stop::Unoffered(name) => {
            return ItemEnd::failed(format!("the model stopped for what is not offered: {name}"));
        }
    };
    let completion = ChatCompletion {
        id: format!("msg_{}", key.cargo.uuid().simple()),
        kind: "message".to_owned(),
        role: "assistant".to_owned(),
        content: vec![Text::of(text)],
        model: model.to_owned(),
        stop_reason,
        usage: usage.unwrap_or_default(),
    };
    ItemEnd::succeeded(Completion::Chat(completion), usage)
}

pub(super) fn embedding(
    key: ItemKey,
    model: &str,
    embeddings: Vec<Vec<f32>>,
    usage: Option<Usage>,
) -> ItemEnd {
    let completion = EmbeddingCompletion {
        id: format!("emb_{}", key.cargo.uuid().simple()),
        kind: "embedding".to_owned(),
        model: model.to_owned(),
        embeddings,
        usage: usage.unwrap_or_default(),
    };
    ItemEnd::succeeded(Completion::Embedding(completion), usage)
}

/// Nothing when a number that must be there is not, or is not to be believed.
pub(super) fn usage(input: Option<u64>, output: Option<u64>) -> Option<Usage> {
    let usage = Usage {
        input_tokens: input?,
        output_tokens: output?,
    };
    (usage.input_tokens <= ABSURD && usage.output_tokens <= ABSURD).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_that_is_missing_or_absurd_is_not_known() {
        let most = 1 << 40;
        assert!(usage(Some(0), Some(0)).is_some());
        assert!(usage(Some(most), Some(most)).is_some());
        assert!(usage(Some(most + 1), Some(0)).is_none());
        assert!(usage(Some(0), Some(u64::MAX)).is_none());
        assert!(usage(None, Some(0)).is_none());
        assert!(usage(Some(0), None).is_none());
    }
}
