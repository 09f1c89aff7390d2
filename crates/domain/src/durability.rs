//! Whether PostgreSQL keeps what it has acknowledged: after a crash of its machine, and after the
//! loss of its server.

/// What the operator says about the loss of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityPolicy {
    /// Commits wait for a standby.
    Replicated,
    /// There is no standby, or it may lack the last commits. The operator accepts that.
    OneServer,
    /// A service replicates below PostgreSQL, which does not show it.
    Managed,
}

/// What must hold for one installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurabilityRequirement {
    /// None: the operator has not decided.
    pub policy: Option<DurabilityPolicy>,
    pub is_production: bool,
}

/// The settings and standbys of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurabilityFacts {
    pub fsync: bool,
    pub full_page_writes: bool,
    pub data_checksums: bool,
    /// As our own session has it.
    pub synchronous_commit: String,
    pub synchronous_standby_names: String,
    /// Standbys that stream and that commits wait for. None: this user may not see them.
    pub synchronous_standbys: Option<u32>,
}

/// One thing that can lose what was acknowledged, or stop commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityFault {
    FsyncOff,
    FullPageWritesOff,
    SynchronousCommitOff,
    /// Commits do not wait until a standby has written them to disk.
    SynchronousCommitWeak,
    /// The operator says that commits are replicated, and they wait for no standby.
    NotReplicated,
    /// Commits wait for no standby, and the operator has not accepted that.
    Undecided,
    /// Commits wait for a standby, and none streams: they hang.
    NoSynchronousStandby,
    StandbysHidden,
    ChecksumsOff,
}

/// How bad a fault is for this installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DurabilitySeverity {
    Warning,
    Wrong,
    /// In production no process starts.
    Refused,
}

/// A fault and how bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurabilityFinding {
    pub fault: DurabilityFault,
    pub severity: DurabilitySeverity,
}

/// Every fault, the settings of the server itself first.
pub fn judge_durability(
    facts: &DurabilityFacts,
    required: DurabilityRequirement,
) -> Vec<DurabilityFinding> {
    let mut faults = Vec::new();
    if !facts.fsync {
        faults.push(DurabilityFault::FsyncOff);
    }
    if !facts.full_page_writes {
        faults.push(DurabilityFault::FullPageWritesOff);
    }
    faults.extend(judge_commit(facts, required.policy));
    faults.extend(judge_standbys(facts, required.policy));
    // The storage of a managed service has its own.
    if !facts.data_checksums && required.policy != Some(DurabilityPolicy::Managed) {
        faults.push(DurabilityFault::ChecksumsOff);
    }
    let findings = faults.into_iter().map(|fault| DurabilityFinding {
        fault,
        severity: severity(fault, required),
    });
    findings.collect()
}

/// `local` and `remote_write` promise less than `on` only if there is a standby to wait for.
fn judge_commit(
    facts: &DurabilityFacts,
    policy: Option<DurabilityPolicy>,
) -> Option<DurabilityFault> {
    let waits =
        !facts.synchronous_standby_names.is_empty() || policy == Some(DurabilityPolicy::Replicated);
    match facts.synchronous_commit.as_str() {
        "on" | "remote_apply" => None,
        "off" => Some(DurabilityFault::SynchronousCommitOff),
        _ => waits.then_some(DurabilityFault::SynchronousCommitWeak),
    }
}

fn judge_standbys(
    facts: &DurabilityFacts,
    policy: Option<DurabilityPolicy>,
) -> Option<DurabilityFault> {
    if facts.synchronous_standby_names.is_empty() {
        return match policy {
            Some(DurabilityPolicy::Replicated) => Some(DurabilityFault::NotReplicated),
            Some(DurabilityPolicy::OneServer | DurabilityPolicy::Managed) => None,
            None => Some(DurabilityFault::Undecided),
        };
    }
    match facts.synchronous_standbys {
        None => Some(DurabilityFault::StandbysHidden),
        Some(0) => Some(DurabilityFault::NoSynchronousStandby),
        Some(_) => None,
    }
}

