//! Why a load is refused, as errors of the API.

use domain::account::AccountRefusal;
use domain::idempotency::InvalidIdempotencyKey;
use domain::time::to_wire;

use crate::api_error::{ApiError, ErrorCode};
use crate::group_commit::StoreLoadError;

impl From<InvalidIdempotencyKey> for ApiError {
    fn from(fault: InvalidIdempotencyKey) -> Self {
        Self::validation_at(["header", "idempotency-key"], fault.to_string())
    }
}

impl From<StoreLoadError> for ApiError {
    fn from(reason: StoreLoadError) -> Self {
        match reason {
            StoreLoadError::KeyReused => Self::idempotency_key_reused(),
            StoreLoadError::Refused(refusal) => refusal.into(),
            StoreLoadError::File(refusal) => refusal.into(),
            StoreLoadError::GroupNotFound => Self::group_not_found(),
            StoreLoadError::GroupSealed => Self::group_sealed(),
            StoreLoadError::GroupFull => Self::group_full(),
            StoreLoadError::CustomIdReused => Self::custom_id_reused(),
            StoreLoadError::PositionTaken => Self::position_taken(),
            StoreLoadError::Unavailable => Self::unavailable(
                "The database shard of your organization is unavailable. Retry the load; with an \
                 Idempotency-Key it is stored only once.",
                1,
            ),
            StoreLoadError::KeyUnavailable => Self::key_unavailable(),
            StoreLoadError::Overloaded(overload) => Self::unavailable(
                "Too many loads are waiting. Retry after the time in Retry-After.",
                overload.retry_after_seconds,
            ),
            StoreLoadError::Failed(cause) => Self::internal(std::io::Error::other(cause)),
        }
    }
}

impl From<AccountRefusal> for ApiError {
    fn from(refusal: AccountRefusal) -> Self {
        match refusal {
            AccountRefusal::QuotaExceeded {
                monthly,
                spoken_for,
                required,
                resets_at,
            } => {
                let resets_at = to_wire(resets_at);
                let message = format!(
                    "The monthly token quota is used up: {spoken_for} of {monthly} tokens are \
                     used or reserved, and this load may need {required}. The quota resets at \
                     {resets_at}."
                );
                Self::with_code(ErrorCode::TokenQuotaExceeded, message)
                    .with_field("monthly_tokens", monthly)
                    .with_field("used_tokens", spoken_for)
                    .with_field("required_tokens", required)
                    .with_field("resets_at", resets_at)
            }
            AccountRefusal::InsufficientCredit {
                required,
                available,
            } => {
                let message = format!(
                    "This load may cost {required} dollars, but only {available} dollars of \
                     credit are available. Add credit, or lower max_tokens."
                );
                Self::with_code(ErrorCode::InsufficientCredits, message)
                    .with_field("required", required.nanos())
                    .with_field("available", available.nanos())
                    .with_field("currency", "USD")
                    .with_field("scale", 9)
            }
            AccountRefusal::KeySpendingCapExceeded {
                cap,
                spoken_for,
                required,
                resets_at,
            } => {
                let resets_at = to_wire(resets_at);
                let message = format!(
                    "The monthly spending cap of this API key is {cap} dollars: {spoken_for} \
                     dollars are spent or held, and this load may cost {required} dollars. The \
                     cap resets at {resets_at}."
                );
                Self::with_code(ErrorCode::KeySpendingCapExceeded, message)
                    .with_field("monthly_cap", cap.nanos())
                    .with_field("spent", spoken_for.nanos())
                    .with_field("required", required.nanos())
                    .with_field("currency", "USD")
                    .with_field("scale", 9)
                    .with_field("resets_at", resets_at)
            }
        }
    }
}
