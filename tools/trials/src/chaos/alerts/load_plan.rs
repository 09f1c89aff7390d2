//! Loads for every model; while receivers hang, each new load has another one of them.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::json;

use crate::harness::load::open_loop;
use crate::harness::{ChaosCallers, FREE_MODEL, PRICED_MODEL};

/// Models of accounts at the simulator.
pub const OPENAI_MODEL: &str = "trial-openai";
pub const CLAUDE_MODEL: &str = "trial-claude";
pub const STUCK_MODEL: &str = "trial-stuck";
const MODELS: [&str; 8] = [
    FREE_MODEL,
    PRICED_MODEL,
    OPENAI_MODEL,
    PRICED_MODEL,
    CLAUDE_MODEL,
    FREE_MODEL,
    STUCK_MODEL,
    PRICED_MODEL,
];
/// No hanging receivers.
const NO_PORT: u16 = 0;
const RECEIVERS_PER_NET: u64 = 250;

#[derive(Debug)]
pub struct LoadPlan {
    callers: Arc<ChaosCallers>,
    hanging_port: AtomicU16,
}

impl LoadPlan {
    pub fn new(callers: &Arc<ChaosCallers>) -> Self {
        Self {
            callers: Arc::clone(callers),
            hanging_port: AtomicU16::new(NO_PORT),
        }
    }

    /// From now on, callbacks go to receivers that hang on this port, or to the sink again.
    pub fn set_hanging_receivers(&self, port: Option<u16>) {
        self.hanging_port
            .store(port.unwrap_or(NO_PORT), Ordering::Relaxed);
    }

    async fn send(&self, number: u64) {
        let which = open_loop::organization_index(&self.callers, number);
        // Another rhythm than that of the organizations, so that each loads for every model.
        let turn = usize::try_from(number + number / 32).unwrap_or_default();
        let body = json!({
            "params": {
                "model": MODELS.get(turn % MODELS.len()),
                "max_tokens": 16,
                "messages": [{"role": "user", "content": format!("question {number}")}],
            },
            "callback_url": self.callback_url(number),
        });
        open_loop::load_body(&self.callers, 0, which, &body.to_string()).await;
    }

    fn callback_url(&self, number: u64) -> String {
        let port = self.hanging_port.load(Ordering::Relaxed);
        if port == NO_PORT {
            return self.callers.callback_url.clone();
        }
        format!("http://{}:{port}/hook", receiver_address(number))
    }
}

/// A different host for each load, so that no limit of a host delays the failures.
fn receiver_address(number: u64) -> Ipv4Addr {
    let part = |value: u64| u8::try_from(value % RECEIVERS_PER_NET + 1).unwrap_or(u8::MAX);
    Ipv4Addr::new(127, 0, part(number / RECEIVERS_PER_NET), part(number))
}

/// A load for [`open_loop::offer_loads`].
pub fn planned_load(plan: &Arc<LoadPlan>) -> impl Fn(u64) -> BoxFuture<'static, ()> + use<> {
    let plan = Arc::clone(plan);
    move |number| {
        let plan = Arc::clone(&plan);
        async move { plan.send(number).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_has_another_receiver() {
        assert_eq!(receiver_address(0), Ipv4Addr::new(127, 0, 1, 1));
        assert_eq!(receiver_address(251), Ipv4Addr::new(127, 0, 2, 2));
    }
}
