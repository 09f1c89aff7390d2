//! Progress messages on standard error; standard output is only for the verdict.

use std::io::Write as _;

pub fn report_progress(text: impl AsRef<str>) {
    // If standard error is closed, the trial continues.
    let _ = writeln!(std::io::stderr(), "trials: {}", text.as_ref());
}
