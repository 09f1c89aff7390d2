//! Conversions into API errors, as the contract words them.

use axum::http::StatusCode;
use domain::admission::{LoadRefusal, TokenExcess};
use domain::api_key::ApiKeyRefusal;
use domain::key_scope::KeyScopeRefusal;
use domain::model::ModelKind;
use wire::error_body::{LocationStep, ValidationError};

use super::{ApiError, ErrorCode};

const KEY_UNAVAILABLE: &str =
    "The encryption key of your project is temporarily unavailable. Retry shortly.";
const KEY_RETRY_SECONDS: u32 = 5;
const DATABASE_UNAVAILABLE: &str = "The database is temporarily unavailable. Retry shortly.";

impl From<ApiKeyRefusal> for ApiError {
    fn from(refusal: ApiKeyRefusal) -> Self {
        let status = match refusal {
            ApiKeyRefusal::Missing
            | ApiKeyRefusal::Malformed
            | ApiKeyRefusal::Unknown
            | ApiKeyRefusal::Expired => StatusCode::UNAUTHORIZED,
            ApiKeyRefusal::ProjectInactive => StatusCode::FORBIDDEN,
        };
        Self::with_text(status, refusal.detail())
    }
}

/// The key is valid, but its scope does not include the request.
impl From<KeyScopeRefusal> for ApiError {
    fn from(refusal: KeyScopeRefusal) -> Self {
        match refusal {
            KeyScopeRefusal::Address(address) => {
                let address = address.map_or("unknown".to_owned(), |it| it.to_string());
                let message = format!(
                    "This API key cannot be used from your address, {address}. Use it from an \
                     allowed address, or use another key."
                );
                Self::with_code(ErrorCode::KeyAddressNotAllowed, message)
                    .with_field("address", address)
            }
            KeyScopeRefusal::Right(right) => {
                let right = right.as_str();
                let message = format!(
                    "This API key does not have the right `{right}`, which this route needs. Use \
                     another key."
                );
                Self::with_code(ErrorCode::KeyRightMissing, message).with_field("right", right)
            }
            KeyScopeRefusal::Model { allowed } => {
                let message =
                    "This API key cannot load cargo of this model. Use an allowed model, \
                               or another key."
                        .to_owned();
                Self::with_code(ErrorCode::KeyModelNotAllowed, message)
                    .with_field("allowed_models", allowed)
            }
        }
    }
}

impl From<LoadRefusal> for ApiError {
    fn from(refusal: LoadRefusal) -> Self {
        match refusal {
            LoadRefusal::UnknownModel { supported, nearest } => {
                let hint = nearest.map(|nearest| format!(" Did you mean `{nearest}`?"));
                let hint = hint.unwrap_or_default();
                let message = format!("No such model. Model ids are case-sensitive.{hint}");
                Self::with_code(ErrorCode::InvalidModel, message)
                    .with_field("supported_models", supported)
            }
            LoadRefusal::KindMismatch {
                model: ModelKind::Embedding,
            } => {
                let msg = "This is an embedding model: send input_text, not messages";
                Self::validation_at(["body", "params", "messages"], msg)
            }
            LoadRefusal::KindMismatch {
                model: ModelKind::Chat,
            } => {
                let msg = "This is a chat model: send messages, not input_text";
                Self::validation_at(["body", "params", "input_text"], msg)
            }
            LoadRefusal::TooManyTokens(excesses) => {
                Self::validation(excesses.into_iter().map(limit_exceeded).collect())
            }
            LoadRefusal::CapabilityMissing { capability } => {
                let capability = capability.as_str();
                let message = format!(
                    "The model cannot read this file: it has no {capability} capability. Choose \
                     another model."
                );
                Self::with_code(ErrorCode::ModelCapabilityMissing, message)
                    .with_field("capability", capability)
            }
            LoadRefusal::FileNotFound { file_id } => {
                let message = "There is no such file in this project.".to_owned();
                Self::with_code(ErrorCode::ReferencedFileNotFound, message)
                    .with_field("file_id", file_id)
            }
            LoadRefusal::FileNotReady { file_id } => {
                let message = "The file is not ready. Only a file with status ready can be \
                               referenced. GET /files/{file_id} shows its status."
                    .to_owned();
                Self::with_code(ErrorCode::FileNotReady, message).with_field("file_id", file_id)
            }
            LoadRefusal::FileKindMismatch {
                file_id,
                block,
                file,
            } => {
                let (block, file) = (block.as_str(), file.as_str());
                let message = format!(
                    "The block has type {block}, but the file is of kind {file}. Reference it in a \
                     block of type {file}."
                );
                Self::with_code(ErrorCode::FileKindMismatch, message).with_field("file_id", file_id)
            }
        }
    }
}

fn limit_exceeded(excess: TokenExcess) -> ValidationError {
    let (field, msg) = match excess {
        TokenExcess::Input { kind, context } => {
            let field = match kind {
                ModelKind::Chat => "messages",
                ModelKind::Embedding => "input_text",
            };
            let msg = format!("The input exceeds the model's context window of {context} tokens");
            (field, msg)
        }
        TokenExcess::Output { most } => {
            let msg = format!("max_tokens must be at most {most} for this model");
            ("max_tokens", msg)
        }
    };
    ValidationError {
        kind: "value_error",
        loc: ["body", "params", field].map(LocationStep::key).to_vec(),
        msg: msg.into(),
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        let cause = error.diagnosis();
        if matches!(error, store::Error::KeyUnavailable(_)) {
            Self::key_unavailable().with_cause(cause)
        } else if error.is_unavailable() {
            Self::unavailable(DATABASE_UNAVAILABLE, 1).with_cause(cause)
        } else {
            Self::internal(cause)
        }
    }
}

impl ApiError {
    /// 503: values of the project can be neither encrypted nor decrypted now.
    pub(crate) fn key_unavailable() -> Self {
        metrics::counter!("longshore_data_key_unavailable_total", "operation" => "request")
            .increment(1);
        Self::unavailable(KEY_UNAVAILABLE, KEY_RETRY_SECONDS)
    }
}
