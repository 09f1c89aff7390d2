//! Output and error files, rendered line by line while they are read.

use axum::response::Response;
use http::{HeaderValue, header};
use serde_json::{Value, json};

use crate::answer::{SimulatedAnswer, answer_request};
use crate::cache::CacheCounts;
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::invalid_request::InvalidRequest;
use crate::job::{JobEnd, ResultLine, SimulatedJob, SimulatedOutcome};
use crate::manifest::parse_request;
use crate::provider::SimulatedProvider;
use crate::render;
use crate::render::openai::CompletionMetadata;
use crate::reply;
use crate::request::{RequestFormat, TaskKind};

/// The output file or the error file of a job.
#[derive(Debug)]
pub(super) struct OutputFile {
    pub(super) job: SimulatedJob,
    kind: OutputKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputKind {
    Answers,
    Errors,
}

impl OutputFile {
    /// The file with this id.
    pub(super) fn find(job: &SimulatedJob, id: &str) -> Option<Self> {
        let sorts = [OutputKind::Answers, OutputKind::Errors];
        let sort = sorts.into_iter().find(|sort| file_id(job, *sort) == id)?;
        let job = job.clone();
        Some(Self { job, kind: sort })
    }

    /// The ids of both files for the batch object.
    pub(super) fn file_ids(
        job: &SimulatedJob,
        now: SimulatorTime,
    ) -> (Option<String>, Option<String>) {
        let timeline = job.timeline();
        if now < timeline.ended_at || timeline.end == JobEnd::Failed {
            return (None, None);
        }
        let total = job.total();
        let any = |wanted: fn(SimulatedOutcome) -> bool| {
            (0..total).any(|index| wanted(job.outcome(&timeline, index)))
        };
        let output = any(is_answer).then(|| file_id(job, OutputKind::Answers));
        let error = any(|it| !is_answer(it)).then(|| file_id(job, OutputKind::Errors));
        let error = match error {
            None if job.has(FaultName::EmptyErrorFileId) => Some(String::new()),
            other => other,
        };
        (output, error)
    }

    fn lines(&self) -> Vec<ResultLine> {
        match self.kind {
            OutputKind::Answers => self.job.main_lines(is_answer),
            OutputKind::Errors => self.job.lines(|outcome| !is_answer(outcome)),
        }
    }

