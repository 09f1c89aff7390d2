//! Each refusal and failure as the contract answers it.

use axum::http::StatusCode;
use domain::admission::{Excess, LoadRefusal};
use domain::api_key::KeyRefusal;
use domain::model::Kind;
use wire::detail::{Fault, Step};

use super::Problem;

const AWAY: &str = "The service's storage is briefly unavailable. Retry shortly.";

impl From<KeyRefusal> for Problem {
    fn from(refusal: KeyRefusal) -> Self {
        let status = match refusal {
            KeyRefusal::Missing
            | KeyRefusal::Malformed
            | KeyRefusal::Unknown
            | KeyRefusal::Expired => StatusCode::UNAUTHORIZED,
            KeyRefusal::ProjectInactive => StatusCode::FORBIDDEN,
        };
        Self::text(status, refusal.detail())
    }
}

impl From<LoadRefusal> for Problem {
    fn from(refusal: LoadRefusal) -> Self {
        match refusal {
            LoadRefusal::UnknownModel { supported, nearest } => {
                let hint = nearest.map(|nearest| format!(" Did you mean `{nearest}`?"));
                let hint = hint.unwrap_or_default();
                let message = format!("No such model. Model ids are case-sensitive.{hint}");
                Self::coded(StatusCode::BAD_REQUEST, "invalid_model", message)
                    .with("supported_models", supported)
            }
            LoadRefusal::KindMismatch {
                model: Kind::Embedding,
            } => {
                let msg = "This is an embedding model: send input_text, not messages";
                Self::fault(["body", "params", "messages"], msg)
            }
            LoadRefusal::KindMismatch { model: Kind::Chat } => {
                let msg = "This is a chat model: send messages, not input_text";
                Self::fault(["body", "params", "input_text"], msg)
            }
            LoadRefusal::TooMuch(excesses) => {
                Self::faults(excesses.into_iter().map(excess).collect())
            }
            LoadRefusal::CapabilityMissing { capability } => {
                let capability = capability.as_str();
                let message = format!("The model cannot read this: it has no {capability}.");
                unprocessable("model_capability_missing", message).with("capability", capability)
            }
            LoadRefusal::FileNotFound { file_id } => {
                let message = "There is no such file in this project.".to_owned();
                unprocessable("file_not_found", message).with("file_id", file_id)
            }
            LoadRefusal::FileNotReady { file_id } => {
                let message = "The file is not ready. Only a file whose status is ready can be \
                               named: GET /files/{file_id} shows how it stands."
                    .to_owned();
                unprocessable("file_not_ready", message).with("file_id", file_id)
            }
            LoadRefusal::FileKindMismatch {
                file_id,
                block,
                file,
            } => {
                let (block, file) = (block.as_str(), file.as_str());
                let message = format!(
                    "The block is of type {block} and the file of kind {file}. Name it in a block \
                     of type {file}."
                );
                unprocessable("file_kind_mismatch", message).with("file_id", file_id)
            }
        }
    }
}

fn excess(excess: Excess) -> Fault {
    let (field, msg) = match excess {
        Excess::Input { kind, context } => {
            let field = match kind {
                Kind::Chat => "messages",
                Kind::Embedding => "input_text",
            };
            let msg = format!("The text is longer than the {context} tokens that the model reads");
            (field, msg)
        }
        Excess::Output { most } => {
            let msg = format!("max_tokens must be at most {most} for this model");
            ("max_tokens", msg)
        }
    };
    Fault {
        kind: "value_error",
        loc: ["body", "params", field].map(Step::Key).to_vec(),
        msg: msg.into(),
    }
}

fn unprocessable(error: &'static str, message: String) -> Problem {
    Problem::coded(StatusCode::UNPROCESSABLE_ENTITY, error, message)
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        if error.is_away() {
            Self::unavailable(AWAY, 1).because(error)
        } else {
            Self::internal(error)
        }
    }
}
