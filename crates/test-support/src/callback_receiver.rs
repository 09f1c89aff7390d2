//! A callback receiver on loopback that answers with the statuses that a test sets.

use serde_json::Value;

use crate::scripted_receiver::{ReceivedRequest, ScriptedReceiver, plain_reply};

#[derive(Debug)]
pub struct CallbackReceiver {
    receiver: ScriptedReceiver,
    url: String,
}

impl CallbackReceiver {
    /// Starts a receiver that answers 200 unless statuses are queued.
    pub async fn new() -> Self {
        let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
        let url = receiver.url();
        Self { receiver, url }
    }

    /// Sets the next statuses, in this order. After them the receiver answers 200 again.
    pub fn queue_statuses(&self, statuses: impl IntoIterator<Item = u16>) {
        let replies = statuses.into_iter().map(|status| plain_reply(status, ""));
        self.receiver.insert_before_last(replies);
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The callbacks with their headers, as they arrived.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.receiver.received()
    }

    pub fn callbacks(&self) -> Vec<Value> {
        let received = self.receiver.received();
        let bodies = received.iter().map(|request| &request.body);
        bodies
            .map(|body| serde_json::from_slice(body).unwrap())
            .collect()
    }
}
