//! Sends callbacks to a receiver, signed rightly or wrongly.

use std::time::{Duration, Instant};

use bytes::Bytes;
use client::transport::Transport;
use client::webhook_signature::WebhookSecret;
use http::{Method, Request, Response, Uri};
use http_body_util::Full;

use crate::session::USER_AGENT;

/// As long as the service waits.
pub const RECEIVER_TIMEOUT: Duration = Duration::from_secs(30);
/// A slow callback has so many pieces, each after a pause.
const SLOW_PIECES: usize = 6;
pub const SLOW_PAUSE: Duration = Duration::from_millis(300);
const UNKNOWN_VERSION_TOKEN: &str = "v9,bm90IGEgc2lnbmF0dXJl";
const WRONG_TOKEN: &str = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// How a callback is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeSignature {
    Right,
    /// With a token of another secret.
    Wrong,
    Missing,
    /// Of another body.
    OtherBody,
    /// Ten minutes old.
    Old,
    /// A wrong token first, then the right one, then one of an unknown version.
    Rotated,
}

/// What the receiver answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// The error says why there is none.
    pub status: Result<u16, String>,
    pub latency: Duration,
}

#[derive(Debug, Clone)]
pub struct ReceiverProbe {
    pub transport: Transport,
    pub url: Uri,
    pub secret: Option<WebhookSecret>,
    /// Seconds since the Unix epoch, when the check began.
    pub now: i64,
    /// Before each piece of a slow callback.
    pub slow_pause: Duration,
}

impl ProbeAnswer {
    pub fn is_success(&self) -> bool {
        self.status.as_ref().is_ok_and(|it| (200..300).contains(it))
    }

    pub fn describe(&self) -> String {
        match &self.status {
            Ok(status) => format!("{status} in {} ms", self.latency.as_millis()),
            Err(reason) => reason.clone(),
        }
    }
}

impl ReceiverProbe {
    pub async fn post(&self, id: &str, body: Bytes, signature: ProbeSignature) -> ProbeAnswer {
        let request = self.request_head(id, &body, signature);
        self.send(request.body(Full::new(body))).await
    }

    /// Posts a callback that is signed rightly and arrives in pieces.
    pub async fn post_slowly(&self, id: &str, body: Bytes) -> ProbeAnswer {
        let request = self.request_head(id, &body, ProbeSignature::Right);
        let exchange = async {
            let request = request.body(body).map_err(|error| error.to_string())?;
            let transport = &self.transport;
            transport
                .exchange_slowly(request, SLOW_PIECES, self.slow_pause, RECEIVER_TIMEOUT)
                .await
                .map_err(|failure| failure.to_string())
        };
        time_answer(exchange).await
    }

    fn request_head(
        &self,
        id: &str,
        body: &[u8],
        signature: ProbeSignature,
    ) -> http::request::Builder {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.url.clone())
            .header("content-type", "application/json")
            .header("user-agent", USER_AGENT);
        for (name, value) in self.signature_headers(id, body, signature) {
            request = request.header(name, value);
        }
        request
    }

    pub async fn get(&self, url: &Uri) -> ProbeAnswer {
        let request = Request::builder().method(Method::GET).uri(url.clone());
        self.send(request.body(Full::new(Bytes::new()))).await
    }

    /// The number that a page shows, such as a counter of handled callbacks.
    pub async fn read_number(&self, url: &Uri) -> Option<u64> {
        let request = Request::builder().method(Method::GET).uri(url.clone());
        let request = request.body(Full::new(Bytes::new())).ok()?;
        let answer = self.transport.exchange(request, RECEIVER_TIMEOUT).await;
        let answer = answer.ok()?;
        std::str::from_utf8(answer.body()).ok()?.trim().parse().ok()
    }

    async fn send(&self, request: http::Result<Request<Full<Bytes>>>) -> ProbeAnswer {
        let exchange = async {
            let request = request.map_err(|error| error.to_string())?;
            let sent = self.transport.exchange(request, RECEIVER_TIMEOUT).await;
            sent.map_err(|failure| failure.to_string())
        };
        time_answer(exchange).await
    }

    fn signature_headers(
        &self,
        id: &str,
        body: &[u8],
        signature: ProbeSignature,
    ) -> Vec<(&'static str, String)> {
        let Some(secret) = &self.secret else {
            return Vec::new();
        };
        let timestamp = match signature {
            ProbeSignature::Old => self.now - 600,
            ProbeSignature::Right
            | ProbeSignature::Wrong
            | ProbeSignature::Missing
            | ProbeSignature::OtherBody
            | ProbeSignature::Rotated => self.now,
        };
        let right = secret.sign(id, timestamp, body);
        let tokens = match signature {
            ProbeSignature::Right | ProbeSignature::Old => right,
            ProbeSignature::Wrong => WRONG_TOKEN.to_owned(),
            ProbeSignature::Missing => return Vec::new(),
            ProbeSignature::OtherBody => secret.sign(id, timestamp, b"{}"),
            ProbeSignature::Rotated => format!("{WRONG_TOKEN} {right} {UNKNOWN_VERSION_TOKEN}"),
        };
        vec![
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", timestamp.to_string()),
            ("webhook-signature", tokens),
        ]
    }
}

async fn time_answer(
    exchange: impl Future<Output = Result<Response<Bytes>, String>>,
) -> ProbeAnswer {
    let started = Instant::now();
    let answer = exchange.await;
    ProbeAnswer {
        status: answer.map(|answer| answer.status().as_u16()),
        latency: started.elapsed(),
    }
}
