//! Reads an input file line by line and reports the errors that `OpenAI` reports.

use bytes::Bytes;
use serde_json::Value;

use crate::job::SimulatedValidationError;
use crate::manifest::{ManifestBuilder, SimulatedManifest, parse_request};
use crate::provider::{SimulatedDialect, SimulatedProvider};
use crate::request::{ItemTask, RequestFormat, TaskKind};

const MAX_FILE_BYTES: usize = 200 * 1024 * 1024;
const MAX_CUSTOM_ID_CHARS: usize = 512;
const MAX_REPORTED_ERRORS: usize = 100;

#[derive(Debug)]
pub(super) struct BatchInput {
    pub(super) manifest: SimulatedManifest,
    pub(super) model: String,
    pub(super) validation_errors: Vec<SimulatedValidationError>,
}

#[derive(Debug, Default)]
struct InputReader {
    items: ManifestBuilder,
    model: Option<String>,
    inputs: usize,
    dialect: SimulatedDialect,
    validation_errors: Vec<SimulatedValidationError>,
}

pub(super) fn read_input(
    bytes: &Bytes,
    kind: TaskKind,
    endpoint: &str,
    dialect: SimulatedDialect,
) -> BatchInput {
    let mut reader = InputReader {
        dialect,
        ..InputReader::default()
    };
    let mut lines = 0;
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        lines += 1;
        let number = u64::try_from(index + 1).unwrap_or(u64::MAX);
        reader.read_line(bytes.slice_ref(line), number, kind, endpoint);
    }
    if lines == 0 {
        reader.add_error("empty_file", None, "The input file is empty.", None);
    }
    let max_lines = max_lines(dialect);
    if lines > max_lines {
        let message = format!("The input file has more than {max_lines} requests.");
        reader.add_error("too_many_requests", None, &message, None);
    }
    if reader.inputs > max_lines {
        let message = format!("The batch has more than {max_lines} embedding inputs.");
        reader.add_error("too_many_inputs", None, &message, None);
    }
    if bytes.len() > MAX_FILE_BYTES {
        reader.add_error(
            "file_too_large",
            None,
            "The input file is larger than 200 MB.",
            None,
        );
    }
    BatchInput {
        manifest: reader.items.finish(),
        model: reader.model.unwrap_or_default(),
        validation_errors: reader.validation_errors,
    }
}

impl InputReader {
    fn read_line(&mut self, raw: Bytes, number: u64, kind: TaskKind, endpoint: &str) {
        let line = Some(number);
        let Ok(value @ Value::Object(_)) = serde_json::from_slice::<Value>(&raw) else {
            self.add_error(
                "invalid_json_line",
                line,
                "This line is not parseable as valid JSON.",
                None,
            );
            return;
        };
        self.check_envelope(&value, line, endpoint);
        let id = value.get("custom_id").and_then(Value::as_str);
        let id = id.unwrap_or_default().to_owned();
        let body = value.get("body").filter(|body| body.is_object());
        self.check_model(body, line);
        let format = RequestFormat {
            provider: SimulatedProvider::OpenAi,
            kind,
            model: "",
        };
        let question = parse_request(format, body);
        if let Ok(request) = &question
            && let ItemTask::Embedding(embedding) = &request.task
        {
            self.inputs += embedding.inputs.len();
        }
        if !self.items.add(raw, id, &question) {
            let message = "The custom_id for this request is a duplicate of another request.";
            self.add_error("duplicate_custom_id", line, message, Some("custom_id"));
        }
    }

    fn check_envelope(&mut self, value: &Value, line: Option<u64>, endpoint: &str) {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        match text("custom_id") {
            Some(id) if id.chars().count() > MAX_CUSTOM_ID_CHARS => {
                let message = "The custom_id is too long.";
                self.add_error("invalid_custom_id", line, message, Some("custom_id"));
            }
            Some(id) if !id.is_empty() => {}
            _ => self.add_missing_parameter("custom_id", line),
        }
        if text("method") != Some("POST") {
            let message = "The method must be 'POST'.";
            self.add_error("invalid_method", line, message, Some("method"));
        }
        let url = text("url").unwrap_or_default();
        // Azure: the version in a line's URL is optional.
        let has_short_urls = self.dialect == SimulatedDialect::Azure;
        let is_short = has_short_urls && full_path(url) == full_path(endpoint);
        if url != endpoint && !is_short {
            let message = "The provided URL does not match the batch endpoint.";
            self.add_error("mismatched_url", line, message, Some("url"));
        }
        if !value.get("body").is_some_and(Value::is_object) {
            self.add_missing_parameter("body", line);
        }
    }

    fn add_missing_parameter(&mut self, name: &str, line: Option<u64>) {
        let message = format!("Missing required parameter: '{name}'.");
        self.add_error("missing_required_parameter", line, &message, Some(name));
    }

    fn check_model(&mut self, body: Option<&Value>, line: Option<u64>) {
        let model = body.and_then(|body| body.get("model")?.as_str());
        let Some(model) = model else {
            self.add_missing_parameter("body.model", line);
            return;
        };
        let first = self.model.get_or_insert_with(|| model.to_owned());
        if first != model {
            let message = format!(
                "The provided model '{model}' does not match the rest of the batch's model '{first}'. Each batch must contain requests for a single model."
            );
            self.add_error("mismatched_model", line, &message, Some("body.model"));
        }
    }

    fn add_error(&mut self, code: &str, line: Option<u64>, message: &str, param: Option<&str>) {
        if self.validation_errors.len() < MAX_REPORTED_ERRORS {
            self.validation_errors.push(SimulatedValidationError {
                code: code.to_owned(),
                line,
                message: message.to_owned(),
                param: param.map(str::to_owned),
            });
        }
    }
}

/// The limit of lines, and of the inputs of embeddings.
const fn max_lines(dialect: SimulatedDialect) -> usize {
    match dialect {
        SimulatedDialect::OpenAi | SimulatedDialect::Groq => 50_000,
        SimulatedDialect::Azure => 100_000,
    }
}

/// The path with its version, which Azure lets its callers leave out.
fn full_path(path: &str) -> String {
    let rest = path.strip_prefix("/v1").unwrap_or(path);
    format!("/v1{rest}")
}
