//! The environment variables of the tests. No other file of the tests reads the environment.
#![expect(
    clippy::disallowed_methods,
    reason = "the only reader of the environment in tests"
)]

/// A required variable, such as the address of a server of the test run.
#[expect(clippy::panic, reason = "without its server a test cannot run")]
pub fn required_variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: ./dev test"))
}

/// A number that changes a test, such as the seed of its random history.
pub fn optional_number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Where a test writes what it has seen, if a person asks for it.
pub fn optional_path(name: &str) -> Option<std::path::PathBuf> {
    std::env::var(name).ok().map(Into::into)
}
