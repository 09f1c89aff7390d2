//! Logs: one line per fact on standard error, so that standard output is a command's answer.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::util::TryInitError;

use crate::settings::choice::LogFormat;
use crate::settings::table::Values;

/// From here on `tracing` events are written.
pub fn init(values: &Values) -> Result<(), TelemetryFailure> {
    use tracing_subscriber::util::SubscriberInitExt as _;

    // The driver repeats the server's notices; who wants them asks for `sqlx=info`.
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
        // Where, and not what: a message may quote a caller's text.
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "a part of the program panicked");
    }));
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum TelemetryFailure {
    #[error("SVC_LOG is not a log filter")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    #[error("logging was set up twice")]
    Twice(#[from] TryInitError),
}
