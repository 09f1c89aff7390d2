//! The query of lists: `limit`, `after`, `order` and `purpose`.

use axum::extract::Query;
use http::Uri;
use serde::Deserialize;

use crate::api_error::OpenAiApiError;

const DEFAULT_LIMIT: u32 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListQuery {
    pub(crate) limit: u32,
    pub(crate) after: Option<String>,
    pub(crate) purpose: Option<String>,
}

#[derive(Debug, Deserialize)]
struct QueryFields {
    limit: Option<String>,
    after: Option<String>,
    order: Option<String>,
    purpose: Option<String>,
}

/// A larger limit than the largest is the largest: a client that pages reads all of them.
pub(crate) fn parse_list_query(uri: &Uri, max_limit: u32) -> Result<ListQuery, OpenAiApiError> {
    let Ok(Query(fields)) = Query::<QueryFields>::try_from_uri(uri) else {
        let message = "The query cannot be read.";
        return Err(OpenAiApiError::invalid(None, "invalid_value", message));
    };
    let limit = match fields.limit.as_deref() {
        None | Some("") => Some(DEFAULT_LIMIT),
        Some(text) => text.parse::<u32>().ok().filter(|limit| *limit > 0),
    };
    let limit = limit.ok_or_else(|| {
        let message = "limit is a positive integer.";
        OpenAiApiError::invalid(Some("limit"), "invalid_value", message)
    })?;
    if fields.order.is_some_and(|order| order != "desc") {
        let message = "Lists are sorted by creation, newest first: use desc, or leave it out.";
        return Err(OpenAiApiError::invalid(
            Some("order"),
            "unsupported_value",
            message,
        ));
    }
    Ok(ListQuery {
        limit: limit.min(max_limit),
        after: fields.after.filter(|text| !text.is_empty()),
        purpose: fields.purpose,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_limits() {
        let parse = |query: &str| {
            let uri: Uri = format!("/?{query}").parse().unwrap();
            let parsed = parse_list_query(&uri, 100);
            parsed
                .map(|it| (it.limit, it.after))
                .map_err(|it| it.param())
        };
        assert_eq!(parse(""), Ok((20, None)));
        assert_eq!(
            parse("limit=7&after=batch_1"),
            Ok((7, Some("batch_1".to_owned())))
        );
        assert_eq!(parse("limit=5000&order=desc"), Ok((100, None)));
        assert_eq!(parse("limit=0"), Err(Some("limit".to_owned())));
        assert_eq!(parse("limit=x"), Err(Some("limit".to_owned())));
        assert_eq!(parse("order=asc"), Err(Some("order".to_owned())));
    }
}
