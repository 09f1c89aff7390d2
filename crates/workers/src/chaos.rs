//! Named points at which a trial has this process kill itself. Compiled in by the feature `chaos`
//! alone; otherwise a point is nothing.

/// In the order of the path.
pub const POINTS: &[&str] = &[
    "gather.began",
    "gather.picked",
    "gather.written",
    "gather.committed",
    "dispatch.claimed",
    "dispatch.read",
    "dispatch.packed",
    "dispatch.journalled",
    "dispatch.turn",
    "dispatch.uploading",
    "dispatch.uploaded",
    "dispatch.upload_noted",
    "dispatch.sending",
    "dispatch.sent",
    "dispatch.answered",
    "dispatch.running",
    "dispatch.looking",
    "dispatch.looked",
    "dispatch.not_found",
    "dispatch.rebuilt",
    "collect.claimed",
    "collect.looked",
    "collect.postponed",
    "collect.downloading",
    "collect.downloaded",
    "collect.checked",
    "collect.storing",
    "collect.stored_some",
    "collect.stored",
    "collect.ending",
    "collect.ended",
    "sweep.cancelling",
];

#[cfg(feature = "chaos")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    static ARMED: OnceLock<(String, AtomicU32)> = OnceLock::new();

    /// Dies when the point is passed for the `nth` time.
    pub fn arm(point: String, nth: u32) {
        let _ = ARMED.set((point, AtomicU32::new(nth.max(1))));
    }

    pub(crate) fn point(name: &'static str) {
        let Some((armed, left)) = ARMED.get() else {
            return;
        };
        if armed == name && left.fetch_sub(1, Ordering::Relaxed) == 1 {
            let ourselves = rustix::process::getpid();
            let _ = rustix::process::kill_process(ourselves, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(feature = "chaos")]
pub use armed::arm;
#[cfg(feature = "chaos")]
pub(crate) use armed::point;

#[cfg(not(feature = "chaos"))]
pub(crate) const fn point(_: &'static str) {}