    /// Its length in bytes and its creation time.
    pub(super) fn size(&self) -> (usize, SimulatorTime) {
        let lines = self.lines();
        let sizes = lines
            .iter()
            .map(|line| render_line(&self.job, *line).len() + 1);
        (sizes.sum(), self.job.timeline().ended_at)
    }
}

fn is_answer(outcome: SimulatedOutcome) -> bool {
    outcome == SimulatedOutcome::Answered
}

fn file_id(job: &SimulatedJob, sort: OutputKind) -> String {
    let word = match sort {
        OutputKind::Answers => "output",
        OutputKind::Errors => "error",
    };
    format!("file-{}", render::hex_digits(&[&job.id, word], 24))
}

pub(super) fn stream_output(output: OutputFile, is_cut: bool) -> Response {
    let lines = output.lines();
    let job = output.job;
    let mut response = reply::stream_lines(lines, is_cut, move |line| render_line(&job, line));
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn render_line(job: &SimulatedJob, line: ResultLine) -> Vec<u8> {
    let value = match line {
        ResultLine::Blank => return Vec::new(),
        ResultLine::Unknown(number) => {
            let id = format!("unknown-{number}");
            let question = match job.request.kind {
                TaskKind::Chat => {
                    json!({"model": job.request.model, "messages": [{"role": "user", "content": id}]})
                }
                TaskKind::Responses | TaskKind::Embedding => {
                    json!({"model": job.request.model, "input": id})
                }
            };
            let unknown = ItemPlace {
                custom_id: &id,
                word: &id,
                cache: CacheCounts::default(),
            };
            answered(job, unknown, &question)
        }
        ResultLine::Item(index, outcome) => item(job, index, outcome),
    };
    value.to_string().into_bytes()
}

fn item(job: &SimulatedJob, index: usize, outcome: SimulatedOutcome) -> Value {
    let raw = job.request.manifest.items.get(index);
    let raw = raw.map(|item| item.raw.clone()).unwrap_or_default();
    let line: Value = serde_json::from_slice(&raw).unwrap_or_default();
    let custom_id = line.get("custom_id").and_then(Value::as_str);
    let custom_id = custom_id.unwrap_or_default();
    let body = line.get("body").cloned().unwrap_or_default();
    let word = index.to_string();
    let unexecuted = |code: &str, message: &str| {
        json!({
            "id": request_id(job, &word),
            "custom_id": custom_id,
            "response": null,
            "error": {"code": code, "message": message},
        })
    };
    match outcome {
        SimulatedOutcome::Answered => {
            let place = ItemPlace {
                custom_id,
                word: &word,
                cache: job.cache_counts(index),
            };
            answered(job, place, &body)
        }
        SimulatedOutcome::Failed(status) => {
            let invalid = parse_request(format(job), Some(&body)).err();
            let invalid = invalid
                .unwrap_or_else(|| InvalidRequest::new(format!("simulated failure {status}")));
            let error = invalid.refusal(status).body(SimulatedProvider::OpenAi, "");
            respond(job, custom_id, &word, status, &error)
        }
        SimulatedOutcome::Expired => unexecuted(
            "batch_expired",
            "This request could not be executed before the completion window expired.",
        ),
        SimulatedOutcome::Cancelled => unexecuted(
            "batch_cancelled",
            "This request was not executed because the batch was cancelled.",
        ),
    }
}

/// An item and where its answer goes.
#[derive(Clone, Copy)]
struct ItemPlace<'a> {
    custom_id: &'a str,
    /// Makes ids unique in the job.
    word: &'a str,
    cache: CacheCounts,
}

fn format(job: &SimulatedJob) -> RequestFormat<'_> {
    RequestFormat {
        provider: SimulatedProvider::OpenAi,
        kind: job.request.kind,
        model: &job.request.model,
    }
}

fn answered(job: &SimulatedJob, place: ItemPlace<'_>, body: &Value) -> Value {
    let question = parse_request(format(job), Some(body));
    let id = render::hex_digits(&[&job.id, "answer", place.word], 29);
    let (model, answer) = match &question {
        Ok(question) => (
            question.model.as_str(),
            answer_request(question, job.answer_faults(), place.cache),
        ),
        Err(_) => return Value::Null,
    };
    let metadata = CompletionMetadata {
        id: &id,
        model,
        created: job.timeline().running_at.timestamp(),
        is_vllm: false,
    };
    let body = match &answer {
        SimulatedAnswer::Chat(chat) => match job.request.kind {
            TaskKind::Responses => render::responses::response(chat, metadata),
            TaskKind::Chat | TaskKind::Embedding => render::openai::chat(chat, metadata),
        },
        SimulatedAnswer::Embeddings(vectors) => render::openai::embeddings(vectors, metadata),
        SimulatedAnswer::Failed(_) => Value::Null,
    };
    respond(job, place.custom_id, place.word, 200, &body)
}

fn respond(job: &SimulatedJob, custom_id: &str, word: &str, status: u16, body: &Value) -> Value {
    json!({
        "id": request_id(job, word),
        "custom_id": custom_id,
        "response": {
            "status_code": status,
            "request_id": render::hex_digits(&[&job.id, "request", word], 32),
            "body": body,
        },
        "error": null,
    })
}

fn request_id(job: &SimulatedJob, word: &str) -> String {
    format!(
        "batch_req_{}",
        render::hex_digits(&[&job.id, "line", word], 24)
    )
}
