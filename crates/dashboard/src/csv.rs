//! CSV files (RFC 4180), protected against formula injection.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

/// A response that browsers save as a file.
pub(crate) fn download(name: &str, body: impl Into<Body>) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ),
    ];
    (headers, body.into()).into_response()
}

pub(crate) fn record<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let fields: Vec<String> = fields.into_iter().map(quote).collect();
    fields.join(",") + "\r\n"
}

/// Escapes user text that a spreadsheet would run as a formula.
pub(crate) fn escape_formula(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn quote(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) || field.trim() != field {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let line = record(["a", "b,c", "say \"d\"", " e"]);
        assert_eq!(line, "a,\"b,c\",\"say \"\"d\"\"\",\" e\"\r\n");
        assert_eq!(escape_formula("=1+1"), "'=1+1");
        assert_eq!(escape_formula("a=1"), "a=1");
    }
}
