//! One process dies at one point: for one provider, when it is passed for the nth time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// In the order of the path. `tools/trials` reads the same file.
pub fn points() -> impl Iterator<Item = &'static str> {
    include_str!("points.txt").lines()
}

/// A request that is under way is left alone for this long: it has been written by then,
/// and most often not answered.
const UNDER_WAY: Duration = Duration::from_millis(2);

static ARMED: OnceLock<(Kill, AtomicU32)> = OnceLock::new();

/// Where, for whom and when to die.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kill {
    pub point: &'static str,
    pub nth: u32,
    /// How the name of the provider begins; empty: whoever it is.
    pub provider: String,
}

impl Kill {
    /// Reads `point:nth` or `point:nth:provider`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let name = parts.next().unwrap_or_default();
        let point = points().find(|point| *point == name);
        let nth = parts.next().and_then(|nth| nth.parse().ok());
        match (point, nth) {
            (Some(point), Some(nth @ 1..)) => Ok(Self {
                point,
                nth,
                provider: parts.next().unwrap_or_default().to_owned(),
            }),
            _ => Err("a point, when, and perhaps for whom: dispatch.sent:1:openai".to_owned()),
        }
    }

    fn is_at(&self, name: &str, provider: &str) -> bool {
        self.point == name && provider.starts_with(&self.provider)
    }
}

/// Holds for the whole life of the process; only the first counts.
pub fn arm(kill: Kill) {
    let nth = AtomicU32::new(kill.nth);
    let _ = ARMED.set((kill, nth));
}

pub(crate) fn point(name: &'static str, provider: &str) {
    debug_assert!(points().any(|it| it == name), "{name} is not in the list");
    let Some((kill, left)) = ARMED.get() else {
        return;
    };
    if kill.is_at(name, provider) && left.fetch_sub(1, Ordering::Relaxed) == 1 {
        let ourselves = rustix::process::getpid();
        let _ = rustix::process::kill_process(ourselves, rustix::process::Signal::KILL);
    }
}

/// The point is in the middle of `what`. An answer that is quicker is not waited for:
/// then the point was not passed.
pub(crate) async fn during<F: Future>(name: &'static str, provider: &str, what: F) -> F::Output {
    let is_here = ARMED
        .get()
        .is_some_and(|(kill, _)| kill.is_at(name, provider));
    if !is_here {
        return what.await;
    }
    let mut what = std::pin::pin!(what);
    tokio::select! {
        biased;
        answer = &mut what => return answer,
        () = tokio::time::sleep(UNDER_WAY) => point(name, provider),
    }
    what.await
}
