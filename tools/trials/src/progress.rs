//! What a watcher reads while a trial runs; standard output is kept for the verdict.

use std::io::Write as _;

pub fn say(text: impl AsRef<str>) {
    // Nobody may be listening, and the trial goes on all the same.
    let _ = writeln!(std::io::stderr(), "trials: {}", text.as_ref());
}
