//! One call to the store: signed, within a deadline, made again when the store stumbles.

use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderMap;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use tokio::time::{sleep, timeout};

use super::Objects;
use super::failure::Failure;
use super::key::Key;
use super::sign::Unsigned;
use super::xml;

/// Between one try and the next. A store that still fails after them is away.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
];
/// How much of an answer is read that is not an object.
const MOST_READ: usize = 8 * 1024 * 1024;
/// Our own calls are sent at once; clocks may differ by this and the call's own time.
const SIGNED_FOR: Duration = Duration::from_mins(15);

/// What is asked. Every header is signed.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    /// What a refusal is called: "refused to …".
    pub(super) what: &'static str,
    pub(super) method: Method,
    /// None: the bucket.
    pub(super) key: Option<&'a Key>,
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: Bytes,
    /// For all tries together.
    pub(super) within: Duration,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn code(&self) -> String {
        xml::error_code(&self.body).unwrap_or_default()
    }

    pub(super) fn refusal(&self, what: &'static str) -> Failure {
        Failure::Refused {
            what,
            status: self.status.as_u16(),
            code: self.code(),
        }
    }

    /// Anything but a success is a refusal.
    pub(super) fn accepted(self, what: &'static str) -> Result<Self, Failure> {
        if self.status.is_success() {
            Ok(self)
        } else {
            Err(self.refusal(what))
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Objects {
    /// The whole answer, unless it was a 5xx again and again.
    pub(super) async fn call(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        self.again(call.within, || self.answer(call)).await
    }

    /// The answer's head; its body is still to come.
    pub(super) async fn open(&self, call: &Call<'_>) -> Result<Response<Incoming>, Failure> {
        self.again(call.within, || self.opened(call)).await
    }

    async fn opened(&self, call: &Call<'_>) -> Result<Response<Incoming>, Failure> {
        let response = self.exchange(call).await?;
        if response.status().is_server_error() {
            return Err(stumbled(&collected(response).await?));
        }
        Ok(response)
    }

    /// `once` gives futures, not an async closure: theirs are not known to be `Send`.
    async fn again<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        within: Duration,
        once: impl Fn() -> F,
    ) -> Result<T, Failure> {
        let tries = async {
            for pause in PAUSES {
                match once().await {
                    Err(failure) if failure.may_pass() => sleep(pause).await,
                    other => return other,
                }
            }
            once().await
        };
        let ended = timeout(within, tries).await;
        ended.unwrap_or(Err(Failure::TimedOut(within)))
    }

    async fn answer(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let answer = collected(self.exchange(call).await?).await?;
        // What takes long is answered 200 before it is known how it ends.
        if answer.status.is_server_error() || xml::is_passing_error(&answer.body) {
            return Err(stumbled(&answer));
        }
        Ok(answer)
    }

    async fn exchange(&self, call: &Call<'_>) -> Result<Response<Incoming>, Failure> {
        let bucket = &self.0.internal;
        let signed = self.0.signer.presign(
            Unsigned {
                method: &call.method,
                host: &bucket.host,
                path: &bucket.path(call.key),
                query: call.query,
                headers: call.headers,
                expires: SIGNED_FOR,
            },
            self.now(),
        );
        let mut request = Request::builder()
            .method(&call.method)
            .uri(bucket.url(&signed));
        for (name, value) in call.headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(call.body.clone()));
        let request = request.map_err(|_| Failure::Unreadable(call.what))?;
        self.send(request).await
    }

    /// Once, as it is.
    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        let sent = self.0.client.request(request).await;
        sent.map_err(|error| Failure::from_client(&error))
    }
}

fn stumbled(answer: &Answer) -> Failure {
    Failure::Failed {
        status: answer.status.as_u16(),
        code: answer.code(),
    }
}

pub(super) async fn collected(response: Response<Incoming>) -> Result<Answer, Failure> {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MOST_READ).collect().await;
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        body: body.map_err(|_| Failure::Cut)?.to_bytes(),
    })
}
