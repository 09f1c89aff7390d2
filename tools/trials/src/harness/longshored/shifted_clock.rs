//! The variables that shift the clock of one process, with libfaketime.

use std::path::Path;

use crate::harness::{FailureContext as _, Result};

/// Where Debian installs the library that shifts the clock of a process.
const FAKETIME_LIBRARIES: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
];

/// For a shift such as `+600s`.
pub fn shifted_clock_variables(shift: &str) -> Result<Vec<(String, String)>> {
    let mut libraries = FAKETIME_LIBRARIES.iter();
    let library = libraries.find(|path| Path::new(path).exists());
    let library = library.context("libfaketime is missing: run ./dev deps")?;
    // Shifts only the time of day: the monotonic clock of a real host does not jump.
    let variables = [
        ("LD_PRELOAD", *library),
        ("FAKETIME", shift),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(variables.to_vec())
}
