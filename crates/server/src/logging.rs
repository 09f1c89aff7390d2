//! Logging to standard error; standard output carries only a command's answer.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::util::TryInitError;

use crate::settings::choice::LogFormat;
use crate::settings::table::SettingValues;

/// Installs the subscriber that writes `tracing` events.
pub fn init(values: &SettingValues) -> Result<(), LoggingFailure> {
    use tracing_subscriber::util::SubscriberInitExt as _;

    // The driver logs the server's notices at info; SVC_LOG=sqlx=info shows them.
    let filter = EnvFilter::try_new(format!("sqlx=warn,{}", values.log))?;
    let lines = fmt().with_env_filter(filter).with_writer(io::stderr);
    match values.log_format {
        LogFormat::Json => {
            lines
                .json()
                .flatten_event(true)
                .with_span_list(false)
                .finish()
                .try_init()?;
        }
        LogFormat::Text => lines.with_ansi(false).finish().try_init()?,
    }
    std::panic::set_hook(Box::new(|panic| {
        // The location only: the message may quote a caller's text.
        let location = panic.location().map(ToString::to_string);
        tracing::error!(location, "a task panicked");
    }));
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum LoggingFailure {
    #[error("SVC_LOG is not a valid log filter")]
    InvalidFilter(#[from] tracing_subscriber::filter::ParseError),
    #[error("logging was set up twice")]
    AlreadySetUp(#[from] TryInitError),
}
