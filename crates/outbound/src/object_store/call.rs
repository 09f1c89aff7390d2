//! One call to the store: signed, with a deadline, retried on transient failures.

use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderMap;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::sleep;

use super::ObjectStore;
use super::failure::ObjectStoreFailure;
use super::key::ObjectKey;
use super::sigv4::UnsignedRequest;
use super::xml;
use crate::http_exchange::{read_response, within};

/// Backoff between attempts. A store that still fails after them is unavailable.
const RETRY_DELAYS: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
];
/// For every response except an object's bytes.
pub(super) const MAX_RESPONSE_BYTES: usize = 8 * 1024 * 1024;
/// Our own calls are sent at once. The lifetime covers clock skew and retries.
const SIGNATURE_LIFETIME: Duration = Duration::from_mins(15);

/// Every header is signed.
#[derive(Debug, Clone)]
pub(super) struct ObjectStoreCall<'a> {
    /// For messages: "refused to …".
    pub(super) operation: &'static str,
    pub(super) method: Method,
    /// None: the bucket itself.
    pub(super) key: Option<&'a ObjectKey>,
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: Bytes,
    /// For all attempts together.
    pub(super) timeout: Duration,
}

#[derive(Debug)]
pub(super) struct ObjectStoreResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl From<Response<Bytes>> for ObjectStoreResponse {
    fn from(response: Response<Bytes>) -> Self {
        let (head, body) = response.into_parts();
        Self {
            status: head.status,
            headers: head.headers,
            body,
        }
    }
}

impl ObjectStoreResponse {
    pub(super) fn error_code(&self) -> String {
        xml::error_code(&self.body).unwrap_or_default()
    }

    pub(super) fn refusal(&self, what: &'static str) -> ObjectStoreFailure {
        ObjectStoreFailure::Refused {
            what,
            status: self.status.as_u16(),
            code: self.error_code(),
        }
    }

    /// Turns every status except 2xx into a refusal.
    pub(super) fn require_success(self, what: &'static str) -> Result<Self, ObjectStoreFailure> {
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

impl ObjectStore {
    /// Reads the whole response. Fails if the store answers 5xx on every attempt.
    pub(super) async fn call(
        &self,
        call: &ObjectStoreCall<'_>,
    ) -> Result<ObjectStoreResponse, ObjectStoreFailure> {
        self.with_retries(call.timeout, || self.try_call(call))
            .await
    }

    /// Returns the response before its body is read.
    pub(super) async fn call_streaming(
        &self,
        call: &ObjectStoreCall<'_>,
    ) -> Result<Response<Incoming>, ObjectStoreFailure> {
        self.with_retries(call.timeout, || self.try_call_streaming(call))
            .await
    }

    async fn try_call_streaming(
        &self,
        call: &ObjectStoreCall<'_>,
    ) -> Result<Response<Incoming>, ObjectStoreFailure> {
        let response = self.send_signed(call).await?;
        if response.status().is_server_error() {
            let answer = read_response(response, MAX_RESPONSE_BYTES).await?;
            return Err(server_failure(&answer.into()));
        }
        Ok(response)
    }

    /// `once` returns a future: the futures of async closures are not known to be `Send`.
    async fn with_retries<T, F: Future<Output = Result<T, ObjectStoreFailure>>>(
        &self,
        deadline: Duration,
        once: impl Fn() -> F,
    ) -> Result<T, ObjectStoreFailure> {
        let tries = async {
            for pause in RETRY_DELAYS {
                match once().await {
                    Err(failure) if failure.is_transient() => sleep(pause).await,
                    other => return other,
                }
            }
            once().await
        };
        within(deadline, tries).await?
    }

    async fn try_call(
        &self,
        call: &ObjectStoreCall<'_>,
    ) -> Result<ObjectStoreResponse, ObjectStoreFailure> {
        let response = self.send_signed(call).await?;
        let answer: ObjectStoreResponse = read_response(response, MAX_RESPONSE_BYTES).await?.into();
        // Stores answer slow operations with 200 before they know the result.
        if answer.status.is_server_error() || xml::is_transient_error(&answer.body) {
            return Err(server_failure(&answer));
        }
        Ok(answer)
    }

    async fn send_signed(
        &self,
        call: &ObjectStoreCall<'_>,
    ) -> Result<Response<Incoming>, ObjectStoreFailure> {
        let bucket = &self.0.internal;
        let now = self.now();
        let active = self.0.signers.valid_or_refreshed(now).await?;
        let signed = active.signer.presign(
            UnsignedRequest {
                method: &call.method,
                host: &bucket.host,
                path: &bucket.path(call.key),
                query: call.query,
                headers: call.headers,
                expires: SIGNATURE_LIFETIME,
            },
            now,
        );
        let mut request = Request::builder()
            .method(&call.method)
            .uri(bucket.url(&signed));
        for (name, value) in call.headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(call.body.clone()));
        let request = request.map_err(|_| ObjectStoreFailure::Unreadable(call.operation))?;
        Ok(self.0.client.send(request).await?)
    }
}

fn server_failure(answer: &ObjectStoreResponse) -> ObjectStoreFailure {
    ObjectStoreFailure::Failed {
        status: answer.status.as_u16(),
        code: answer.error_code(),
    }
}
