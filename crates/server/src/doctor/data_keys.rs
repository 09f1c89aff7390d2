//! Checks of encryption at rest: the master key works, and it unwraps every data key.

use std::sync::Arc;

use domain::error_chain;
use domain::master_key::MasterKeys;
use domain::time::to_wire;
use store::Shard;
use store::shard::project_keys::{self, EncryptionStatus};

use crate::doctor::{DependencyFindings, DoctorFinding, FindingState};
use crate::master_key::{self, MasterKeySetupFailure};
use crate::settings::table::SettingValues;

const CHECK: &str = "encryption at rest";
const MASTER_KEY_FIX: &str = "correct SVC_MASTER_KEY_FILE or SVC_MASTER_KEY_COMMAND; until then \
     loads of encrypted projects get 503, and their batches and callbacks wait";

/// The master keys of this process, checked once for all shards. None if it has none that work.
pub(super) async fn examine_master_key(
    values: &SettingValues,
) -> (DependencyFindings, Option<Arc<dyn MasterKeys>>) {
    let mut found = DependencyFindings::new("master key");
    let master_keys = match master_key::from_settings(values) {
        Ok(Some(master_keys)) => master_keys,
        Ok(None) => return (found, None),
        Err(failure) => {
            report_setup(&mut found, &failure);
            return (found, None);
        }
    };
    match project_keys::check_master_key(&*master_keys).await {
        Ok(()) => {
            let text = format!("{} wraps and unwraps", master_keys.current_id());
            found.ok("current", &text);
            (found, Some(master_keys))
        }
        Err(failure) => {
            found.wrong("current", &failure.to_string(), MASTER_KEY_FIX);
            (found, None)
        }
    }
}

fn report_setup(found: &mut DependencyFindings, failure: &MasterKeySetupFailure) {
    found.wrong("current", &error_chain::chain(failure), MASTER_KEY_FIX);
}

/// What other checks have said about an unreachable shard is not repeated.
pub(super) async fn check_shard(
    found: &mut DependencyFindings,
    shard: &Shard,
    master_keys: Option<&Arc<dyn MasterKeys>>,
) {
    let is_unreachable =
        |it: &DoctorFinding| it.check == "reachable" && it.state == FindingState::Wrong;
    if found.list.iter().any(is_unreachable) {
        return;
    }
    if let Ok(status) = project_keys::read_status(shard).await {
        check_status(found, &status, master_keys).await;
    }
}

pub(super) async fn check_status(
    found: &mut DependencyFindings,
    status: &EncryptionStatus,
    master_keys: Option<&Arc<dyn MasterKeys>>,
) {
    let Some(enabled_at) = status.enabled_at else {
        let text = "off: prompts, answers and metadata are stored as they are";
        return found.ok(CHECK, text);
    };
    let Some(master_keys) = master_keys else {
        let text = "on, but this process has no master key that works";
        return found.wrong(CHECK, text, MASTER_KEY_FIX);
    };
    for used in &status.master_keys {
        let unwrapped = master_keys.unwrap_key(&used.id, &used.sample).await;
        if let Err(failure) = unwrapped {
            let text = format!(
                "{} data keys cannot be unwrapped: {failure}",
                used.data_keys
            );
            found.wrong(CHECK, &text, MASTER_KEY_FIX);
        }
    }
    let current = master_keys.current_id();
    let old = status.master_keys.iter().filter(|used| used.id != current);
    let old: u64 = old.map(|used| used.data_keys).sum();
    if old > 0 {
        let text = format!("{old} data keys are wrapped by earlier master keys");
        let fix = "run `longshored admin encryption rotate-master`; after that the earlier master \
                   keys are not needed any more";
        found.warning(CHECK, &text, fix);
    }
    let text = format!(
        "on since {}; projects: {}",
        to_wire(enabled_at),
        status.projects
    );
    found.ok(CHECK, &text);
}

#[cfg(test)]
mod tests {
    use outbound::master_key::FileMasterKeys;
    use store::shard::project_keys::MasterKeyUse;

    use super::*;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn master_keys(id: &str) -> Arc<dyn MasterKeys> {
        Arc::new(FileMasterKeys::parse(&format!("{id} {KEY}")).unwrap())
    }

    async fn findings(
        status: &EncryptionStatus,
        master_keys: Option<&Arc<dyn MasterKeys>>,
    ) -> String {
        let mut found = DependencyFindings::new("shard main");
        check_status(&mut found, status, master_keys).await;
        let lines = found.list.iter();
        let lines = lines.map(|it| format!("{:?} {}", it.state, it.found));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[tokio::test]
    async fn an_unusable_master_key_is_reported() {
        let (old, new) = (master_keys("2025"), master_keys("2026"));
        let mut status = EncryptionStatus {
            enabled_at: None,
            projects: 2,
            erased_projects: 0,
            master_keys: Vec::new(),
        };
        insta::assert_snapshot!(findings(&status, None).await, @"Ok off: prompts, answers and metadata are stored as they are");
        status.enabled_at = Some(domain::time::Timestamp::UNIX_EPOCH);
        insta::assert_snapshot!(findings(&status, None).await, @"Wrong on, but this process has no master key that works");
        status.master_keys.push(MasterKeyUse {
            id: "2025".to_owned(),
            data_keys: 2,
            sample: old.wrap_key(b"a data key").await.unwrap(),
        });
        insta::assert_snapshot!(findings(&status, Some(&old)).await, @"Ok on since 1970-01-01T00:00:00.000000Z; projects: 2");
        insta::assert_snapshot!(findings(&status, Some(&new)).await, @r"
        Wrong 2 data keys cannot be unwrapped: the master key 2025 is not in SVC_MASTER_KEY_FILE
        Warning 2 data keys are wrapped by earlier master keys
        Ok on since 1970-01-01T00:00:00.000000Z; projects: 2
        ");
    }
}
