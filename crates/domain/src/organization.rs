//! An organization pays for its projects. Its plan sets its limits.

use std::str::FromStr;

/// What an organization subscribed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Plan {
    Free,
    Starter,
    Pro,
    Enterprise,
}

impl Plan {
    pub const ALL: [Self; 4] = [Self::Free, Self::Starter, Self::Pro, Self::Enterprise];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Starter => "starter",
            Self::Pro => "pro",
            Self::Enterprise => "enterprise",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a plan is free, starter, pro or enterprise")]
pub struct InvalidPlan;

impl FromStr for Plan {
    type Err = InvalidPlan;

    fn from_str(text: &str) -> Result<Self, InvalidPlan> {
        Self::ALL
            .into_iter()
            .find(|plan| plan.as_str() == text)
            .ok_or(InvalidPlan)
    }
}
