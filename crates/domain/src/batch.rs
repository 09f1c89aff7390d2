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

/// How carefully results are processed, after so many workers died over them.
///
/// Forward one by one, then backward one by one: what is still open then lies between the first
/// and the last result that kills a worker, and mostly that is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    Usual,
    InSmallGroups,
    OneByOne,
    OneByOneFromTheEnd,
    /// What is open fails without being looked at.
    SetAside,
}

impl Care {
    pub const fn after(takeovers: i32) -> Self {
        match takeovers.saturating_sub(MOST_TAKEOVERS) {
            ..0 => Self::Usual,
            0 => Self::InSmallGroups,
            1 => Self::OneByOne,
            2 => Self::OneByOneFromTheEnd,
            3.. => Self::SetAside,
        }
    }

    /// How many results are stored together, of so many usually.
    pub const fn group(self, usual: usize) -> usize {
        match self {
            Self::Usual => usual,
            Self::InSmallGroups => 16,
            Self::OneByOne | Self::OneByOneFromTheEnd | Self::SetAside => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn care_grows_with_every_takeover_and_ends() {
        let care = |more| Care::after(MOST_TAKEOVERS + more);
        assert_eq!(care(-1), Care::Usual);
        let groups: Vec<_> = (-1..4).map(|more| care(more).group(500)).collect();
        assert_eq!(groups, [500, 16, 1, 1, 1]);
        assert_eq!(care(3), Care::SetAside);
        assert_eq!(care(30), Care::SetAside);
    }
}
