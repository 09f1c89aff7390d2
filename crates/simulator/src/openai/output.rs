//! Output and error files: lines that are made while they are read.

use axum::response::Response;
use http::{HeaderValue, header};
use serde_json::{Value, json};

use crate::answer::{Answer, answer};
use crate::clock::Moment;
use crate::fault::Name;
use crate::job::{End, Job, Line, Outcome};
use crate::manifest::question;
use crate::provider::Provider;
use crate::refusal::Refusal;
use crate::render;
use crate::render::openai::Voice;
use crate::reply;

/// The results of one job, of one sort.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) job: Job,
    sort: Sort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Answers,
    Errors,
}

impl Output {
    /// The results whose file has this id.
    pub(super) fn named(job: &Job, id: &str) -> Option<Self> {
        let sorts = [Sort::Answers, Sort::Errors];
        let sort = sorts.into_iter().find(|sort| file_id(job, *sort) == id)?;
        let job = job.clone();
        Some(Self { job, sort })
    }

    /// The ids of both files, as the batch object tells them.
    pub(super) fn ids(job: &Job, now: Moment) -> (Option<String>, Option<String>) {
        let timeline = job.timeline();
        if now < timeline.ended_at || timeline.end == End::Failed {
            return (None, None);
        }
        let total = job.total();
        let any = |wanted: fn(Outcome) -> bool| {
            (0..total).any(|index| wanted(job.outcome(&timeline, index)))
        };
        let output = any(is_answer).then(|| file_id(job, Sort::Answers));
        let error = any(|it| !is_answer(it)).then(|| file_id(job, Sort::Errors));
        let error = match error {
            None if job.has(Name::EmptyErrorFileId) => Some(String::new()),
            other => other,
        };
        (output, error)
    }

    fn lines(&self) -> Vec<Line> {
        match self.sort {
            Sort::Answers => self.job.main_lines(is_answer),
            Sort::Errors => self.job.lines(|outcome| !is_answer(outcome)),
        }
    }

    /// Its length in bytes, and since when it is there.
    pub(super) fn size(&self) -> (usize, Moment) {
        let lines = self.lines();
        let sizes = lines.iter().map(|line| render(&self.job, *line).len() + 1);
        (sizes.sum(), self.job.timeline().ended_at)
    }
}

fn is_answer(outcome: Outcome) -> bool {
    outcome == Outcome::Answered
}

fn file_id(job: &Job, sort: Sort) -> String {
    let word = match sort {
        Sort::Answers => "output",
        Sort::Errors => "error",
    };
    format!("file-{}", render::digits(&[&job.id, word], 24))
}

pub(super) fn stream(output: Output, is_cut: bool) -> Response {
    let lines = output.lines();
    let job = output.job;
    let mut response = reply::lines(lines, is_cut, move |line| render(&job, line));
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn render(job: &Job, line: Line) -> Vec<u8> {
    let value = match line {
        Line::Blank => return Vec::new(),
        Line::Unknown(number) => {
            let id = format!("unknown-{number}");
            let question = json!({"model": job.order.model, "messages": [{"role": "user", "content": id}], "input": id});
            answered(job, &id, &question, &id)
        }
        Line::Item(index, outcome) => item(job, index, outcome),
    };
    value.to_string().into_bytes()
}

fn item(job: &Job, index: usize, outcome: Outcome) -> Value {
    let raw = job.order.manifest.items.get(index);
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
        Outcome::Answered => answered(job, custom_id, &body, &word),
        Outcome::Failed(status) => {
            let question = question(Provider::OpenAi, job.order.kind, Some(&body));
            let message = question.err();
            let message = message.unwrap_or_else(|| format!("simulated failure {status}"));
            let error = Refusal::new(status, message).body(Provider::OpenAi, "");
            respond(job, custom_id, &word, status, &error)
        }
        Outcome::Expired => unexecuted(
            "batch_expired",
            "This request could not be executed before the completion window expired.",
        ),
        Outcome::Cancelled => unexecuted(
            "batch_cancelled",
            "This request was not executed because the batch was cancelled.",
        ),
    }
}

fn answered(job: &Job, custom_id: &str, body: &Value, word: &str) -> Value {
    let question = question(Provider::OpenAi, job.order.kind, Some(body));
    let id = render::digits(&[&job.id, "answer", word], 29);
    let (model, said) = match &question {
        Ok(question) => (question.model.as_str(), answer(question, job.habits())),
        Err(_) => return Value::Null,
    };
    let voice = Voice {
        id: &id,
        model,
        created: job.timeline().running_at.timestamp(),
        is_vllm: false,
    };
    let body = match &said {
        Answer::Chat(chat) => render::openai::chat(chat, voice),
        Answer::Vectors(vectors) => render::openai::embeddings(vectors, voice),
        Answer::Failed(_) => Value::Null,
    };
    respond(job, custom_id, word, 200, &body)
}

fn respond(job: &Job, custom_id: &str, word: &str, status: u16, body: &Value) -> Value {
    json!({
        "id": request_id(job, word),
        "custom_id": custom_id,
        "response": {
            "status_code": status,
            "request_id": render::digits(&[&job.id, "request", word], 32),
            "body": body,
        },
        "error": null,
    })
}

fn request_id(job: &Job, word: &str) -> String {
    format!("batch_req_{}", render::digits(&[&job.id, "line", word], 24))
}
