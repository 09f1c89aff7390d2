//! A batch: cargo of one lane that is sent to a provider together.
//!
//! ```text
//! Gathered ─▶ Submitting ─▶ Running ─▶ Ended
//! ```
//! `Submitting` is the intent, written before the provider is called.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchState {
    Gathered,
    Submitting,
    Running,
    Ended,
}

impl BatchState {
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

/// Why the last attempt to submit a batch did not send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubmissionDelay {
    /// The account has as much queued at the provider as it may.
    AccountFull,
    /// The provider accepts no batches for now.
    ProviderRefused,
    /// The batch could not be assembled.
    NotAssembled,
}

impl SubmissionDelay {
    pub const ALL: [Self; 3] = [Self::AccountFull, Self::ProviderRefused, Self::NotAssembled];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AccountFull => "full",
            Self::ProviderRefused => "refused",
            Self::NotAssembled => "unready",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|delay| delay.as_str() == text)
    }
}

/// How often another worker may take an item over after a crash. Then the item counts as a poison
/// pill, so that it cannot stop a lane for ever.
pub const MAX_TAKEOVERS: i32 = 5;

/// How the results of a batch are stored, after a number of workers crashed while storing them.
///
/// They are stored one by one forward, then one by one backward. The cargo that is still open
/// then lies between the first and the last result that crashes a worker; mostly it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultIngestionMode {
    Normal,
    SmallGroups,
    OneByOne,
    OneByOneBackward,
    /// Open cargo fails, and its results are not read.
    FailRemaining,
}

impl ResultIngestionMode {
    pub const fn after_takeovers(takeovers: i32) -> Self {
        match takeovers.saturating_sub(MAX_TAKEOVERS) {
            ..0 => Self::Normal,
            0 => Self::SmallGroups,
            1 => Self::OneByOne,
            2 => Self::OneByOneBackward,
            3.. => Self::FailRemaining,
        }
    }

    /// How many results are stored together; `usual` in the normal mode.
    pub const fn group_size(self, usual: usize) -> usize {
        match self {
            Self::Normal => usual,
            Self::SmallGroups => 16,
            Self::OneByOne | Self::OneByOneBackward | Self::FailRemaining => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_shrink_with_every_takeover_until_the_rest_fails() {
        let care = |more| ResultIngestionMode::after_takeovers(MAX_TAKEOVERS + more);
        assert_eq!(care(-1), ResultIngestionMode::Normal);
        let groups: Vec<_> = (-1..4).map(|more| care(more).group_size(500)).collect();
        assert_eq!(groups, [500, 16, 1, 1, 1]);
        assert_eq!(care(3), ResultIngestionMode::FailRemaining);
        assert_eq!(care(30), ResultIngestionMode::FailRemaining);
    }
}
