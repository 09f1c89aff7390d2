//! The callers' side: what was asked, and what came back for it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::connection::cargo_id;
use crate::digest;
use crate::failure::{During as _, Result};

/// How much of a question the simulator repeats.
const REPEATED: usize = 200;

/// An acknowledged cargo.
#[derive(Debug, Clone)]
pub struct Asked {
    pub text: String,
    pub model: &'static str,
    pub at: Instant,
}

/// What came for a cargo: the first callback, and how often it came.
#[derive(Debug, Clone)]
pub struct Came {
    body: Value,
    count: u64,
    at: Instant,
}

#[derive(Debug, Default)]
pub struct Book {
    asked: Mutex<HashMap<u128, Asked>>,
    came: Mutex<HashMap<u128, Came>>,
}

/// What the book comes to.
#[derive(Debug, Default)]
pub struct Sum {
    pub asked: usize,
    pub lost: usize,
    pub successes: usize,
    pub repeated: u64,
    /// Answers to another question, failures, callbacks for nobody.
    pub wrong: Vec<String>,
    pub seconds: Vec<f64>,
}

impl Book {
    pub fn ask(&self, cargo: u128, asked: Asked) {
        open(&self.asked).insert(cargo, asked);
    }

    pub fn asked(&self) -> usize {
        open(&self.asked).len()
    }

    pub fn is_complete(&self) -> bool {
        let came = open(&self.came);
        open(&self.asked)
            .keys()
            .all(|cargo| came.contains_key(cargo))
    }

    fn take(&self, body: &[u8]) {
        let Some(cargo) = cargo_id(body) else {
            return;
        };
        let mut came = open(&self.came);
        let one = came.entry(cargo).or_insert_with(|| Came {
            body: serde_json::from_slice(body).unwrap_or_default(),
            count: 0,
            at: Instant::now(),
        });
        one.count += 1;
    }

    pub fn successes(&self) -> usize {
        let came = open(&self.came);
        came.values().filter(|it| is_success(&it.body)).count()
    }

    /// The first callback of each cargo.
    pub fn bodies(&self) -> Vec<Value> {
        let came = open(&self.came);
        came.values().map(|it| it.body.clone()).collect()
    }

    /// `wrong` says what is wrong with an answer, if anything is.
    pub fn sum(&self, wrong: impl Fn(u128, &Asked, &Value) -> Option<String>) -> Sum {
        let (asked, came) = (open(&self.asked), open(&self.came));
        let mut sum = Sum {
            asked: asked.len(),
            ..Sum::default()
        };
        for (cargo, asked) in asked.iter() {
            let Some(one) = came.get(cargo) else {
                sum.lost += 1;
                continue;
            };
            let waited = one.at.saturating_duration_since(asked.at);
            sum.seconds.push(waited.as_secs_f64());
            if let Some(wrong) = wrong(*cargo, asked, &one.body) {
                sum.wrong.push(format!("crg_{cargo:032x}: {wrong}"));
            }
        }
        for (cargo, one) in came.iter() {
            sum.repeated += one.count - 1;
            sum.successes += usize::from(is_success(&one.body));
            if !asked.contains_key(cargo) {
                sum.wrong.push(format!("crg_{cargo:032x}: nobody asked"));
            }
        }
        sum
    }
}

fn is_success(body: &Value) -> bool {
    body.get("success") == Some(&Value::Bool(true))
}

/// Whether the simulator answered another question.
pub fn wrong(_: u128, asked: &Asked, body: &Value) -> Option<String> {
    let text = body.pointer("/response/content/0/text");
    let model = body.pointer("/response/model");
    let is_right = text.and_then(Value::as_str) == Some(&answer_to(&asked.text))
        && model.and_then(Value::as_str) == Some(asked.model);
    (!is_right).then(|| body.to_string())
}

/// The simulator's rule of answers: see docs/simulator.md.
fn answer_to(question: &str) -> String {
    let digest = digest::hex_of(question.as_bytes());
    let beginning: String = question.chars().take(REPEATED).collect();
    format!("sim:{} {beginning}", digest.get(..16).unwrap_or_default())
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Hook {
    pub book: Arc<Book>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Hook {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.during("listening for callbacks")?;
        let address = listener.local_addr().during("listening for callbacks")?;
        let book = Arc::new(Book::default());
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&book)));
        Ok(Self {
            book,
            address,
            _serving: serving,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }
}

async fn serve(listener: TcpListener, book: Arc<Book>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        while connections.try_join_next().is_some() {}
        let book = Arc::clone(&book);
        connections.spawn(async move {
            let answer = service_fn(|request: Request<Incoming>| async {
                // Half a callback is none: its sender will come again.
                if let Ok(body) = request.into_body().collect().await {
                    book.take(&body.to_bytes());
                }
                Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
            });
            // The sender may hang up whenever it likes.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_another_question_is_wrong() {
        let book = Book::default();
        for (cargo, text) in [(1, "one"), (2, "two"), (3, "three")] {
            let asked = Asked {
                text: text.to_owned(),
                model: "m",
                at: Instant::now(),
            };
            book.ask(cargo, asked);
        }
        for (cargo, text) in [(1_u128, "one"), (1, "one"), (2, "one")] {
            let text = answer_to(text);
            let body = format!(
                r#"{{"cargo_id":"crg_{cargo:032x}","success":true,"response":{{"model":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            );
            book.take(body.as_bytes());
        }
        let sum = book.sum(wrong);
        assert_eq!((sum.asked, sum.lost, sum.repeated), (3, 1, 1));
        assert_eq!((sum.successes, sum.wrong.len()), (2, 1));
        assert!(!book.is_complete());
    }
}
