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

/// How many times a crash may take an item over before it is set aside,
/// so that one poisonous row cannot stop a lane for ever.
pub const MOST_TAKEOVERS: i32 = 5;
