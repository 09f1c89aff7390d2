//! Loads so large that a worker which reads them fills the buffers of its connection.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rand::RngExt as _;

use crate::catalogue::FREE;
use crate::chaos::scene::Callers;
use crate::chaos::traffic;
use crate::http::Target;

/// Just below what the service accepts.
const BODY_BYTES: usize = 9 << 20;
const LOADS_AT_ONCE: usize = 4;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Printable characters that JSON does not escape and that begin no directive.
const FIRST_LETTER: u8 = b'#';
const LAST_LETTER: u8 = b'Z';

/// Sends large loads while they are wanted.
#[derive(Debug)]
pub struct LargeLoads {
    is_wanted: AtomicBool,
    count: AtomicU64,
    /// Text that does not compress well.
    filling: String,
}

impl Default for LargeLoads {
    fn default() -> Self {
        let mut random = rand::rng();
        let mut letter = || char::from(random.random_range(FIRST_LETTER..=LAST_LETTER));
        Self {
            is_wanted: AtomicBool::new(false),
            count: AtomicU64::new(0),
            filling: (0..BODY_BYTES).map(|_| letter()).collect(),
        }
    }
}

impl LargeLoads {
    pub fn want(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Runs for as long as it is awaited.
    pub async fn run(&self, callers: &Callers) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if self.is_wanted.load(Ordering::Relaxed) {
                let loads = (0..LOADS_AT_ONCE).map(|_| self.load(callers));
                futures::future::join_all(loads).await;
            }
        }
    }

    async fn load(&self, callers: &Callers) {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let mut body = String::with_capacity(BODY_BYTES + 1024);
        // The mock provider repeats the last message alone, so the callback is small.
        // Writing to a string cannot fail.
        let _ = write!(
            body,
            r#"{{"params":{{"model":"{FREE}","max_tokens":64,"messages":[{{"role":"user","content":""#
        );
        body.push_str(&self.filling);
        let _ = write!(
            body,
            r#""}},{{"role":"assistant","content":"yes"}},{{"role":"user","content":"{number}"}}]}},"callback_url":"{}"}}"#,
            callers.callback_url
        );
        let organization = traffic::organization(callers, number);
        let admitted = (0..callers.targets.len())
            .find(|place| callers.targets.get(*place).is_some_and(Target::is_admitted));
        traffic::load_body(callers, admitted.unwrap_or_default(), organization, &body).await;
    }
}
