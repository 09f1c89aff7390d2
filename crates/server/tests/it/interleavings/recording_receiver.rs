//! The callback receiver inside the test. It records every POST that reaches it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::callback_signature::SignatureHeaders;
use domain::id::CargoId;
use domain::trace_context::TraceContext;
use outbound::callback::{CallbackAttempt, CallbackClient};

use super::event_log::EventLog;
use super::gate::{GateDecision, GatePoint, TaskGate};

const CALLBACK_LATENCY: Duration = Duration::from_millis(3);

/// A POST that reached the receiver.
#[derive(Debug, Clone)]
pub(super) struct ReceivedCallback {
    pub(super) cargo: CargoId,
    pub(super) node: usize,
    /// The scheduler's turn in which the POST started.
    pub(super) turn: u64,
    pub(super) is_acknowledged: bool,
}

#[derive(Debug, Default)]
pub(super) struct RecordingReceiver(Mutex<Vec<ReceivedCallback>>);

impl RecordingReceiver {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<ReceivedCallback>> {
        self.0.lock().unwrap()
    }
}

/// The receiver as one node calls it.
#[derive(Debug)]
pub(super) struct NodeCallbackClient {
    pub(super) node: usize,
    pub(super) gate: Arc<TaskGate>,
    pub(super) receiver: Arc<RecordingReceiver>,
    pub(super) log: Arc<EventLog>,
}

#[async_trait]
impl CallbackClient for NodeCallbackClient {
    async fn post(
        &self,
        _: &str,
        body: Bytes,
        _: Option<&SignatureHeaders>,
        _: Option<TraceContext>,
    ) -> CallbackAttempt {
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let cargo = body["cargo_id"].as_str().unwrap().parse().unwrap();
        let turn = self.log.turn();
        let decision = self.gate.pass(self.node, GatePoint::Call("callback")).await;
        let is_acknowledged = decision != GateDecision::Fail;
        self.receiver.lock().push(ReceivedCallback {
            cargo,
            node: self.node,
            turn,
            is_acknowledged,
        });
        if decision == GateDecision::HoldAnswer {
            self.gate
                .pass(self.node, GatePoint::Reply("callback"))
                .await;
        }
        let (status, error) = match decision {
            GateDecision::Continue | GateDecision::Burst(_) | GateDecision::HoldAnswer => {
                (Some(200), None)
            }
            GateDecision::Fail => (Some(500), None),
            GateDecision::LoseAnswer => {
                // The receiver has the callback, but the node cannot know.
                self.log
                    .record_fault(self.node, "the answer to a callback was lost");
                (None, Some("connection lost".to_owned()))
            }
        };
        CallbackAttempt {
            status,
            error,
            latency: CALLBACK_LATENCY,
            response_excerpt: Bytes::new(),
        }
    }
}
