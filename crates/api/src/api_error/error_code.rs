//! Every code that the API answers in `detail.error`, and its status.
//!
//! Errors with a code are made of these values alone, so this list is complete. `clients/errors.toml`
//! has the same pairs of status and code, with what a client does about each.

use axum::http::StatusCode;
use domain::file::FileFailureReason;

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident $status:ident $code:literal;)*) => {
        /// The reason of an error, for programs. A code keeps its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)*
            /// The uploaded bytes failed validation.
            FileRejected(FileFailureReason),
        }

        impl ErrorCode {
            /// All but those of rejected files.
            const PLAIN: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)*
                    Self::FileRejected(reason) => reason.as_str(),
                }
            }

            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$variant => StatusCode::$status,)*
                    Self::FileRejected(_) => StatusCode::UNPROCESSABLE_ENTITY,
                }
            }
        }
    };
}

error_codes! {
    // Keys and their scopes.
    KeyAddressNotAllowed FORBIDDEN "key_address_not_allowed";
    KeyRightMissing FORBIDDEN "key_right_missing";
    KeyModelNotAllowed FORBIDDEN "key_model_not_allowed";
    // Loads.
    InvalidModel BAD_REQUEST "invalid_model";
    ModelCapabilityMissing UNPROCESSABLE_ENTITY "model_capability_missing";
    /// A load references a file that the project does not have.
    ReferencedFileNotFound UNPROCESSABLE_ENTITY "file_not_found";
    FileNotReady UNPROCESSABLE_ENTITY "file_not_ready";
    FileKindMismatch UNPROCESSABLE_ENTITY "file_kind_mismatch";
    IdempotencyKeyReused CONFLICT "idempotency_key_reused";
    RateLimitExceeded TOO_MANY_REQUESTS "rate_limit_exceeded";
    /// The tokens of the month are used up.
    TokenQuotaExceeded TOO_MANY_REQUESTS "quota_exceeded";
    InsufficientCredits TOO_MANY_REQUESTS "insufficient_credits";
    KeySpendingCapExceeded TOO_MANY_REQUESTS "key_spending_cap_exceeded";
    // Cargo and groups.
    NothingToSend CONFLICT "nothing_to_send";
    GroupNotFound NOT_FOUND "group_not_found";
    GroupSealed CONFLICT "group_sealed";
    GroupFull CONFLICT "group_full";
    TooManyGroups CONFLICT "too_many_groups";
    GroupTotalMismatch CONFLICT "group_total_mismatch";
    CustomIdReused CONFLICT "custom_id_reused";
    PositionTaken CONFLICT "position_taken";
    TooManyListeners CONFLICT "too_many_listeners";
    TooManyItems PAYLOAD_TOO_LARGE "too_many_items";
    // Files.
    FileNotFound NOT_FOUND "file_not_found";
    FilesNotAllowedForPlan FORBIDDEN "files_not_allowed_for_plan";
    /// The files or bytes of the plan are used up.
    StorageQuotaExceeded FORBIDDEN "quota_exceeded";
    InvalidState CONFLICT "invalid_state";
    FileInUse CONFLICT "file_in_use";
    TooManyUploadSessions CONFLICT "too_many_upload_sessions";
    FileTooLarge PAYLOAD_TOO_LARGE "file_too_large";
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE "unsupported_media_type";
    StorageUnavailable SERVICE_UNAVAILABLE "storage_unavailable";
    ScannerUnavailable SERVICE_UNAVAILABLE "scanner_unavailable";
    // Errors that have a text on other routes, in the format of the Files routes.
    InvalidRequest UNPROCESSABLE_ENTITY "invalid_request";
    IncompleteBody BAD_REQUEST "invalid_request";
    RequestTimeout REQUEST_TIMEOUT "request_timeout";
    RequestTooLarge PAYLOAD_TOO_LARGE "request_too_large";
    UnsupportedContentEncoding UNSUPPORTED_MEDIA_TYPE "unsupported_content_encoding";
    InternalError INTERNAL_SERVER_ERROR "internal_error";
    ServiceUnavailable SERVICE_UNAVAILABLE "service_unavailable";
}

impl ErrorCode {
    /// Every code, with those of rejected files.
    pub fn all() -> impl Iterator<Item = Self> {
        let rejected = FileFailureReason::ALL.iter().copied();
        let rejected = rejected.map(Self::FileRejected);
        Self::PLAIN.iter().copied().chain(rejected)
    }
}

/// Whether a status misleads about a retry: clients often repeat 409 and 429, but a repeat of these
/// gets the same answer.
pub(super) fn is_final(status: StatusCode, code: Option<&str>) -> bool {
    let is_used_up = |code: &str| {
        let used_up = [
            ErrorCode::TokenQuotaExceeded,
            ErrorCode::InsufficientCredits,
            ErrorCode::KeySpendingCapExceeded,
        ];
        used_up.iter().any(|it| it.as_str() == code)
    };
    match status {
        StatusCode::CONFLICT => true,
        StatusCode::TOO_MANY_REQUESTS => code.is_some_and(is_used_up),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_status_and_a_code_are_one_error() {
        let mut seen = HashSet::new();
        for code in ErrorCode::all() {
            let (status, word) = (code.status(), code.as_str());
            assert!(seen.insert((status, word)), "{status} {word}");
            let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            assert!(word.bytes().all(is_word), "{word}");
        }
    }

    #[test]
    fn a_repeat_helps_against_a_rate_limit_and_not_against_a_quota() {
        let all = ErrorCode::all();
        let is_final = |code: &ErrorCode| is_final(code.status(), Some(code.as_str()));
        let limits = all.filter(|code| code.status() == StatusCode::TOO_MANY_REQUESTS);
        let (last, repeated): (Vec<_>, Vec<_>) = limits.partition(is_final);
        assert_eq!(last.len(), 3);
        assert_eq!(repeated, [ErrorCode::RateLimitExceeded]);
        assert!(is_final(&ErrorCode::IdempotencyKeyReused));
        assert!(!is_final(&ErrorCode::ServiceUnavailable));
    }
}
