//! How the object store and the scanner are, as the process's watcher saw them last.

/// What the routes ask before they admit a file, and patrol before it removes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesHealth {
    pub store: Condition,
    pub scanner: Condition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Not looked at yet.
    Unknown,
    /// It answers, and every probe of it has passed.
    Well,
    /// It does not answer.
    Away(String),
    /// It answers, but not as it must: a probe failed.
    Failed(String),
    /// None is configured.
    Absent,
}

impl FilesHealth {
    pub const UNKNOWN: Self = Self {
        store: Condition::Unknown,
        scanner: Condition::Unknown,
    };

    pub const ABSENT: Self = Self {
        store: Condition::Absent,
        scanner: Condition::Absent,
    };
}

impl Condition {
    pub const fn is_well(&self) -> bool {
        matches!(self, Self::Well)
    }
}
