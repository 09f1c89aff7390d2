//! `GET /listen` and `POST /listen/{listener_id}/answers`: callbacks for a program without a public
//! host.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// The data of the first event, `ready`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ListenerReady)]
pub struct ListenerReadyEvent {
    /// For the path of your answers.
    #[schema(example = "lsn_019b76da807b774b805000000000002a")]
    pub listener_id: String,
    /// Signs the callbacks if your project does not. It stays the same for the same API key and
    /// name.
    #[schema(example = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")]
    pub secret: String,
}

/// The data of an event `callback`: the POST that your receiver is to get.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ListenerCallback)]
pub struct ListenerCallbackEvent {
    /// Names this attempt in your answer.
    #[schema(example = "dlv_019b76da807b774b805000000000002a")]
    pub delivery_id: String,
    /// The number of the attempt, from 1.
    #[schema(example = 1)]
    pub number: u32,
    /// All headers of the POST, with lowercase names.
    #[schema(example = json!({"content-type": "application/json", "webhook-id": "crg_019b76da807b774b805000000000002a"}))]
    pub headers: BTreeMap<String, String>,
    /// The body of the POST, to be sent byte for byte: its signature covers it.
    pub body: String,
}

/// What your receiver answered. `status` or `error` is required.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = ListenerAnswer)]
pub struct ListenerAnswerRequest {
    #[schema(example = "dlv_019b76da807b774b805000000000002a")]
    pub delivery_id: String,
    /// The HTTP status. 2xx acknowledges the callback.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 100, maximum = 599, example = 200)]
    pub status: Option<u16>,
    /// Headers of the response. Only `location` is read: redirects are not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub headers: Option<BTreeMap<String, String>>,
    /// The body of the response. Its first 1,024 bytes are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "ok")]
    pub body: Option<String>,
    /// How long the receiver took.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0, example = 12)]
    pub latency_ms: Option<u64>,
    /// Why there is no complete response. The attempt has failed, whatever the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "connection refused")]
    pub error: Option<String>,
}
