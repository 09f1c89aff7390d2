//! A batch: cargo of one lane that goes to a provider together.
//!
//! ```text
//! Gathered ─▶ Submitting ─▶ Running ─▶ Ended
//! ```
//! `Submitting` is the intent, written before the provider is called.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Gathered,
    Submitting,
    Running,
    Ended,
}

impl State {
    pub const ALL: [Self; 4] = [Self::Gathered, Self::Submitting, Self::Running, Self::Ended];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gathered => "gathered",
            Self::Submitting => "submitting",
            Self::Running => "running",
            Self::Ended => "ended",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// Why a batch was not sent when it was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delay {
    /// As much waits at the provider as the account may have there.
    Full,
    /// The provider takes nothing for now.
    Refused,
    /// It could not be put together.
    Unready,
}

impl Delay {
    pub const ALL: [Self; 3] = [Self::Full, Self::Refused, Self::Unready];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Refused => "refused",
            Self::Unready => "unready",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|delay| delay.as_str() == text)
    }
}

/// How many times a crash may take an item over before it is set aside,
/// so that one poisonous row cannot stop a lane for ever.
pub const MOST_TAKEOVERS: i32 = 5;
