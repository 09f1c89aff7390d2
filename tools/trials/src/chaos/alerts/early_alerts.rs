//! Alerts that fire before their own fault: an alert that always fires proves nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::chaos::alerts::fault_table::{AlertFault, alert_of};

/// Alerts that may fire before their own fault, because of an earlier one.
const EARLY_ALERTS: &[&str] = &[
    // Loads wait while Redis or a database is away, and the longest window remembers it for 72
    // minutes.
    "LongshoreLoadsSlow",
];

/// All rules that fired when a fault was about to be caused.
#[derive(Debug)]
pub struct FaultStart {
    pub fault: AlertFault,
    pub firing: BTreeSet<String>,
}

impl FaultStart {
    pub fn to_json(&self) -> Value {
        json!({"fault": self.fault.name, "firing": self.firing})
    }
}

/// Rules that fired when their fault was about to be caused. Also a rule that may be early must have
/// been silent before an earlier fault, so that a rule that always fires is found.
pub fn find(starts: &[FaultStart]) -> BTreeSet<String> {
    let mut early = BTreeSet::new();
    for (index, start) in starts.iter().enumerate() {
        let earlier = starts.get(..index).unwrap_or_default();
        let may_fire = |rule: &String| {
            EARLY_ALERTS.contains(&alert_of(rule))
                && earlier.iter().any(|it| !it.firing.contains(rule))
        };
        let own = start.firing.iter().filter(|it| start.fault.covers(it));
        let wrong = own.filter(|it| !may_fire(it));
        early.extend(wrong.map(|rule| format!("{rule}, before: {}", start.fault.name)));
    }
    early
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::alerts::fault_table::{ACCOUNTS_LOCKED, REDIS_KILLED, SHARD_STOPPED};

    #[test]
    fn an_alert_that_fires_before_its_fault_is_found() {
        let start = |fault, firing: &[&str]| FaultStart {
            fault,
            firing: firing.iter().map(|&rule| rule.to_owned()).collect(),
        };
        let (redis, slow) = ("LongshoreRedisAway", "LongshoreLoadsSlow 3d");
        // After its fault, and before that of another alert, it may fire.
        let after = [
            start(REDIS_KILLED, &[]),
            start(SHARD_STOPPED, &[redis]),
            start(ACCOUNTS_LOCKED, &[redis, slow]),
        ];
        assert_eq!(find(&after), BTreeSet::new());
        let early = "LongshoreRedisAway, before: Redis is killed";
        let always = [start(REDIS_KILLED, &[redis])];
        assert_eq!(find(&always), BTreeSet::from([early.to_owned()]));
        // An exception does not excuse a rule that always fires.
        let early = format!("{slow}, before: {}", ACCOUNTS_LOCKED.name);
        let always = [
            start(SHARD_STOPPED, &[slow]),
            start(ACCOUNTS_LOCKED, &[slow]),
        ];
        assert_eq!(find(&always), BTreeSet::from([early.clone()]));
        let without_cause = [start(ACCOUNTS_LOCKED, &[slow])];
        assert_eq!(find(&without_cause), BTreeSet::from([early]));
    }
}
