//! Loads so large that a worker's result fills the buffers of its connection.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rand::RngExt as _;

use crate::harness::load::open_loop;
use crate::harness::{ChaosCallers, FREE_MODEL, ServiceClient};

/// Just below the limit of the service.
const BODY_BYTES: usize = 9 << 20;
const MAX_CONCURRENT_LOADS: usize = 4;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Printable characters that JSON does not escape and that do not start a directive.
const FIRST_LETTER: u8 = b'#';
const LAST_LETTER: u8 = b'Z';

/// Sends large loads while a trial wants them.
#[derive(Debug)]
pub struct LargeLoads {
    is_wanted: AtomicBool,
    count: AtomicU64,
    /// Text that does not compress well.
    filler: String,
}

impl Default for LargeLoads {
    fn default() -> Self {
        let mut random = rand::rng();
        let mut letter = || char::from(random.random_range(FIRST_LETTER..=LAST_LETTER));
        Self {
            is_wanted: AtomicBool::new(false),
            count: AtomicU64::new(0),
            filler: (0..BODY_BYTES).map(|_| letter()).collect(),
        }
    }
}

impl LargeLoads {
    pub fn set_wanted(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Runs until it is dropped.
    pub async fn run(&self, callers: &ChaosCallers) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if self.is_wanted.load(Ordering::Relaxed) {
                let loads = (0..MAX_CONCURRENT_LOADS).map(|_| self.load(callers));
                futures::future::join_all(loads).await;
            }
        }
    }

    async fn load(&self, callers: &ChaosCallers) {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let mut body = String::with_capacity(BODY_BYTES + 1024);
        // The mock provider repeats only the last message, so the callback is small. Writing to
        // a string cannot fail.
        let _ = write!(
            body,
            r#"{{"params":{{"model":"{FREE_MODEL}","max_tokens":64,"messages":[{{"role":"user","content":""#
        );
        body.push_str(&self.filler);
        let _ = write!(
            body,
            r#""}},{{"role":"assistant","content":"yes"}},{{"role":"user","content":"{number}"}}]}},"callback_url":"{}"}}"#,
            callers.callback_url
        );
        let organization = open_loop::organization_index(callers, number);
        let admitted = (0..callers.clients.len()).find(|place| {
            callers
                .clients
                .get(*place)
                .is_some_and(ServiceClient::is_admitted)
        });
        open_loop::load_body(callers, admitted.unwrap_or_default(), organization, &body).await;
    }
}
