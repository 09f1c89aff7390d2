//! The HTTP client for providers: authentication, timeouts, and classification of failures.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, Response};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use tokio_rustls::rustls::RootCertStore;
use url::Url;

use super::credential::ProviderCredential;
use crate::http_exchange::{LONGSHORE_USER_AGENT, OutboundHttpClient, read_response, within};

mod base_url;
mod download;
mod failure;
mod request_body;
mod retry_after;

pub use failure::{ProviderCallFailure, ProviderSetupFailure};
pub(super) use request_body::ProviderRequestBody;

use base_url::BaseUrl;
use failure::CallTraits;
use retry_after::parse_retry_after;

/// For responses that are not downloads. Small jobs may carry their results in the response.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// URL, credential and timeouts of a provider account.
#[derive(Debug, Clone)]
pub struct ProviderOptions {
    /// Plain HTTP is allowed: a self-hosted server may be in the same rack.
    pub base_url: Url,
    pub credential: Option<ProviderCredential>,
    pub timeouts: ProviderTimeouts,
}

#[derive(Debug, Clone, Copy)]
pub struct ProviderTimeouts {
    /// To open a connection.
    pub connect: Duration,
    /// For a request and its whole response.
    pub call: Duration,
    /// For a request that transfers a job or its results.
    pub transfer: Duration,
    /// For the next chunk of a download.
    pub chunk: Duration,
    /// Between checks whether an uploaded file is usable.
    pub file_poll_interval: Duration,
}

impl Default for ProviderTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            call: Duration::from_mins(1),
            transfer: Duration::from_mins(30),
            chunk: Duration::from_mins(1),
            file_poll_interval: Duration::from_secs(1),
        }
    }
}

/// The header that carries the credential.
#[derive(Debug, Clone, Copy)]
pub(super) enum AuthScheme {
    Bearer,
    Header(&'static str),
}

/// Whether a request may be sent twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetrySafety {
    /// A repeated request changes nothing, or costs nothing.
    Safe,
    /// An error costs nothing, but the provider bills a response that was lost.
    MayBillIfLost,
    /// A repeated request is billed twice, so a lost response is indeterminate.
    MayBillTwice,
}

#[derive(Debug)]
pub(super) struct ProviderRequest {
    pub(super) method: Method,
    /// A path below the base URL, or a full URL that the provider returned.
    pub(super) target: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) payload: ProviderRequestBody,
    pub(super) timeout: Duration,
    pub(super) retry_safety: RetrySafety,
    /// The request carries texts of callers, which the message of an error may repeat.
    has_caller_input: bool,
    /// The request asks for spare capacity, which the provider may not have.
    is_flex: bool,
}

impl ProviderRequest {
    const fn traits(&self) -> CallTraits {
        CallTraits {
            retry_safety: self.retry_safety,
            has_caller_input: self.has_caller_input,
            is_flex: self.is_flex,
        }
    }

    /// The request is of the flex tier.
    #[must_use]
    pub(super) fn for_flex(mut self) -> Self {
        self.is_flex = true;
        self
    }

    #[must_use]
    pub(super) fn with_caller_input(mut self) -> Self {
        self.has_caller_input = true;
        self
    }

    #[must_use]
    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

#[derive(Debug)]
pub(super) struct ProviderResponse {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl ProviderResponse {
    /// Some providers send `retry-after` with a success, too.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        retry_after::parse_headers(&self.headers)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

pub(super) struct ProviderClient {
    base_url: BaseUrl,
    credential: Option<ProviderCredential>,
    auth_scheme: AuthScheme,
    /// Sent with every request.
    default_headers: &'static [(&'static str, &'static str)],
    http: OutboundHttpClient<ProviderRequestBody>,
    pub(super) timeouts: ProviderTimeouts,
}

impl fmt::Debug for ProviderClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderClient")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl ProviderClient {
    pub(super) fn new(
        options: ProviderOptions,
        auth_scheme: AuthScheme,
        default_headers: &'static [(&'static str, &'static str)],
        roots: RootCertStore,
    ) -> Result<Self, ProviderSetupFailure> {
        Ok(Self {
            base_url: BaseUrl::new(&options.base_url)?,
            credential: options.credential,
            auth_scheme,
            default_headers,
            http: OutboundHttpClient::new(options.timeouts.connect, roots)?,
            timeouts: options.timeouts,
        })
    }

    pub(super) fn get(&self, to: impl Into<String>) -> ProviderRequest {
        ProviderRequest {
            method: Method::GET,
            target: to.into(),
            headers: Vec::new(),
            payload: ProviderRequestBody::empty(),
            timeout: self.timeouts.call,
            retry_safety: RetrySafety::Safe,
            has_caller_input: false,
            is_flex: false,
        }
    }

