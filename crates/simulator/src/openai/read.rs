//! Reading an input file line by line, with the objections that `OpenAI` would have.

use bytes::Bytes;
use serde_json::Value;

use crate::job::Objection;
use crate::manifest::{Builder, Manifest, question};
use crate::provider::Provider;
use crate::question::{Kind, Task};

const MOST_LINES: usize = 50_000;
const MOST_INPUTS: usize = 50_000;
const LARGEST: usize = 200 * 1024 * 1024;
const LONGEST_ID: usize = 512;
/// A file that is wrong everywhere need not be told so line by line.
const MOST_OBJECTIONS: usize = 100;

#[derive(Debug)]
pub(super) struct Input {
    pub(super) manifest: Manifest,
    pub(super) model: String,
    pub(super) objections: Vec<Objection>,
}

#[derive(Debug, Default)]
struct Reader {
    items: Builder,
    model: Option<String>,
    inputs: usize,
    objections: Vec<Objection>,
}

pub(super) fn read(bytes: &Bytes, kind: Kind, endpoint: &str) -> Input {
    let mut reader = Reader::default();
    let mut lines = 0;
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        lines += 1;
        let number = u64::try_from(index + 1).unwrap_or(u64::MAX);
        reader.line(bytes.slice_ref(line), number, kind, endpoint);
    }
    if lines == 0 {
        reader.object("empty_file", None, "The input file is empty.", None);
    }
    if lines > MOST_LINES {
        reader.object(
            "too_many_requests",
            None,
            "The input file has more than 50000 requests.",
            None,
        );
    }
    if reader.inputs > MOST_INPUTS {
        reader.object(
            "too_many_inputs",
            None,
            "The batch has more than 50000 embedding inputs.",
            None,
        );
    }
    if bytes.len() > LARGEST {
        reader.object(
            "file_too_large",
            None,
            "The input file is larger than 200 MB.",
            None,
        );
    }
    Input {
        manifest: reader.items.finish(),
        model: reader.model.unwrap_or_default(),
        objections: reader.objections,
    }
}

impl Reader {
    fn line(&mut self, raw: Bytes, number: u64, kind: Kind, endpoint: &str) {
        let line = Some(number);
        let Ok(value @ Value::Object(_)) = serde_json::from_slice::<Value>(&raw) else {
            self.object(
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
        let question = question(Provider::OpenAi, kind, body);
        if let Ok(asked) = &question
            && let Task::Embedding(embedding) = &asked.task
        {
            self.inputs += embedding.inputs.len();
        }
        if !self.items.add(raw, id, &question) {
            let message = "The custom_id for this request is a duplicate of another request.";
            self.object("duplicate_custom_id", line, message, Some("custom_id"));
        }
    }

    fn check_envelope(&mut self, value: &Value, line: Option<u64>, endpoint: &str) {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        match text("custom_id") {
            Some(id) if id.chars().count() > LONGEST_ID => {
                let message = "The custom_id is too long.";
                self.object("invalid_custom_id", line, message, Some("custom_id"));
            }
            Some(id) if !id.is_empty() => {}
            _ => self.miss("custom_id", line),
        }
        if text("method") != Some("POST") {
            let message = "The method must be 'POST'.";
            self.object("invalid_method", line, message, Some("method"));
        }
        if text("url") != Some(endpoint) {
            let message = "The provided URL does not match the batch endpoint.";
            self.object("mismatched_url", line, message, Some("url"));
        }
        if !value.get("body").is_some_and(Value::is_object) {
            self.miss("body", line);
        }
    }

    fn miss(&mut self, name: &str, line: Option<u64>) {
        let message = format!("Missing required parameter: '{name}'.");
        self.object("missing_required_parameter", line, &message, Some(name));
    }

    fn check_model(&mut self, body: Option<&Value>, line: Option<u64>) {
        let model = body.and_then(|body| body.get("model")?.as_str());
        let Some(model) = model else {
            self.miss("body.model", line);
            return;
        };
        let first = self.model.get_or_insert_with(|| model.to_owned());
        if first != model {
            let message = format!(
                "The provided model '{model}' does not match the rest of the batch's model '{first}'. Each batch must contain requests for a single model."
            );
            self.object("mismatched_model", line, &message, Some("body.model"));
        }
    }

    fn object(&mut self, code: &str, line: Option<u64>, message: &str, param: Option<&str>) {
        if self.objections.len() < MOST_OBJECTIONS {
            self.objections.push(Objection {
                code: code.to_owned(),
                line,
                message: message.to_owned(),
                param: param.map(str::to_owned),
            });
        }
    }
}
