//! Whether each database keeps what it has acknowledged: refuses to start if not, and says why.

use domain::durability::{
    DurabilityFacts, DurabilityFault, DurabilityRequirement, DurabilitySeverity, judge_durability,
};
use domain::error_chain;
use store::{Error, Pool};
use tokio::task::JoinSet;

use crate::databases::Stores;
use crate::settings::choice::Environment;
use crate::settings::table::SettingValues;

#[derive(Debug, thiserror::Error)]
#[error("{database} can lose what was accepted: {found}; {fix}")]
pub struct DurabilityFailure {
    database: String,
    found: String,
    fix: String,
}

/// A fault in words, with the name of its check.
#[derive(Debug)]
pub struct DurabilityText {
    pub check: &'static str,
    pub found: String,
    pub fix: String,
}

pub const FSYNC: &str = "fsync";
pub const FULL_PAGE_WRITES: &str = "full_page_writes";
pub const SYNCHRONOUS_COMMIT: &str = "synchronous_commit";
pub const SYNCHRONOUS_STANDBYS: &str = "standbys";
pub const DATA_CHECKSUMS: &str = "data_checksums";

pub fn requirement(values: &SettingValues) -> DurabilityRequirement {
    DurabilityRequirement {
        policy: values.durability,
        is_production: values.environment == Environment::Production,
    }
}

/// Checks every database that answers. In production a fault that loses what was accepted stops the
/// start; an unreachable database does not.
pub async fn check_at_start(
    stores: &Stores,
    values: &SettingValues,
    needs_control: bool,
) -> Result<(), DurabilityFailure> {
    let required = requirement(values);
    if !required.is_production {
        return Ok(());
    }
    let mut checks = JoinSet::new();
    let mut read = |name: String, pool: Pool| {
        checks.spawn(async move { (name, store::durability::read_facts(&pool).await) });
    };
    if needs_control {
        read("control".to_owned(), stores.control.pool.clone());
    }
    for shard in &stores.shards {
        read(format!("shard {}", shard.name), shard.pool.clone());
    }
    for (database, facts) in checks.join_all().await {
        judge(database, facts, required)?;
    }
    Ok(())
}

fn judge(
    database: String,
    facts: Result<DurabilityFacts, Error>,
    required: DurabilityRequirement,
) -> Result<(), DurabilityFailure> {
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => {
            tracing::warn!(
                database,
                error = error_chain::chain(&error),
                "durability was not checked at start"
            );
            return Ok(());
        }
    };
    for finding in judge_durability(&facts, required) {
        let text = describe(finding.fault, &facts);
        match finding.severity {
            DurabilitySeverity::Refused => {
                let (found, fix) = (text.found, text.fix);
                return Err(DurabilityFailure {
                    database,
                    found: format!("{}: {found}", text.check),
                    fix,
                });
            }
            DurabilitySeverity::Wrong => tracing::warn!(
                database,
                check = text.check,
                found = text.found,
                fix = text.fix,
                "accepted cargo can be lost"
            ),
            // Doctor reports it.
            DurabilitySeverity::Warning => {}
        }
    }
    Ok(())
}

/// What is wrong, and what to do about it.
pub fn describe(fault: DurabilityFault, facts: &DurabilityFacts) -> DurabilityText {
    let names = &facts.synchronous_standby_names;
    let commit = &facts.synchronous_commit;
    let (check, found, fix) = match fault {
        DurabilityFault::FsyncOff => {
            let found = "off: a machine crash loses accepted cargo".to_owned();
            (FSYNC, found, switch_on(FSYNC))
        }
        DurabilityFault::FullPageWritesOff => {
            let found = "off: a machine crash can corrupt pages".to_owned();
            (FULL_PAGE_WRITES, found, switch_on(FULL_PAGE_WRITES))
        }
        DurabilityFault::SynchronousCommitOff => {
            let found = "off: a server crash loses accepted cargo (answered with 202)".to_owned();
            (SYNCHRONOUS_COMMIT, found, switch_on(SYNCHRONOUS_COMMIT))
        }
        DurabilityFault::SynchronousCommitWeak => {
            let found = format!("{commit}: the loss of the server loses accepted cargo");
            (SYNCHRONOUS_COMMIT, found, switch_on(SYNCHRONOUS_COMMIT))
        }
        DurabilityFault::NotReplicated => {
            let found = "synchronous_standby_names is empty, but SVC_DURABILITY is replicated: commits wait for no standby";
            let fix = "set synchronous_standby_names on the server, or set SVC_DURABILITY to \
                       one-server or managed (see docs/failover.md)";
            (SYNCHRONOUS_STANDBYS, found.to_owned(), fix.to_owned())
        }
        DurabilityFault::Undecided => {
            let found = "synchronous_standby_names is empty: if this server is lost, so is what it accepted last";
            let fix = "make a standby synchronous and set SVC_DURABILITY=replicated, or set it to \
                       one-server or managed if that is intended (see docs/failover.md)";
            (SYNCHRONOUS_STANDBYS, found.to_owned(), fix.to_owned())
        }
        DurabilityFault::NoSynchronousStandby => {
            let found = format!("{names}: no such standby streams, so commits wait for one");
            let fix = "start the standby, or look for its name in pg_stat_replication";
            (SYNCHRONOUS_STANDBYS, found, fix.to_owned())
        }
        DurabilityFault::StandbysHidden => {
            let found = format!("{names}: this user may not see whether such a standby streams");
            let fix = "grant pg_read_all_stats to the user of the address";
            (SYNCHRONOUS_STANDBYS, found, fix.to_owned())
        }
        DurabilityFault::ChecksumsOff => {
            let found = "off: pages that a disk has corrupted are read as if they were right";
            let fix = "switch them on with pg_checksums while the server is stopped, or on a \
                       standby before a switchover";
            (DATA_CHECKSUMS, found.to_owned(), fix.to_owned())
        }
    };
    DurabilityText { check, found, fix }
}

fn switch_on(setting: &str) -> String {
    format!(
        "alter system set {setting} = on; select pg_reload_conf(); \
         (and check that no role, database or start option turns it off)"
    )
}
