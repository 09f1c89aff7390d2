//! Records of every attempt to create a job and of every realtime call.

use serde::{Deserialize, Serialize};

use crate::clock::SimulatorTime;
use crate::provider::SimulatedProvider;

/// One attempt to create a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulatedSubmission {
    pub at: SimulatorTime,
    pub provider: SimulatedProvider,
    pub account: String,
    /// `metadata.submission_id` or `displayName`.
    pub label: Option<String>,
    /// None: refused.
    pub job: Option<String>,
    pub items: usize,
    /// See [`crate::rule::ids_digest`].
    pub ids_sha256: String,
    /// The status that was sent. None: the connection was closed instead.
    pub status: Option<u16>,
    /// Whether the caller received the job's id.
    pub answered: bool,
}

/// One realtime call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeCall {
    pub at: SimulatorTime,
    pub provider: SimulatedProvider,
    pub account: String,
    pub path: String,
    /// The header `x-request-id` of the call.
    pub request_id: Option<String>,
    pub body_sha256: String,
    /// None: no answer yet, or none at all.
    pub status: Option<u16>,
}

/// A job as the admin API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    pub id: String,
    pub label: Option<String>,
    pub model: String,
    pub created_at: SimulatorTime,
    pub ended_at: Option<SimulatorTime>,
    /// validating, running, finalizing, cancelling, completed, failed, expired or cancelled.
    pub state: String,
    pub items: usize,
    pub ids_sha256: String,
    pub answered: usize,
    pub failed: usize,
    pub is_deleted: bool,
}
