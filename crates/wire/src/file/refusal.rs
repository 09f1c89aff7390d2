//! A no of the Files routes: at the top and in `detail`, so that both readings work.

use serde::Serialize;
use utoipa::ToSchema;

use crate::detail::Coded;

/// `error` is for programs, `message` for people; `detail` repeats both.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FileRefusal {
    #[schema(value_type = String, example = "invalid_request")]
    pub error: &'static str,
    pub message: String,
    pub detail: Coded,
}

impl FileRefusal {
    pub fn new(coded: Coded) -> Self {
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
    fn a_refusal_says_it_twice() {
        let refusal = FileRefusal::new(Coded {
            error: "file_not_found",
            message: "No such file.".to_owned(),
            more: <_>::default(),
        });
        insta::assert_snapshot!(serde_json::to_string(&refusal).unwrap(), @r#"{"error":"file_not_found","message":"No such file.","detail":{"error":"file_not_found","message":"No such file."}}"#);
    }
}
