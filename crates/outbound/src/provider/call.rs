//! One call to a provider: proven, within a deadline, and judged by what may have happened.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tokio_rustls::rustls::RootCertStore;
use url::Url;

use super::credential::Credential;
use crate::callback;
use crate::connection::Dialer;

mod address;
mod download;
mod failure;
mod payload;
mod wait;

pub(super) use address::escaped;
pub use failure::{CallFailure, SetupFailure};
pub(super) use payload::Payload;

use address::Base;
use wait::retry_after;

/// Providers commonly close what idles for longer.
const IDLE: Duration = Duration::from_secs(15);
const MOST_IDLE: usize = 64;
/// How much of an answer is read that is not a file. Small jobs are answered whole.
const MOST_READ: usize = 64 * 1024 * 1024;
const AGENT: &str = concat!("longshore/", env!("CARGO_PKG_VERSION"));

/// Where a provider is, who we are there, and how long it may take.
#[derive(Debug, Clone)]
pub struct Options {
    /// Plain http is allowed: a server of one's own may stand in the same rack.
    pub base: Url,
    pub credential: Option<Credential>,
    pub patience: Patience,
}

#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For a call and its whole answer.
    pub call: Duration,
    /// For a call that carries a job or its results.
    pub transfer: Duration,
    /// For the next bytes of a download.
    pub chunk: Duration,
    /// Between looks at what must be there in a moment: a file that was just uploaded.
    pub moment: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            call: Duration::from_mins(1),
            transfer: Duration::from_mins(30),
            chunk: Duration::from_mins(1),
            moment: Duration::from_secs(1),
        }
    }
}

/// How a provider wants to be shown the credential.
#[derive(Debug, Clone, Copy)]
pub(super) enum Proof {
    Bearer,
    Header(&'static str),
}

/// What a call may leave behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Made twice, it does what it does once, or costs nothing.
    None,
    /// Made twice, it is billed twice: an end that is not known stays unknown.
    Creates,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    /// Behind the base address, or a whole address that the provider gave.
    pub(super) to: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) payload: Payload,
    pub(super) within: Duration,
    pub(super) effect: Effect,
}

impl Call {
    #[must_use]
    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    /// Some say on a good answer, too, when to ask again.
    pub(super) fn hint(&self) -> Option<Duration> {
        wait::told(&self.headers)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

pub(super) struct Caller {
    base: Base,
    credential: Option<Credential>,
    proof: Proof,
    /// Sent with every call.
    always: &'static [(&'static str, &'static str)],
    client: Client<Dialer, Payload>,
    pub(super) patience: Patience,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Caller {
    pub(super) fn new(
        options: Options,
        proof: Proof,
        always: &'static [(&'static str, &'static str)],
        roots: RootCertStore,
    ) -> Result<Self, SetupFailure> {
        let dialer = Dialer::new(callback::tls(roots)?, options.patience.connect);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MOST_IDLE)
            .build(dialer);
        Ok(Self {
            base: Base::new(&options.base)?,
            credential: options.credential,
            proof,
            always,
            client,
            patience: options.patience,
        })
    }

    pub(super) fn get(&self, to: impl Into<String>) -> Call {
        Call {
            method: Method::GET,
            to: to.into(),
            headers: Vec::new(),
            payload: Payload::empty(),
            within: self.patience.call,
            effect: Effect::None,
        }
    }

    pub(super) fn post(&self, to: impl Into<String>, payload: Payload, effect: Effect) -> Call {
        Call {
            method: Method::POST,
            payload,
            effect,
            ..self.get(to)
        }
    }

    /// A good answer, read as a document.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        call: Call,
    ) -> Result<(T, Answer), CallFailure> {
        let effect = call.effect;
        let answer = self.ask(call).await?;
        match serde_json::from_slice(&answer.body) {
            Ok(document) => Ok((document, answer)),
            // It said yes, so something is there; only its name is not known.
            Err(_) if effect == Effect::Creates => {
                Err(CallFailure::Unknown("the answer cannot be read".to_owned()))
            }
            Err(_) => Err(CallFailure::Unreadable),
        }
    }

    /// A good answer; anything else is a failure.
    pub(super) async fn ask(&self, call: Call) -> Result<Answer, CallFailure> {
        let (effect, within) = (call.effect, call.within);
        let exchange = async {
            let response = self.open(call).await?;
            let headers = response.headers().clone();
            let body = collected(response).await;
            let body = body.ok_or_else(|| failure::lost(effect, "the answer was cut off"))?;
            Ok(Answer { headers, body })
        };
        let ended = timeout(within, exchange).await;
        ended.unwrap_or_else(|_| Err(failure::lost(effect, "no answer in time")))
    }

    /// Asks that a job be stopped. One that has ended cannot be, and need not.
    pub(super) async fn stop(&self, call: Call) -> Result<(), CallFailure> {
        let ended = self.ask(call).await.map(|_| ());
        match ended {
            Err(CallFailure::Refused { .. } | CallFailure::Conflict | CallFailure::NotFound) => {
                Ok(())
            }
            other => other,
        }
    }

    /// The head of a good answer; its body is still to come.
    async fn open(&self, call: Call) -> Result<Response<Incoming>, CallFailure> {
        let effect = call.effect;
        let sent = self.client.request(self.request(call)?).await;
        let response = sent.map_err(|error| failure::of_client(&error, effect))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        // A no without its words is still a no.
        let body = collected(response).await.unwrap_or_default();
        let failure = failure::of_answer(status.as_u16(), &headers, &body, effect);
        Err(match &self.credential {
            Some(credential) => failure.scrubbed(credential),
            None => failure,
        })
    }

    fn request(&self, call: Call) -> Result<Request<Payload>, CallFailure> {
        let place = self.base.place(&call.to);
        let place = place.ok_or(CallFailure::Unreadable)?;
        let mut request = Request::new(call.payload);
        *request.method_mut() = call.method;
        *request.uri_mut() = place.uri;
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.always {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        for (name, value) in call.headers {
            let value = HeaderValue::from_str(&value).map_err(|_| CallFailure::Unreadable)?;
            headers.insert(HeaderName::from_static(name), value);
        }
        // Nobody but the provider itself is shown who we are.
        if let Some(credential) = self.credential.as_ref().filter(|_| place.is_base) {
            let (name, value) = match self.proof {
                Proof::Bearer => (AUTHORIZATION, format!("Bearer {}", credential.secret())),
                Proof::Header(name) => (
                    HeaderName::from_static(name),
                    credential.secret().to_owned(),
                ),
            };
            // A secret that no header can carry is none.
            let mut value = HeaderValue::from_str(&value).map_err(|_| CallFailure::Unauthorized)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(request)
    }
}

/// Nothing when it was cut, or is larger than it may be.
async fn collected(response: Response<Incoming>) -> Option<Bytes> {
    let body = Limited::new(response.into_body(), MOST_READ);
    Some(body.collect().await.ok()?.to_bytes())
}
