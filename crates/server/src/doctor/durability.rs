//! Checks whether a server keeps what it has acknowledged, and what keeps dead rows there.

#[cfg(test)]
mod tests;

use domain::durability::{
    DurabilityFacts, DurabilityPolicy, DurabilityRequirement, DurabilitySeverity, judge_durability,
};
use domain::error_chain;
use store::doctor::ReplicationHold;
use store::{Error, Pool};

use crate::doctor::{DependencyFindings, FindingState};
use crate::durability::{
    self, DATA_CHECKSUMS, FSYNC, FULL_PAGE_WRITES, SYNCHRONOUS_COMMIT, SYNCHRONOUS_STANDBYS,
};
use crate::settings::table::SettingValues;

/// PostgreSQL keeps no time for them. A busy shard has that many in about five minutes.
const MAX_HELD_TRANSACTIONS: i32 = 100_000;

/// Asks the server and reports everything.
pub(super) async fn check_server(
    found: &mut DependencyFindings,
    values: &SettingValues,
    pool: &Pool,
) {
    match store::durability::read_facts(pool).await {
        Ok(facts) => check_facts(found, &facts, durability::requirement(values)),
        Err(error) => {
            let text = error_chain::chain(&error);
            found.warning("durability", &text, "run doctor again");
        }
    }
    let holds = store::doctor::list_replication_holds(pool, MAX_HELD_TRANSACTIONS).await;
    check_replication_holds(found, holds);
}

pub(super) fn check_facts(
    found: &mut DependencyFindings,
    facts: &DurabilityFacts,
    required: DurabilityRequirement,
) {
    let findings = judge_durability(facts, required);
    let texts: Vec<_> = findings
        .iter()
        .map(|finding| (finding.severity, durability::describe(finding.fault, facts)))
        .collect();
    for (check, healthy) in healthy_texts(facts, required) {
        match texts.iter().find(|(_, text)| text.check == check) {
            Some((severity, text)) => {
                let state = match severity {
                    DurabilitySeverity::Warning => FindingState::Warning,
                    DurabilitySeverity::Wrong | DurabilitySeverity::Refused => FindingState::Wrong,
                };
                found.add(check, state, &text.found, Some(&text.fix));
            }
            None => found.ok(check, &healthy),
        }
    }
}

/// Every check, and what it says without a fault.
fn healthy_texts(
    facts: &DurabilityFacts,
    required: DurabilityRequirement,
) -> [(&'static str, String); 5] {
    let names = &facts.synchronous_standby_names;
    let standbys = match required.policy {
        _ if !names.is_empty() => format!("commits wait for {names}, and it streams"),
        Some(DurabilityPolicy::Managed) => "none synchronous; SVC_DURABILITY is managed".to_owned(),
        Some(DurabilityPolicy::OneServer | DurabilityPolicy::Replicated) | None => {
            "none synchronous; SVC_DURABILITY is one-server".to_owned()
        }
    };
    let checksums = if facts.data_checksums { "on" } else { "off" };
    [
        (FSYNC, "on".to_owned()),
        (FULL_PAGE_WRITES, "on".to_owned()),
        (SYNCHRONOUS_COMMIT, facts.synchronous_commit.clone()),
        (SYNCHRONOUS_STANDBYS, standbys),
        (DATA_CHECKSUMS, checksums.to_owned()),
    ]
}

pub(super) fn check_replication_holds(
    found: &mut DependencyFindings,
    holds: Result<Vec<ReplicationHold>, Error>,
) {
    let check = "replication";
    let holds = match holds {
        Ok(holds) => holds,
        Err(error) => {
            return found.warning(check, &error_chain::chain(&error), "run doctor again");
        }
    };
    let Some(oldest) = holds.first() else {
        return found.ok(check, "no slot and no standby keeps dead rows");
    };
    let kind = if oldest.is_slot { "slot" } else { "standby" };
    let text = format!(
        "{kind} {} keeps rows that {} later transactions changed: vacuum cannot remove them; \
         such slots and standbys: {}",
        oldest.name,
        oldest.transactions,
        holds.len()
    );
    let fix = "end the long query on the standby, start the consumer of the slot, or drop the \
               slot of a consumer that is gone: select pg_drop_replication_slot('…');";
    found.warning(check, &text, fix);
}
