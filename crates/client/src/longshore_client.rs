//! Calls of the API: authentication, retries within a budget of time, and errors by their table.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use rand::RngExt as _;
use serde::de::DeserializeOwned;

use crate::call::ApiCall;
use crate::client_error::{ApiErrorAnswer, ClientError};
use crate::retry::{self, FailedRequest, RetryWait};
use crate::transport::{Transport, read_whole};

/// How a client reaches its service.
#[derive(Clone)]
pub struct ClientOptions {
    pub base_url: String,
    pub api_key: String,
    pub user_agent: String,
    /// How long a call is repeated. None: until it is answered.
    pub retry_for: Option<Duration>,
}

/// A client of one service with one API key. A clone uses the same connections.
#[derive(Clone)]
pub struct LongshoreClient {
    base_url: String,
    api_key: HeaderValue,
    user_agent: HeaderValue,
    retry_for: Option<Duration>,
    transport: Transport,
}

/// The key is never shown.
impl fmt::Debug for LongshoreClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LongshoreClient")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl LongshoreClient {
    pub fn new(options: &ClientOptions) -> Result<Self, ClientError> {
        let base_url = options.base_url.trim_end_matches('/').to_owned();
        let uri: Uri = parse_uri(&base_url)?;
        if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(ClientError::InvalidRequest(format!(
                "{base_url} is not an http or https URL"
            )));
        }
        let mut api_key = header(&options.api_key, "the API key")?;
        api_key.set_sensitive(true);
        Ok(Self {
            base_url,
            api_key,
            user_agent: header(&options.user_agent, "the user agent")?,
            retry_for: options.retry_for,
            transport: Transport::new()?,
        })
    }

    /// The same client with another budget of time. None: until it is answered.
    #[must_use]
    pub fn retrying_for(&self, budget: Option<Duration>) -> Self {
        Self {
            retry_for: budget,
            ..self.clone()
        }
    }

    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    pub const fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Calls, and reads the answer as JSON.
    pub async fn json<T: DeserializeOwned>(&self, call: &ApiCall) -> Result<T, ClientError> {
        let answer = self.call(call).await?;
        serde_json::from_slice(answer.body())
            .map_err(|error| ClientError::UnreadableAnswer(error.to_string()))
    }

    /// Calls, and reads the whole answer.
    pub async fn call(&self, call: &ApiCall) -> Result<Response<Bytes>, ClientError> {
        self.repeat(call, || async move {
            let request = self.request(call)?;
            let answer = self.transport.exchange(request, call.timeout).await?;
            if answer.status().is_success() {
                return Ok(answer);
            }
            Err(refused(&answer))
        })
        .await
    }

    /// Calls, and returns the answer when its head has arrived.
    pub async fn open(&self, call: &ApiCall) -> Result<Response<Incoming>, ClientError> {
        self.repeat(call, || async move {
            let request = self.request(call)?;
            let answer = self.transport.open(request, call.timeout).await?;
            if answer.status().is_success() {
                return Ok(answer);
            }
            Err(refused(&read_whole(answer).await?))
        })
        .await
    }

    async fn repeat<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: &ApiCall,
        send: impl Fn() -> F,
    ) -> Result<T, ClientError> {
        let started = Instant::now();
        let mut attempt = 0;
        loop {
            let error = match send().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(wait) = decide(call, &error, attempt) else {
                return Err(error);
            };
            let pause = draw(wait);
            let is_within = |budget: Duration| started.elapsed().saturating_add(pause) < budget;
            if !self.retry_for.is_none_or(is_within) {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    fn request(&self, call: &ApiCall) -> Result<Request<Full<Bytes>>, ClientError> {
        let uri = parse_uri(&format!("{}{}", self.base_url, call.path))?;
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(uri)
            .header("x-api-key", self.api_key.clone())
            .header(USER_AGENT, self.user_agent.clone())
            .header(ACCEPT, "*/*");
        if let Some(content_type) = call.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if let Some(key) = &call.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        request
            .body(Full::new(call.body.clone()))
            .map_err(|error| ClientError::InvalidRequest(error.to_string()))
    }
}

fn decide(call: &ApiCall, error: &ClientError, attempt: u32) -> Option<RetryWait> {
    let unanswered = FailedRequest {
        method: call.method.as_str(),
        has_idempotency_key: call.idempotency_key.is_some(),
        is_idempotent: call.is_idempotent,
        was_sent: true,
        status: None,
        code: None,
        retry_after: None,
        should_retry: None,
        attempt,
    };
    match error {
        ClientError::Refused(refusal) => retry::decide(&FailedRequest {
            status: Some(refusal.status),
            code: refusal.code.as_deref(),
            retry_after: refusal
                .retry_after_seconds
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            should_retry: refusal.should_retry,
            ..unanswered
        }),
        ClientError::Transport(failure) => retry::decide(&FailedRequest {
            was_sent: failure.was_sent(),
            ..unanswered
        }),
        ClientError::UnreadableAnswer(_)
        | ClientError::Setup(_)
        | ClientError::InvalidRequest(_)
        | ClientError::File { .. } => None,
    }
}

/// A moment within the wait, evenly.
pub fn draw(wait: RetryWait) -> Duration {
    let share: f64 = rand::rng().random();
    wait.min
        .saturating_add(wait.max.saturating_sub(wait.min).mul_f64(share))
}

fn refused(answer: &Response<Bytes>) -> ClientError {
    ClientError::Refused(Box::new(ApiErrorAnswer::from_answer(answer)))
}

fn parse_uri(text: &str) -> Result<Uri, ClientError> {
    text.parse()
        .map_err(|_| ClientError::InvalidRequest(format!("{text} is not a URL")))
}

fn header(text: &str, name: &str) -> Result<HeaderValue, ClientError> {
    HeaderValue::from_str(text).map_err(|_| {
        ClientError::InvalidRequest(format!("{name} has characters that no header may have"))
    })
}
