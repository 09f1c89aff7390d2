//! The environment variables of the scenarios. No other file of these tests reads the environment.
#![expect(
    clippy::disallowed_methods,
    reason = "the only reader of the environment in these tests"
)]

/// A variable of the scenarios, or a text that names the command which sets it.
pub(crate) fn scenario_variable(name: &str) -> Result<String, String> {
    std::env::var(format!("SCENARIO_{name}"))
        .map_err(|_| format!("SCENARIO_{name} is not set: ./dev clients cli"))
}
