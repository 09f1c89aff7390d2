//! The lines of an input file: `custom_id`, `method`, `url` and `body`.

use std::collections::HashSet;

use domain::cargo_group::CustomId;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::dropin::openai::endpoint::Endpoint;
use crate::dropin::raw_fields::{RawFields, has_too_many_values, read_fields};
use crate::json_budget::MAX_JSON_VALUES;

/// Errors of a file that are reported.
const MAX_REPORTED_ERRORS: usize = 100;
const FIELDS: [&str; 4] = ["custom_id", "method", "url", "body"];

/// A line that is no request. It fails the whole batch before anything is loaded, as it does there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LineError {
    pub(crate) code: &'static str,
    /// From 1. None if the error is of the whole file.
    pub(crate) line: Option<u64>,
    pub(crate) message: String,
    pub(crate) param: Option<String>,
}

/// A request of the batch, as it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestLine {
    pub(crate) custom_id: String,
    pub(crate) body: Map<String, Value>,
}

impl LineError {
    fn new(code: &'static str, param: Option<&str>, message: impl Into<String>) -> Self {
        Self {
            code,
            line: None,
            message: message.into(),
            param: param.map(str::to_owned),
        }
    }
}

/// Checks lines one after the other, and that no two have the same name.
#[derive(Debug)]
pub(crate) struct LineChecker {
    endpoint: Endpoint,
    names: HashSet<String>,
    /// Lines of the file before the next item.
    lines: u64,
    items: u64,
    errors: Vec<LineError>,
}

impl LineChecker {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            names: HashSet::new(),
            lines: 0,
            items: 0,
            errors: Vec::new(),
        }
    }

    /// Whether no further error is reported.
    pub(crate) const fn is_full(&self) -> bool {
        self.errors.len() >= MAX_REPORTED_ERRORS
    }

    pub(crate) const fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// Returns the request of a line that is one. Blank lines before a line are part of its item.
    pub(crate) fn check(&mut self, item: &[u8]) -> Option<RequestLine> {
        let breaks = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').skip(1).count() as u64;
        let blank = item.len() - item.trim_ascii_start().len();
        let blank = item.get(..blank).map_or(0, breaks);
        let line = self.lines + blank + 1;
        self.lines += breaks(item);
        self.items += 1;
        let checked = read_envelope(item, self.endpoint);
        let checked = checked.and_then(|name| self.add_name(name));
        match checked.and_then(|()| read_line(item).ok_or_else(unreadable)) {
            Ok(request) => Some(request),
            Err(error) => {
                if !self.is_full() {
                    self.errors.push(LineError {
                        line: Some(line),
                        ..error
                    });
                }
                None
            }
        }
    }

    fn add_name(&mut self, name: String) -> Result<(), LineError> {
        if self.names.insert(name) {
            return Ok(());
        }
        let message = "Another line of the file has the same custom_id.";
        Err(LineError::new(
            "duplicate_custom_id",
            Some("custom_id"),
            message,
        ))
    }

    /// Nothing: all lines are requests of the endpoint.
    pub(crate) fn finish(mut self) -> Vec<LineError> {
        if self.items == 0 {
            let message = "The input file has no lines.";
            self.errors
                .push(LineError::new("empty_file", None, message));
        }
        self.errors
    }
}

/// The `custom_id` of a line whose envelope is valid. The body is not read.
fn read_envelope(item: &[u8], endpoint: Endpoint) -> Result<String, LineError> {
    let fields = check_fields(item)?;
    if let Some(name) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        let message = format!("Unknown parameter: '{name}'.");
        return Err(LineError::new("unknown_parameter", Some(name), message));
    }
    let custom_id = read_text(&fields, "custom_id")?;
    if CustomId::new(&custom_id).is_err() {
        let message = "A custom_id has 1 to 256 visible characters.";
        return Err(LineError::new(
            "invalid_custom_id",
            Some("custom_id"),
            message,
        ));
    }
    if read_text(&fields, "method")? != "POST" {
        return Err(LineError::new(
            "invalid_method",
            Some("method"),
            "Use POST.",
        ));
    }
    if read_text(&fields, "url")? != endpoint.as_str() {
        let message = format!(
            "The url of a line is the endpoint of the batch, {}.",
            endpoint.as_str()
        );
        return Err(LineError::new("invalid_url", Some("url"), message));
    }
    let body = fields.get("body").ok_or_else(|| missing("body"))?;
    if !body.get().starts_with('{') {
        let message = "Invalid type for 'body': expected an object.";
        return Err(LineError::new("invalid_type", Some("body"), message));
    }
    Ok(custom_id)
}

/// The fields of a line that is small enough to be parsed.
fn check_fields(item: &[u8]) -> Result<RawFields<'_>, LineError> {
    if has_too_many_values(item) {
        let message = format!("A line has at most {MAX_JSON_VALUES} JSON values.");
        return Err(LineError::new("too_many_values", None, message));
    }
    read_fields(item).map_err(|_| {
        let message = "This line is not a JSON object.";
        LineError::new("invalid_json_line", None, message)
    })
}

