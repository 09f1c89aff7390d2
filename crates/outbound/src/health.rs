//! The health of the object store, the malware scanner and the file probe, as last checked by this
//! process.

/// Routes read it before they admit a file, and patrol before it removes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesHealth {
    pub store: DependencyHealth,
    /// The last refresh of the store's credentials; not configured with static keys.
    pub credentials: DependencyHealth,
    pub scanner: DependencyHealth,
    /// The sandboxed child process that parses files; not configured where none are parsed.
    pub probe: DependencyHealth,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DependencyHealth {
    /// Not checked yet.
    Unknown,
    /// It answers and passed every probe.
    Healthy,
    /// It does not answer.
    Unreachable(String),
    /// It answers but failed a probe.
    ProbeFailed(String),
    NotConfigured,
}

impl FilesHealth {
    pub const UNKNOWN: Self = Self {
        store: DependencyHealth::Unknown,
        credentials: DependencyHealth::NotConfigured,
        scanner: DependencyHealth::Unknown,
        probe: DependencyHealth::Unknown,
    };

    pub const NOT_CONFIGURED: Self = Self {
        store: DependencyHealth::NotConfigured,
        credentials: DependencyHealth::NotConfigured,
        scanner: DependencyHealth::NotConfigured,
        probe: DependencyHealth::NotConfigured,
    };
}

impl DependencyHealth {
    pub const fn is_healthy(&self) -> bool {
        matches!(self, Self::Healthy)
    }
}
