//! The exit codes of the command line. Programs rely on them.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    Done,
    Failed,
    /// The command line itself is wrong. clap uses the same number.
    Usage,
    /// The command is done, but some items failed.
    SomeItemsFailed,
    /// Not signed in, or the key may not do this.
    NotAllowed,
    NotFound,
    /// A rate limit, a quota or the credit.
    LimitReached,
    /// The service could not be reached, or failed, after all retries.
    ServiceAway,
    /// The time is over, and the work goes on.
    StillUnderWay,
    Interrupted,
}

impl ExitStatus {
    pub const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::SomeItemsFailed => 3,
            Self::NotAllowed => 4,
            Self::NotFound => 5,
            Self::LimitReached => 6,
            Self::ServiceAway => 7,
            Self::StillUnderWay => 8,
            Self::Interrupted => 130,
        }
    }

    /// Of an answer with this HTTP status.
    pub const fn of_http_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::NotAllowed,
            404 => Self::NotFound,
            402 | 429 => Self::LimitReached,
            500.. => Self::ServiceAway,
            _ => Self::Failed,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.number())
    }
}
