//! The receiver of callbacks inside the test: it keeps every POST that reached it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::id::CargoId;
use outbound::callback::{Attempt, CallbackClient};

use super::gate::{Decision, Gate, Point};
use super::log::Log;

const LATENCY: Duration = Duration::from_millis(3);

/// A POST that reached the receiver.
#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) cargo: CargoId,
    pub(super) node: usize,
    /// The turn of the scheduler in which it began.
    pub(super) turn: u64,
    pub(super) is_acknowledged: bool,
}

#[derive(Debug, Default)]
pub(super) struct Receiver(Mutex<Vec<Post>>);

impl Receiver {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Post>> {
        self.0.lock().unwrap()
    }
}

/// The receiver as one node calls it.
#[derive(Debug)]
pub(super) struct NodeCallbacks {
    pub(super) node: usize,
    pub(super) gate: Arc<Gate>,
    pub(super) receiver: Arc<Receiver>,
    pub(super) log: Arc<Log>,
}

#[async_trait]
impl CallbackClient for NodeCallbacks {
    async fn post(&self, _: &str, body: Bytes) -> Attempt {
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let cargo = body["cargo_id"].as_str().unwrap().parse().unwrap();
        let turn = self.log.turn();
        let decision = self.gate.pass(self.node, Point::Call("callback")).await;
        let is_acknowledged = decision != Decision::Fail;
        self.receiver.lock().push(Post {
            cargo,
            node: self.node,
            turn,
            is_acknowledged,
        });
        if decision == Decision::HoldAnswer {
            self.gate.pass(self.node, Point::Reply("callback")).await;
        }
        let (status, error) = match decision {
            Decision::Continue | Decision::Burst(_) | Decision::HoldAnswer => (Some(200), None),
            Decision::Fail => (Some(500), None),
            Decision::LoseAnswer => {
                // The receiver has it; the node cannot know.
                self.log.trouble(self.node, "a callback's answer was lost");
                (None, Some("connection lost".to_owned()))
            }
        };
        Attempt {
            status,
            error,
            latency: LATENCY,
            answer: Bytes::new(),
        }
    }
}
