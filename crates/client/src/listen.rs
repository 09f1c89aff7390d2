//! The listen tunnel: callbacks as server-sent events, and their answers.

use std::time::Duration;

use serde_json::json;

use crate::call::{ApiCall, encode, query};
use crate::client_error::ClientError;
use crate::line_reader::LineReader;
use crate::longshore_client::LongshoreClient;

/// The service sends a comment every 15 s.
const LISTEN_IDLE_TIMEOUT: Duration = Duration::from_secs(45);

/// What the local receiver answered to a callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerAnswer {
    pub delivery_id: String,
    /// None if it did not answer; `error` says why.
    pub status: Option<u16>,
    /// Where a redirect leads. It is not followed.
    pub location: Option<String>,
    /// The first kilobyte, as text.
    pub body: String,
    pub latency_ms: u64,
    pub error: Option<String>,
}

impl LongshoreClient {
    /// The stream of callbacks to `listen://NAME`.
    pub async fn listen(&self, name: &str) -> Result<LineReader, ClientError> {
        let path = format!("/listen{}", query(&[("name", Some(name.to_owned()))]));
        let answer = self.open(&ApiCall::get(path)).await?;
        Ok(LineReader::new(answer.into_body(), LISTEN_IDLE_TIMEOUT))
    }

    pub async fn answer_callback(
        &self,
        listener: &str,
        answer: &ListenerAnswer,
    ) -> Result<(), ClientError> {
        let path = format!("/listen/{}/answers", encode(listener));
        let body = json!({
            "delivery_id": answer.delivery_id,
            "status": answer.status,
            "headers": answer.location.as_ref().map(|to| json!({"location": to})),
            "body": answer.body,
            "latency_ms": answer.latency_ms,
            "error": answer.error,
        });
        self.call(&ApiCall::post(path, &body).idempotent()).await?;
        Ok(())
    }
}