/// The envelope does not read the body, so only the whole line shows this.
fn unreadable() -> LineError {
    let message = "This line cannot be read. Look for wrong escapes in texts, numbers that are too \
                   large, and more than 100 levels of objects and lists.";
    LineError::new("invalid_json_line", None, message)
}

fn read_text(fields: &RawFields<'_>, name: &str) -> Result<String, LineError> {
    let value = fields.get(name).ok_or_else(|| missing(name))?;
    serde_json::from_str(value.get()).map_err(|_| {
        let message = format!("Invalid type for '{name}': expected a string.");
        LineError::new("invalid_type", Some(name), message)
    })
}

fn missing(name: &str) -> LineError {
    let message = format!("Missing required parameter: '{name}'.");
    LineError::new("missing_required_parameter", Some(name), message)
}

/// The name of a line whose body cannot be read.
pub(crate) fn read_custom_id(item: &[u8]) -> Option<String> {
    read_text(&read_fields(item).ok()?, "custom_id").ok()
}

/// Reads a line whose envelope was checked before. None: it is none any more.
pub(crate) fn read_line(item: &[u8]) -> Option<RequestLine> {
    let fields = read_fields(item).ok()?;
    let custom_id = read_text(&fields, "custom_id").ok()?;
    let body = serde_json::from_str(fields.get("body")?.get()).ok()?;
    Some(RequestLine { custom_id, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str) -> Vec<(Option<u64>, &'static str)> {
        let mut checker = LineChecker::new(Endpoint::ChatCompletions);
        let mut pending = String::new();
        for line in file.split_inclusive('\n') {
            pending.push_str(line);
            if !line.trim().is_empty() {
                checker.check(pending.as_bytes());
                pending.clear();
            }
        }
        let errors = checker.finish();
        errors.into_iter().map(|it| (it.line, it.code)).collect()
    }

    fn line(custom_id: &str, url: &str) -> String {
        format!(
            "{{\"custom_id\": \"{custom_id}\", \"method\": \"POST\", \"url\": \"{url}\", \
             \"body\": {{}}}}\n"
        )
    }

    #[test]
    fn every_line_is_a_request_with_its_own_name() {
        let chat = Endpoint::ChatCompletions.as_str();
        let valid = line("a", chat) + "\n\r\n" + &line("b", chat);
        assert_eq!(check(&valid), []);
        let twice = line("a", chat) + "\n" + &line("a", chat);
        assert_eq!(check(&twice), [(Some(3), "duplicate_custom_id")]);
        let mixed = line("a", chat) + &line("b", "/v1/embeddings") + "nonsense\n" + "[]\n";
        let expected = [
            (Some(2), "invalid_url"),
            (Some(3), "invalid_json_line"),
            (Some(4), "invalid_json_line"),
        ];
        assert_eq!(check(&mixed), expected);
        assert_eq!(check(""), [(None, "empty_file")]);
    }

    #[test]
    fn a_line_whose_body_cannot_be_read_is_no_request() {
        let chat = Endpoint::ChatCompletions.as_str();
        let deep = "[".repeat(200) + &"]".repeat(200);
        for value in [r#""\ud800""#, "1e999", deep.as_str()] {
            let wrong = line("b", chat).replace("{}", &format!("{{\"a\": {value}}}"));
            let file = line("a", chat) + &wrong;
            assert_eq!(check(&file), [(Some(2), "invalid_json_line")], "{value}");
        }
    }

    #[test]
    fn fields_of_a_line_are_checked_by_their_names() {
        let code = |line: &str| {
            let checked = read_envelope(line.as_bytes(), Endpoint::ChatCompletions);
            checked.map_err(|error| (error.code, error.param.unwrap_or_default()))
        };
        let refused = |code: &'static str, param: &str| Err((code, param.to_owned()));
        let missing = "missing_required_parameter";
        assert_eq!(code("{}"), refused(missing, "custom_id"));
        assert_eq!(code(r#"{"custom_id": "a"}"#), refused(missing, "method"));
        let wrong = r#"{"custom_id": 1}"#;
        assert_eq!(code(wrong), refused("invalid_type", "custom_id"));
        let wrong = r#"{"custom_id": ""}"#;
        assert_eq!(code(wrong), refused("invalid_custom_id", "custom_id"));
        let wrong = r#"{"custom_id": "a", "method": "GET"}"#;
        assert_eq!(code(wrong), refused("invalid_method", "method"));
        let wrong = r#"{"custom_id": "a", "methods": "POST"}"#;
        assert_eq!(code(wrong), refused("unknown_parameter", "methods"));
        let url = r#""custom_id": "a", "method": "POST", "url": "/v1/chat/completions""#;
        assert_eq!(code(&format!("{{{url}}}")), refused(missing, "body"));
        let wrong = format!("{{{url}, \"body\": []}}");
        assert_eq!(code(&wrong), refused("invalid_type", "body"));
        let zeros = vec!["0"; MAX_JSON_VALUES].join(",");
        let large = format!("{{{url}, \"body\": {{\"a\": [{zeros}]}}}}");
        assert_eq!(code(&large), refused("too_many_values", ""));
        let valid = format!("{{{url}, \"body\": {{}}}}");
        assert_eq!(code(&valid), Ok("a".to_owned()));
    }
}
