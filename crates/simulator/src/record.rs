//! What was seen: every attempt to create a job, and every realtime call.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::provider::Provider;

/// One attempt to create a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    pub at: Moment,
    pub provider: Provider,
    pub account: String,
    /// `metadata.submission_id` or `displayName`.
    pub label: Option<String>,
    /// None if it was refused.
    pub job: Option<String>,
    pub items: usize,
    /// See [`crate::rule::ids_digest`].
    pub ids_sha256: String,
    /// The status that went out; none if the connection was closed instead.
    pub status: Option<u16>,
    /// Whether the caller was told of the job.
    pub answered: bool,
}

/// One realtime call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeCall {
    pub at: Moment,
    pub provider: Provider,
    pub account: String,
    pub path: String,
    /// The header `x-request-id` of the call.
    pub request_id: Option<String>,
    pub body_sha256: String,
    /// None while there is no answer, or if there was none.
    pub status: Option<u16>,
}

/// A job as the administration shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    pub id: String,
    pub label: Option<String>,
    pub model: String,
    pub created_at: Moment,
    pub ended_at: Option<Moment>,
    /// validating, running, finalizing, cancelling, completed, failed, expired or cancelled.
    pub state: String,
    pub items: usize,
    pub ids_sha256: String,
    pub answered: usize,
    pub failed: usize,
    pub is_deleted: bool,
}
