//! Kills the process at one failpoint, for one provider, when it is passed for the nth time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The names of all failpoints, in the order of a cargo's path. `tools/trials` reads the same file.
pub fn names() -> impl Iterator<Item = &'static str> {
    include_str!("points.txt").lines()
}

/// How long after the start of a request the process is killed, if no answer came before: the
/// request has been written by then.
const KILL_DELAY: Duration = Duration::from_millis(2);

static ARMED: OnceLock<(Failpoint, AtomicU32)> = OnceLock::new();

/// Where, for which provider and at which pass the process is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failpoint {
    pub name: &'static str,
    pub nth: u32,
    /// A prefix of the provider's name. Empty: any provider.
    pub provider: String,
}

impl Failpoint {
    /// Reads `point:nth` or `point:nth:provider`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let name = parts.next().unwrap_or_default();
        let point = names().find(|point| *point == name);
        let nth = parts.next().and_then(|nth| nth.parse().ok());
        match (point, nth) {
            (Some(point), Some(nth @ 1..)) => Ok(Self {
                name: point,
                nth,
                provider: parts.next().unwrap_or_default().to_owned(),
            }),
            _ => Err(
                "expected point:nth or point:nth:provider, such as dispatch.sent:1:openai"
                    .to_owned(),
            ),
        }
    }

    fn is_at(&self, name: &str, provider: &str) -> bool {
        self.name == name && provider.starts_with(&self.provider)
    }
}

/// Arms the failpoint for the life of the process. Only the first call counts.
pub fn arm(kill: Failpoint) {
    let nth = AtomicU32::new(kill.nth);
    let _ = ARMED.set((kill, nth));
}

pub(crate) fn point(name: &'static str, provider: &str) {
    debug_assert!(names().any(|it| it == name), "{name} is not in the list");
    let Some((kill, left)) = ARMED.get() else {
        return;
    };
    if kill.is_at(name, provider) && left.fetch_sub(1, Ordering::Relaxed) == 1 {
        let ourselves = rustix::process::getpid();
        let _ = rustix::process::kill_process(ourselves, rustix::process::Signal::KILL);
    }
}

/// A failpoint in the middle of `what`. When `what` ends before the delay, its result is lost with
/// the process.
pub(crate) async fn during<F: Future>(name: &'static str, provider: &str, what: F) -> F::Output {
    let is_here = ARMED
        .get()
        .is_some_and(|(kill, _)| kill.is_at(name, provider));
    if !is_here {
        return what.await;
    }
    let mut what = std::pin::pin!(what);
    let early = tokio::time::timeout(KILL_DELAY, &mut what).await;
    point(name, provider);
    match early {
        Ok(result) => result,
        Err(_) => what.await,
    }
}
