//! Which runbook is about a finding.

use crate::doctor::FindingState;

/// The page for a dependency and its check, if there is one.
pub(super) fn find(dependency: &str, check: &str, state: FindingState) -> Option<&'static str> {
    // "shard north" and "provider openai-main" have names.
    let kind = dependency.split_once(' ').map_or(dependency, |(it, _)| it);
    let page = match (dependency, kind, check) {
        ("object store", ..) => "docs/runbooks/object-store-away.md",
        ("scanner", ..) => "docs/runbooks/scanner-down.md",
        ("licence", ..) => "docs/runbooks/licence-expires.md",
        ("master key", ..) | (_, _, "encryption at rest") => "docs/runbooks/master-key-away.md",
        ("redis", _, "reachable" | "script") => "docs/runbooks/redis-away.md",
        ("control", _, "reachable" | "role") => "docs/runbooks/control-away.md",
        (_, "shard", "reachable" | "role") => "docs/runbooks/shard-away.md",
        (_, "provider", "reachable") => "docs/runbooks/provider-outage.md",
        (_, "provider", "paused") => "docs/runbooks/paused-account.md",
        (_, _, "audit file") => "docs/runbooks/audit-file-lag.md",
        (
            _,
            _,
            "fsync" | "full_page_writes" | "synchronous_commit" | "standbys" | "data_checksums",
        ) => "docs/runbooks/not-durable.md",
        (_, _, "clock") => "docs/runbooks/clock-offset.md",
        (_, _, "file removal") => "docs/runbooks/object-removal-held.md",
        (_, _, "recovery") => "docs/runbooks/recovery-pause.md",
        (_, _, "ledger") if state == FindingState::Wrong => "docs/runbooks/ledger-fault.md",
        (_, _, "ledger") => "docs/runbooks/ledger-unchecked.md",
        (_, _, "partitions") => "docs/runbooks/partitions-low.md",
        (_, _, "schema" | "online steps") => "docs/runbooks/upgrade.md",
        _ => return None,
    };
    Some(page)
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::doctor::FindingState;

    #[test]
    fn a_named_dependency_has_the_page_of_its_kind() {
        let page =
            |dependency, check| find(dependency, check, FindingState::Wrong).unwrap_or("none");
        assert_eq!(
            page("shard north", "reachable"),
            "docs/runbooks/shard-away.md"
        );
        assert_eq!(
            page("control", "reachable"),
            "docs/runbooks/control-away.md"
        );
        assert_eq!(
            page("provider p", "paused"),
            "docs/runbooks/paused-account.md"
        );
        assert_eq!(page("redis", "configured"), "none");
        assert_eq!(page("this machine", "open files"), "none");
    }
}