fn severity(fault: DurabilityFault, required: DurabilityRequirement) -> DurabilitySeverity {
    let severity = match fault {
        // A managed service may keep the log outside the server.
        DurabilityFault::FsyncOff | DurabilityFault::FullPageWritesOff
            if required.policy == Some(DurabilityPolicy::Managed) =>
        {
            DurabilitySeverity::Warning
        }
        DurabilityFault::FsyncOff
        | DurabilityFault::FullPageWritesOff
        | DurabilityFault::SynchronousCommitOff
        | DurabilityFault::NotReplicated => DurabilitySeverity::Refused,
        // Installations without a policy worked before there was one.
        DurabilityFault::SynchronousCommitWeak
            if required.policy == Some(DurabilityPolicy::Replicated) =>
        {
            DurabilitySeverity::Refused
        }
        DurabilityFault::SynchronousCommitWeak => DurabilitySeverity::Wrong,
        DurabilityFault::Undecided if required.is_production => DurabilitySeverity::Wrong,
        DurabilityFault::Undecided
        | DurabilityFault::NoSynchronousStandby
        | DurabilityFault::StandbysHidden
        | DurabilityFault::ChecksumsOff => DurabilitySeverity::Warning,
    };
    // Data of a development server need not survive.
    if required.is_production {
        severity
    } else {
        severity.min(DurabilitySeverity::Wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicated() -> DurabilityFacts {
        DurabilityFacts {
            fsync: true,
            full_page_writes: true,
            data_checksums: true,
            synchronous_commit: "on".to_owned(),
            synchronous_standby_names: "ANY 1 (a, b)".to_owned(),
            synchronous_standbys: Some(1),
        }
    }

    fn alone() -> DurabilityFacts {
        DurabilityFacts {
            synchronous_standby_names: String::new(),
            synchronous_standbys: Some(0),
            ..replicated()
        }
    }

    const fn production(policy: Option<DurabilityPolicy>) -> DurabilityRequirement {
        DurabilityRequirement {
            policy,
            is_production: true,
        }
    }

    fn judge(
        facts: &DurabilityFacts,
        required: DurabilityRequirement,
    ) -> Vec<(DurabilityFault, DurabilitySeverity)> {
        let findings = judge_durability(facts, required).into_iter();
        findings.map(|it| (it.fault, it.severity)).collect()
    }

    const POLICIES: [Option<DurabilityPolicy>; 4] = [
        None,
        Some(DurabilityPolicy::Replicated),
        Some(DurabilityPolicy::OneServer),
        Some(DurabilityPolicy::Managed),
    ];

    #[test]
    fn a_replicated_server_has_no_fault_under_any_policy() {
        for policy in POLICIES {
            assert_eq!(judge(&replicated(), production(policy)), []);
        }
    }

    #[test]
    fn a_single_server_is_a_decision_of_the_operator() {
        use DurabilityFault::{NotReplicated, Undecided};
        use DurabilitySeverity::{Refused, Wrong};
        let of = |policy| judge(&alone(), production(policy));
        assert_eq!(of(None), [(Undecided, Wrong)]);
        assert_eq!(
            of(Some(DurabilityPolicy::Replicated)),
            [(NotReplicated, Refused)]
        );
        assert_eq!(of(Some(DurabilityPolicy::OneServer)), []);
        assert_eq!(of(Some(DurabilityPolicy::Managed)), []);
    }

    #[test]
    fn a_crash_that_loses_commits_is_refused_without_a_policy_too() {
        let facts = DurabilityFacts {
            fsync: false,
            full_page_writes: false,
            synchronous_commit: "off".to_owned(),
            ..alone()
        };
        for policy in [None, Some(DurabilityPolicy::OneServer)] {
            let refused = judge(&facts, production(policy));
            let refused = refused
                .iter()
                .filter(|(_, how)| *how == DurabilitySeverity::Refused);
            assert_eq!(refused.count(), 3, "{policy:?}");
        }
    }

    #[test]
    fn a_managed_service_may_keep_its_log_elsewhere() {
        let facts = DurabilityFacts {
            fsync: false,
            full_page_writes: false,
            data_checksums: false,
            ..alone()
        };
        let found = judge(&facts, production(Some(DurabilityPolicy::Managed)));
        assert_eq!(
            found,
            [
                (DurabilityFault::FsyncOff, DurabilitySeverity::Warning),
                (
                    DurabilityFault::FullPageWritesOff,
                    DurabilitySeverity::Warning
                ),
            ]
        );
        let lossy = DurabilityFacts {
            synchronous_commit: "off".to_owned(),
            ..alone()
        };
        assert_eq!(
            judge(&lossy, production(Some(DurabilityPolicy::Managed))),
            [(
                DurabilityFault::SynchronousCommitOff,
                DurabilitySeverity::Refused
            )]
        );
    }

    #[test]
    fn a_commit_that_does_not_wait_for_the_standby_is_weak() {
        for setting in ["local", "remote_write"] {
            let weak = |facts: DurabilityFacts| DurabilityFacts {
                synchronous_commit: setting.to_owned(),
                ..facts
            };
            let one_server = production(Some(DurabilityPolicy::OneServer));
            assert_eq!(judge(&weak(alone()), one_server), []);
            assert_eq!(
                judge(&weak(replicated()), production(None)),
                [(
                    DurabilityFault::SynchronousCommitWeak,
                    DurabilitySeverity::Wrong
                )]
            );
            let replicated = judge(
                &weak(replicated()),
                production(Some(DurabilityPolicy::Replicated)),
            );
            assert_eq!(
                replicated,
                [(
                    DurabilityFault::SynchronousCommitWeak,
                    DurabilitySeverity::Refused
                )]
            );
        }
    }

    #[test]
    fn standbys_that_are_away_or_hidden_and_missing_checksums_are_warnings() {
        let of = |standbys| {
            let facts = DurabilityFacts {
                synchronous_standbys: standbys,
                data_checksums: false,
                ..replicated()
            };
            judge(&facts, production(Some(DurabilityPolicy::Replicated)))
        };
        let checksums = (DurabilityFault::ChecksumsOff, DurabilitySeverity::Warning);
        let away = (
            DurabilityFault::NoSynchronousStandby,
            DurabilitySeverity::Warning,
        );
        let hidden = (DurabilityFault::StandbysHidden, DurabilitySeverity::Warning);
        assert_eq!(of(Some(0)), [away, checksums]);
        assert_eq!(of(None), [hidden, checksums]);
        assert_eq!(of(Some(1)), [checksums]);
    }

    #[test]
    fn development_is_never_refused() {
        let facts = DurabilityFacts {
            fsync: false,
            synchronous_commit: "off".to_owned(),
            ..alone()
        };
        for policy in POLICIES {
            let required = DurabilityRequirement {
                policy,
                is_production: false,
            };
            let found = judge(&facts, required);
            assert!(
                found
                    .iter()
                    .all(|(_, how)| *how < DurabilitySeverity::Refused)
            );
        }
        let required = DurabilityRequirement {
            policy: None,
            is_production: false,
        };
        assert_eq!(
            judge(&alone(), required),
            [(DurabilityFault::Undecided, DurabilitySeverity::Warning)]
        );
    }
}
