//! An error of the Files routes: at the top and in `detail`, so that both readings work.

use serde::Serialize;
use utoipa::ToSchema;

use crate::error_body::CodedError;

/// `error` is for programs, `message` for people; `detail` repeats both.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = FileRefusal)]
pub struct FileErrorBody {
    #[schema(value_type = String, example = "invalid_request")]
    pub error: &'static str,
    pub message: String,
    pub detail: CodedError,
}

impl FileErrorBody {
    pub fn new(coded: CodedError) -> Self {
        Self {
            error: coded.error,
            message: coded.message.clone(),
            detail: coded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_at_the_top_and_in_detail() {
        let refusal = FileErrorBody::new(CodedError {
            error: "file_not_found",
            message: "No such file.".to_owned(),
            more: <_>::default(),
        });
        insta::assert_snapshot!(serde_json::to_string(&refusal).unwrap(), @r#"{"error":"file_not_found","message":"No such file.","detail":{"error":"file_not_found","message":"No such file."}}"#);
    }
}
