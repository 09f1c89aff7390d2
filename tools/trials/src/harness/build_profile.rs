//! What differs between a debug and a release build of the service and the trials.
//!
//! CI runs the debug build on a slow machine, at the same time as other work.

use std::time::Duration;

/// Whether figures are compared with their bounds: only a release build is as fast as the bounds
/// expect.
pub const JUDGES_FIGURES: bool = !cfg!(debug_assertions);

/// A debug build waits at least this long for what will come.
const MIN_DEBUG_TIMEOUT: Duration = Duration::from_mins(2);

/// How long to wait for what will come. A long limit costs nothing when the wait ends early.
pub const fn extend_timeout(timeout: Duration) -> Duration {
    if cfg!(debug_assertions) && timeout.as_millis() < MIN_DEBUG_TIMEOUT.as_millis() {
        MIN_DEBUG_TIMEOUT
    } else {
        timeout
    }
}

/// For what a busy machine needs in a debug build, and a release build must not have.
pub const fn choose<T: Copy>(debug: T, release: T) -> T {
    if cfg!(debug_assertions) {
        debug
    } else {
        release
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debug_build_waits_longer_and_judges_no_figures() {
        let short = Duration::from_secs(5);
        assert_eq!(extend_timeout(short) > short, choose(true, false));
        let long = Duration::from_hours(1);
        assert_eq!(extend_timeout(long), long);
        assert_eq!(JUDGES_FIGURES, choose(false, true));
    }
}
