//! The result of one item: an outcome, a retry, or a fault of the provider account.

use domain::model_answer::ModelAnswer;
use domain::reason_code::{CargoFailure, FailureCode};
use domain::route::InferenceMode;
use domain::token_buckets::TokenBuckets;

use super::client::ProviderCallFailure;
use super::provider_error::{ProviderError, ProviderErrorClassification};

/// No model reads or writes more tokens: a provider that reports more has miscounted.
const MAX_PLAUSIBLE_TOKENS: u64 = 1 << 40;

#[derive(Debug, Clone, PartialEq)]
pub enum ItemResult {
    /// The answer to a chat. `ModelAnswer::into_outcome` makes the caller's outcome of it.
    Answer(ModelAnswer),
    Embeddings {
        vectors: Vec<Vec<f32>>,
        /// None if the provider reported no plausible usage.
        usage: Option<TokenBuckets>,
    },
    /// The caller pays nothing. `billed` is what the provider may bill us all the same.
    Failure {
        failure: CargoFailure,
        billed: ItemBill,
    },
    /// The item was not run, or not completed, through no fault of its request.
    Retry { why: String, billed: ItemBill },
    /// The provider refused the item with an error code about the account's credential or
    /// billing. One item does not prove it; see `domain::account_fault`.
    AccountFault(String),
}

/// What the provider bills for an item without an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ItemBill {
    pub tokens: TokenBuckets,
    /// The tier that served the request, if the provider says it.
    pub tier: Option<InferenceMode>,
}

impl ItemResult {
    /// The tier that served the request, if the provider says it.
    pub const fn tier(&self) -> Option<InferenceMode> {
        match self {
            Self::Answer(answer) => answer.tier,
            Self::Failure { billed, .. } | Self::Retry { billed, .. } => billed.tier,
            Self::Embeddings { .. } | Self::AccountFault(_) => None,
        }
    }

    pub(super) const fn set_tier(&mut self, tier: Option<InferenceMode>) {
        match self {
            Self::Answer(answer) => answer.tier = tier,
            Self::Failure { billed, .. } | Self::Retry { billed, .. } => billed.tier = tier,
            Self::Embeddings { .. } | Self::AccountFault(_) => {}
        }
    }

    pub(super) fn failure(failure: CargoFailure) -> Self {
        Self::Failure {
            failure,
            billed: ItemBill::default(),
        }
    }

    pub(super) fn retry(why: impl Into<String>) -> Self {
        Self::Retry {
            why: why.into(),
            billed: ItemBill::default(),
        }
    }

    /// A failed call that sent this item alone. Some failures are a fault of the item; `Err` is a
    /// failure of the provider.
    pub(super) fn from_call_failure(
        failure: ProviderCallFailure,
    ) -> Result<Self, ProviderCallFailure> {
        if let ProviderCallFailure::Refused { message, .. } = failure {
            let fault = FailureCode::RequestRejected.with_message(message);
            return Ok(Self::failure(fault));
        }
        if failure == ProviderCallFailure::TooLarge {
            let message = "the request is too large for the provider";
            let fault = FailureCode::RequestTooLarge.with_message(message);
            return Ok(Self::failure(fault));
        }
        if failure == ProviderCallFailure::UnconfirmedOutOfCredit {
            return Ok(Self::retry(failure.to_string()));
        }
        Err(failure)
    }

    pub(super) fn from_provider_error(status: u16, error: &ProviderError) -> Self {
        match error.classify(status) {
            ProviderErrorClassification::Permanent => {
                let message = error.message_or_default(status);
                Self::failure(FailureCode::RequestRejected.with_message(message))
            }
            ProviderErrorClassification::Retryable => Self::retry(format!("status {status}")),
            ProviderErrorClassification::Account if error.code.is_empty() => {
                Self::AccountFault(format!("status {status}"))
            }
            ProviderErrorClassification::Account => {
                Self::AccountFault(format!("{} (status {status})", error.code))
            }
        }
    }
}

/// `None` if a count is implausible.
pub(super) fn plausible_usage(usage: TokenBuckets) -> Option<TokenBuckets> {
    let totals = usage.totals();
    (totals.input_tokens <= MAX_PLAUSIBLE_TOKENS && totals.output_tokens <= MAX_PLAUSIBLE_TOKENS)
        .then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_usage_is_not_known() {
        let of = |fresh: u64, output: u64| {
            plausible_usage(TokenBuckets {
                fresh,
                output,
                ..TokenBuckets::default()
            })
        };
        let most = 1 << 40;
        assert!(of(0, 0).is_some());
        assert!(of(most, most).is_some());
        assert!(of(most + 1, 0).is_none());
        assert!(of(0, u64::MAX).is_none());
    }
}