    pub(super) fn post(
        &self,
        to: impl Into<String>,
        payload: ProviderRequestBody,
        retry_safety: RetrySafety,
    ) -> ProviderRequest {
        ProviderRequest {
            method: Method::POST,
            payload,
            retry_safety,
            ..self.get(to)
        }
    }

    /// Sends the request and parses the JSON of a success response.
    pub(super) async fn send_and_parse<T: DeserializeOwned>(
        &self,
        call: ProviderRequest,
    ) -> Result<(T, ProviderResponse), ProviderCallFailure> {
        let retry_safety = call.retry_safety;
        let answer = self.send(call).await?;
        match serde_json::from_slice(&answer.body) {
            Ok(document) => Ok((document, answer)),
            // The provider created the job, but its id is unknown.
            Err(_) if retry_safety == RetrySafety::MayBillTwice => Err(
                ProviderCallFailure::Indeterminate("the response cannot be parsed".to_owned()),
            ),
            Err(_) => Err(ProviderCallFailure::UnreadableResponse),
        }
    }

    /// Sends the request. Any status but success is a failure.
    pub(super) async fn send(
        &self,
        call: ProviderRequest,
    ) -> Result<ProviderResponse, ProviderCallFailure> {
        let (retry_safety, deadline) = (call.retry_safety, call.timeout);
        let lost = |failure| failure::from_exchange(failure, retry_safety);
        let exchange = async {
            let response = self.open_response(call).await?;
            let response = read_response(response, MAX_RESPONSE_BYTES).await;
            let (head, body) = response.map_err(lost)?.into_parts();
            Ok(ProviderResponse {
                headers: head.headers,
                body,
            })
        };
        within(deadline, exchange).await.map_err(lost)?
    }

    /// Sends a cancellation. It succeeds if the job has already ended.
    pub(super) async fn send_cancel(
        &self,
        call: ProviderRequest,
    ) -> Result<(), ProviderCallFailure> {
        let ended = self.send(call).await.map(|_| ());
        match ended {
            Err(
                ProviderCallFailure::Refused { .. }
                | ProviderCallFailure::Conflict
                | ProviderCallFailure::NotFound,
            ) => Ok(()),
            other => other,
        }
    }

    /// Deletes what is at this path. What is gone counts as deleted.
    pub(super) async fn send_delete(
        &self,
        path: impl Into<String>,
    ) -> Result<(), ProviderCallFailure> {
        let call = ProviderRequest {
            method: Method::DELETE,
            ..self.get(path)
        };
        match self.send(call).await {
            Ok(_) | Err(ProviderCallFailure::NotFound) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the head of a success response. The body follows.
    async fn open_response(
        &self,
        call: ProviderRequest,
    ) -> Result<Response<Incoming>, ProviderCallFailure> {
        let traits = call.traits();
        let sent = self.http.send(self.build_request(call)?).await;
        let lost = |failure| failure::from_exchange(failure, traits.retry_safety);
        let response = sent.map_err(lost)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        // Without its body, an error response is still an error.
        let body = read_response(response, MAX_RESPONSE_BYTES).await;
        let body = body.map(Response::into_body).unwrap_or_default();
        let status = status.as_u16();
        let failure = failure::from_response(status, &headers, &body, traits);
        Err(match &self.credential {
            Some(credential) => failure.redact(credential),
            None => failure,
        })
    }

    fn build_request(
        &self,
        call: ProviderRequest,
    ) -> Result<Request<ProviderRequestBody>, ProviderCallFailure> {
        let target = self.base_url.resolve(&call.target);
        let target = target.ok_or(ProviderCallFailure::UnreadableResponse)?;
        let mut request = Request::new(call.payload);
        *request.method_mut() = call.method;
        *request.uri_mut() = target.uri;
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, HeaderValue::from_static(LONGSHORE_USER_AGENT));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.default_headers {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        for (name, value) in call.headers {
            let value = HeaderValue::from_str(&value)
                .map_err(|_| ProviderCallFailure::UnreadableResponse)?;
            headers.insert(HeaderName::from_static(name), value);
        }
        // Only the provider's own origin gets the credential.
        if let Some(credential) = self
            .credential
            .as_ref()
            .filter(|_| target.is_provider_origin)
        {
            let (name, value) = match self.auth_scheme {
                AuthScheme::Bearer => (AUTHORIZATION, format!("Bearer {}", credential.secret())),
                AuthScheme::Header(name) => (
                    HeaderName::from_static(name),
                    credential.secret().to_owned(),
                ),
            };
            // A secret that is no valid header value cannot be accepted.
            let mut value =
                HeaderValue::from_str(&value).map_err(|_| ProviderCallFailure::Unauthorized)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(request)
    }
}
