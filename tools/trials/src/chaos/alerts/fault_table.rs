//! Which fault makes which alerts fire.

/// A fault, and the alerts that it must make fire.
#[derive(Debug, Clone, Copy)]
pub struct AlertFault {
    pub name: &'static str,
    pub alerts: &'static [&'static str],
}

impl AlertFault {
    const fn new(name: &'static str, alerts: &'static [&'static str]) -> Self {
        Self { name, alerts }
    }

    /// An alert on a service level has a rule for each window, named like `LongshoreLoadsFail 1h`.
    pub fn covers(&self, rule: &str) -> bool {
        self.alerts.contains(&alert_of(rule))
    }
}

pub fn alert_of(rule: &str) -> &str {
    rule.split(' ').next().unwrap_or_default()
}

pub const CREDENTIAL_REFUSED: AlertFault = AlertFault::new(
    "a provider refuses the credential of an account",
    &["LongshoreAccountPaused"],
);
pub const PROVIDER_FAILS: AlertFault = AlertFault::new(
    "a provider answers every call with 5xx",
    &["LongshoreProviderOutage"],
);
pub const WORKERS_KILLED: AlertFault = AlertFault::new(
    "all workers are killed",
    &[
        "LongshoreNoWorkers",
        "LongshoreShardWithoutWorkers",
        "LongshoreProcessDown",
    ],
);
pub const LEDGER_BROKEN: AlertFault = AlertFault::new(
    "a balance is changed by SQL without a posting",
    &["LongshoreLedgerFault"],
);
pub const LEDGER_READ_LONG_AGO: AlertFault = AlertFault::new(
    "all rows of the ledger were last read 27 hours ago",
    &["LongshoreLedgerReadOverdue"],
);
pub const REDIS_KILLED: AlertFault = AlertFault::new("Redis is killed", &["LongshoreRedisAway"]);
pub const SHARD_STOPPED: AlertFault = AlertFault::new(
    "the database server of a shard stops",
    &["LongshoreShardAway", "LongshoreLoadsFail"],
);
pub const CONTROL_STOPPED: AlertFault =
    AlertFault::new("the control database stops", &["LongshoreControlAway"]);
pub const STANDBY_PROMOTED: AlertFault = AlertFault::new(
    "the database server of a shard goes on with another timeline",
    &["LongshoreFailover"],
);
pub const ACCOUNTS_LOCKED: AlertFault = AlertFault::new(
    "another session locks the accounts of a shard again and again",
    &["LongshoreLoadsSlow"],
);
pub const TABLE_MISSING: AlertFault =
    AlertFault::new("a table is missing", &["LongshoreServerErrors"]);
pub const RECEIVERS_HANG: AlertFault =
    AlertFault::new("receivers hang", &["LongshoreCallbacksFail"]);
pub const DELIVERIES_LOCKED: AlertFault = AlertFault::new(
    "another session locks the deliveries of a shard",
    &["LongshoreLaneStuck"],
);
pub const PARTITIONS_GONE: AlertFault = AlertFault::new(
    "partitions are dropped and cannot be made",
    &["LongshorePartitionsLow", "LongshorePartitionsMissing"],
);
pub const CLOCK_SHIFTED: AlertFault = AlertFault::new(
    "the clock of a worker's host is wrong",
    &["LongshoreClockOffset"],
);
pub const LICENCE_DAMAGED: AlertFault =
    AlertFault::new("the licence file is damaged", &["LongshoreLicenceExpires"]);
pub const AUDIT_FILE_BLOCKED: AlertFault = AlertFault::new(
    "the audit file cannot be written",
    &["LongshoreAuditFileLag"],
);
pub const STORE_KILLED: AlertFault =
    AlertFault::new("the object store is killed", &["LongshoreObjectStoreAway"]);
pub const OBJECT_LOST: AlertFault = AlertFault::new(
    "an object is deleted in the bucket",
    &["LongshoreFilesLost"],
);
pub const ROWS_WENT_BACK: AlertFault = AlertFault::new(
    "the rows of a shard are older than the bucket",
    &["LongshoreObjectRemovalHeld", "LongshoreRecoveryPause"],
);
/// They take longest, and happen at the same time.
pub const SLOW_FAULTS: AlertFault = AlertFault::new(
    "an account is paused, the audit of the ledger hangs, tables of sweep and resend are \
     missing, the program file is deleted, the scanner is killed, a cancelled job never ends, a disk is full, a \
     certificate is about to expire",
    &[
        "LongshoreWorkWaits",
        "LongshoreLedgerUnchecked",
        "LongshoreSweepFails",
        "LongshoreStageFails",
        "LongshoreFileProbeDown",
        "LongshoreScannerDown",
        "LongshoreFilesWait",
        "LongshoreSubmittedTwice",
        "LongshoreDiskLow",
        "LongshoreDiskFull",
        "LongshoreCertificateExpires",
    ],
);
pub const KEY_SERVICE_AWAY: AlertFault = AlertFault::new(
    "the key management service is away",
    &["LongshoreMasterKeyAway"],
);
pub const DAY_LOST: AlertFault =
    AlertFault::new("workers continue a day later", &["LongshoreCallbacksLate"]);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const RULES: [&str; 7] = [
        include_str!("../../../../../monitoring/rules/databases.yml"),
        include_str!("../../../../../monitoring/rules/files.yml"),
        include_str!("../../../../../monitoring/rules/hosts.yml"),
        include_str!("../../../../../monitoring/rules/money-and-secrets.yml"),
        include_str!("../../../../../monitoring/rules/providers.yml"),
        include_str!("../../../../../monitoring/rules/service-levels.yml"),
        include_str!("../../../../../monitoring/rules/workers.yml"),
    ];
    const FAULTS: [AlertFault; 23] = [
        CREDENTIAL_REFUSED,
        PROVIDER_FAILS,
        WORKERS_KILLED,
        LEDGER_BROKEN,
        LEDGER_READ_LONG_AGO,
        REDIS_KILLED,
        SHARD_STOPPED,
        CONTROL_STOPPED,
        STANDBY_PROMOTED,
        ACCOUNTS_LOCKED,
        TABLE_MISSING,
        RECEIVERS_HANG,
        DELIVERIES_LOCKED,
        PARTITIONS_GONE,
        CLOCK_SHIFTED,
        LICENCE_DAMAGED,
        AUDIT_FILE_BLOCKED,
        STORE_KILLED,
        OBJECT_LOST,
        ROWS_WENT_BACK,
        SLOW_FAULTS,
        KEY_SERVICE_AWAY,
        DAY_LOST,
    ];

    #[test]
    fn every_alert_has_a_fault() {
        let lines = RULES.iter().flat_map(|rules| rules.lines());
        let alerts = lines.filter_map(|line| line.trim_start().strip_prefix("- alert: "));
        let alerts: BTreeSet<&str> = alerts.map(|name| name.trim_matches('"')).collect();
        let faults = FAULTS.iter().flat_map(|fault| fault.alerts.iter().copied());
        assert_eq!(faults.collect::<BTreeSet<_>>(), alerts);
    }
}
