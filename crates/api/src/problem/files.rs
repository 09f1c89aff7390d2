//! A no of the Files routes: the same problem in the shape that they answer with.

use std::error::Error;
use std::fmt::Write as _;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Map;
use wire::detail::{Coded, Detail, Fault, Step};
use wire::file::FileRefusal;

use super::Problem;

/// Refused keys keep their plain `detail` on every route.
#[derive(Debug)]
pub struct FileProblem {
    problem: Problem,
    plain: bool,
}

impl FileProblem {
    /// `error` is for programs, `message` for people: what is wrong, and what to do next.
    pub fn coded(status: StatusCode, error: &'static str, message: impl Into<String>) -> Self {
        Problem::coded(status, error, message).into()
    }

    /// 422: a field, the query or the body cannot stand.
    pub fn invalid(message: impl Into<String>) -> Self {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Self::coded(status, "invalid_request", message)
    }

    /// 503: another try may go well.
    pub fn unavailable(error: &'static str, message: impl Into<String>, seconds: u32) -> Self {
        let problem = Problem::coded(StatusCode::SERVICE_UNAVAILABLE, error, message);
        problem
            .header(RETRY_AFTER, HeaderValue::from(seconds))
            .into()
    }

    /// What the key's own check says.
    pub(crate) const fn of_the_key(problem: Problem) -> Self {
        Self {
            problem,
            plain: true,
        }
    }

    #[must_use]
    pub fn because(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            problem: self.problem.because(cause),
            plain: self.plain,
        }
    }

    pub const fn status(&self) -> StatusCode {
        self.problem.status()
    }

    pub fn into_refusal(self) -> FileRefusal {
        let status = self.problem.status;
        FileRefusal::new(coded(status, self.problem.into_refusal().detail))
    }
}

impl From<Problem> for FileProblem {
    fn from(problem: Problem) -> Self {
        Self {
            problem,
            plain: false,
        }
    }
}

impl From<store::Error> for FileProblem {
    fn from(error: store::Error) -> Self {
        Problem::from(error).into()
    }
}

impl IntoResponse for FileProblem {
    fn into_response(self) -> Response {
        let Self { mut problem, plain } = self;
        if plain {
            return problem.into_response();
        }
        let detail = std::mem::replace(&mut problem.refusal.detail, Detail::Faults(Vec::new()));
        let refusal = FileRefusal::new(coded(problem.status, detail));
        problem.respond(&refusal)
    }
}

fn coded(status: StatusCode, detail: Detail) -> Coded {
    let (error, message) = match detail {
        Detail::Coded(coded) => return coded,
        Detail::Text(text) => (code(status), text.into_owned()),
        Detail::Faults(faults) => ("invalid_request", in_words(&faults)),
    };
    Coded {
        error,
        message,
        more: Map::new(),
    }
}

/// For what is refused on every route alike.
fn code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::REQUEST_TIMEOUT => "request_timeout",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::SERVICE_UNAVAILABLE => "service_unavailable",
        StatusCode::INTERNAL_SERVER_ERROR => "internal_error",
        _ => "invalid_request",
    }
}

/// `sha256 should be …; parts[0].etag is required.`
fn in_words(faults: &[Fault]) -> String {
    let said: Vec<_> = faults
        .iter()
        .map(|fault| {
            format!("{} {}", place(&fault.loc), fault.msg)
                .trim_start()
                .to_owned()
        })
        .collect();
    said.join("; ") + "."
}

fn place(steps: &[Step]) -> String {
    let mut place = String::new();
    for step in steps {
        match step {
            Step::Key(key) if place.is_empty() => place.push_str(key),
            Step::Key(key) => {
                place.push('.');
                place.push_str(key);
            }
            Step::Index(index) => {
                // Writing to a text cannot fail.
                let _written = write!(place, "[{index}]");
            }
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(problem: FileProblem) -> String {
        let status = problem.status().as_u16();
        let body = serde_json::to_string(&problem.into_refusal()).unwrap();
        format!("{status} {body}")
    }

    #[test]
    fn every_problem_has_a_code_and_a_message() {
        let fault = |loc: &[Step], msg: &'static str| Fault {
            kind: "value_error",
            loc: loc.to_vec(),
            msg: msg.into(),
        };
        let faults = Problem::faults(vec![
            fault(&[Step::Key("sha256")], "is required"),
            fault(
                &[Step::Key("parts"), Step::Index(0), Step::Key("etag")],
                "should be a text",
            ),
        ]);
        insta::assert_snapshot!(shown(faults.into()), @r#"422 {"error":"invalid_request","message":"sha256 is required; parts[0].etag should be a text.","detail":{"error":"invalid_request","message":"sha256 is required; parts[0].etag should be a text."}}"#);
        insta::assert_snapshot!(shown(Problem::internal("the keel is broken").into()), @r#"500 {"error":"internal_error","message":"Internal Server Error","detail":{"error":"internal_error","message":"Internal Server Error"}}"#);
        insta::assert_snapshot!(shown(Problem::unavailable("Away.", 1).into()), @r#"503 {"error":"service_unavailable","message":"Away.","detail":{"error":"service_unavailable","message":"Away."}}"#);
        insta::assert_snapshot!(shown(Problem::too_large(10).into()), @r#"413 {"error":"request_too_large","message":"The request body is larger than 10 bytes.","detail":{"error":"request_too_large","message":"The request body is larger than 10 bytes."}}"#);
    }

    #[test]
    fn the_cause_and_the_headers_ride_along() {
        let away = FileProblem::unavailable("storage_unavailable", "Away.", 2);
        let response = away.because("the mast is broken").into_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "2");
        let super::super::Cause(cause) = response.extensions().get().unwrap();
        assert_eq!(cause.to_string(), "the mast is broken");
    }
}
