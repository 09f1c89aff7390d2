//! The query string of `GET /audit`.

use axum::extract::Query;
use axum::http::Uri;

use crate::api_error::ApiError;
use crate::validation_errors::ValidationErrors;

pub(crate) const MAX_AUDIT_PAGE_SIZE: u32 = 1000;

/// One page of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuditPageQuery {
    /// Only entries with a larger id.
    pub(crate) after: i64,
    pub(crate) limit: u32,
}

pub(crate) fn parse_audit_query(uri: &Uri) -> Result<AuditPageQuery, ApiError> {
    let invalid = "The query string is invalid. Use name=value&name=value.";
    let Query(pairs): Query<Vec<(String, String)>> =
        Query::try_from_uri(uri).map_err(|_| ApiError::validation_at(["query"], invalid))?;
    let mut wrong = ValidationErrors::at(["query"]);
    let mut page = AuditPageQuery {
        after: 0,
        limit: MAX_AUDIT_PAGE_SIZE,
    };
    for (name, value) in pairs {
        match name.as_str() {
            // An empty cursor is that of the first page.
            "after" if value.is_empty() => {}
            "after" => match value.parse::<i64>() {
                Ok(after) if after >= 0 => page.after = after,
                Ok(_) | Err(_) => {
                    let msg = "after should be the id of an entry";
                    wrong.add_at("after", "value_error", msg);
                }
            },
            "limit" => match value.parse::<u32>() {
                Ok(limit) if (1..=MAX_AUDIT_PAGE_SIZE).contains(&limit) => page.limit = limit,
                Ok(_) | Err(_) => {
                    let msg =
                        format!("limit should be a whole number from 1 to {MAX_AUDIT_PAGE_SIZE}");
                    wrong.add_at("limit", "value_error", msg);
                }
            },
            _ => {}
        }
    }
    wrong.into_result(Some(page)).map_err(ApiError::validation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_cursor_and_a_size() {
        let parse = |query: &str| parse_audit_query(&format!("/audit{query}").parse().unwrap());
        let page = |after, limit| AuditPageQuery { after, limit };
        for (query, expected) in [
            ("", page(0, 1000)),
            ("?after=", page(0, 1000)),
            ("?after=42&limit=7&other=x", page(42, 7)),
        ] {
            assert_eq!(parse(query).ok(), Some(expected), "{query}");
        }
        let wrong = parse("?after=-1&limit=1001").unwrap_err().into_body();
        let wrong = serde_json::to_string(&wrong).unwrap();
        insta::assert_snapshot!(wrong, @r#"{"detail":[{"type":"value_error","loc":["query","after"],"msg":"after should be the id of an entry"},{"type":"value_error","loc":["query","limit"],"msg":"limit should be a whole number from 1 to 1000"}]}"#);
    }
}
