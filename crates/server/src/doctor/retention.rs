//! How long each table keeps its rows, and whether rows are past that.

use chrono::{Days, TimeDelta};
use domain::error_chain;
use domain::history_retention::MIN_HOUR_RETENTION;
use domain::time::Timestamp;
use store::shard::history::overdue::{self, OldestRows};
use store::tables::{Retention, TABLES};
use store::{Error, Shard};

use crate::doctor::{DependencyFindings, DoctorFinding, FindingState};
use crate::settings::table::SettingValues;

const CHECK: &str = "history";
/// Sweep deletes old rows once a day.
const MAX_DELAY: TimeDelta = TimeDelta::days(2);

/// One line for each retention, with the tables that have it.
pub(super) fn list_tables(found: &mut DependencyFindings, values: &SettingValues) {
    for retention in Retention::ALL {
        let tables: Vec<String> = TABLES
            .iter()
            .filter(|it| it.retention == retention && it.name != "_migrations")
            .map(|it| match it.schema {
                "shard" => it.name.to_owned(),
                schema => format!("{schema}.{}", it.name),
            })
            .collect();
        let text = format!("{}: {}", describe(retention, values), tables.join(", "));
        found.ok(retention.as_str(), &text);
    }
}

fn describe(retention: Retention, values: &SettingValues) -> String {
    let days = values.retention_days;
    let hours = i64::from(days).max(MIN_HOUR_RETENTION.num_days());
    match retention {
        Retention::Days => format!("dropped by day after {days} days (SVC_RETENTION_DAYS)"),
        Retention::Swept => "deleted when the cargo that they belong to is dropped".to_owned(),
        Retention::Hours => format!("deleted after {hours} days"),
        Retention::Usage => format!(
            "summed to days after {hours} days, deleted after {} (SVC_USAGE_RETENTION_DAYS)",
            values.usage_retention_days
        ),
        Retention::Ledger => format!(
            "replaced by an opening balance after {} days (SVC_LEDGER_RETENTION_DAYS)",
            values.ledger_retention_days
        ),
        Retention::Audit => format!(
            "deleted after {} days (SVC_AUDIT_RETENTION_DAYS)",
            values.audit_retention_days
        ),
        Retention::Queue => "deleted when their work is done".to_owned(),
        Retention::Expiry => "deleted when they expire".to_owned(),
        Retention::Entity => {
            "one row for each organization, project, key or person, deleted with it".to_owned()
        }
    }
}

/// Only on a shard that passed the other checks.
pub(super) async fn check_shard(
    found: &mut DependencyFindings,
    values: &SettingValues,
    shard: &Shard,
    now: Option<Timestamp>,
) {
    let is_wrong = |it: &DoctorFinding| it.state == FindingState::Wrong;
    if let Some(now) = now
        && !found.list.iter().any(is_wrong)
    {
        check_oldest(found, values, overdue::find_oldest(shard).await, now);
    }
}

pub(super) fn check_oldest(
    found: &mut DependencyFindings,
    values: &SettingValues,
    oldest: Result<OldestRows, Error>,
    now: Timestamp,
) {
    let oldest = match oldest {
        Ok(oldest) => oldest,
        Err(error) => return found.warning(CHECK, &error_chain::chain(&error), "run doctor again"),
    };
    let limit = |days: u32| now - TimeDelta::days(i64::from(days)) - MAX_DELAY;
    let day_limit = limit(values.retention_days).date_naive();
    if let Some(day) = oldest.day.filter(|day| *day < day_limit) {
        let text = format!("the day {day} is past its retention and not dropped");
        let fix = "a cargo or a callback of that day is open, or sweep fails: read the log of \
                   `longshored work`. Batches, files and postings since that day are kept with it";
        return found.warning(CHECK, &text, fix);
    }
    let fix = "read the log of `longshored work` for failures of its stage sweep_history";
    if let Some(at) = oldest.batch.filter(|at| at.date_naive() < day_limit) {
        let text = format!("a batch that ended on {} is not deleted", at.date_naive());
        return found.warning(CHECK, &text, fix);
    }
    // Postings that settle kept cargo stay.
    let posting_days = values.ledger_retention_days.max(values.retention_days);
    let posting_limit = limit(posting_days)
        .date_naive()
        .checked_sub_days(Days::new(1));
    if let Some(at) = oldest
        .posting
        .filter(|at| Some(at.date_naive()) < posting_limit)
    {
        let text = format!("a posting of {} is not closed", at.date_naive());
        return found.warning(CHECK, &text, fix);
    }
    found.ok(CHECK, "nothing is past its retention");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::render_text;
    use crate::doctor::tests::{noon, report, settings};

    #[test]
    fn every_table_is_listed_with_its_retention() {
        let settings = settings(&[
            ("SVC_RETENTION_DAYS", "60"),
            ("SVC_LEDGER_RETENTION_DAYS", "500"),
        ]);
        let mut found = DependencyFindings::new("retention");
        list_tables(&mut found, &settings.values);
        let listed: Vec<&str> = found
            .list
            .iter()
            .flat_map(|finding| finding.found.split([' ', ',']))
            .collect();
        for table in TABLES.iter().filter(|it| it.name != "_migrations") {
            let name = match table.schema {
                "shard" => table.name.to_owned(),
                schema => format!("{schema}.{}", table.name),
            };
            assert!(listed.contains(&name.as_str()), "{name}");
        }
        let page = render_text(&report(found));
        for text in [
            "dropped by day after 60 days (SVC_RETENTION_DAYS): attempt, cargo, outcome",
            "deleted after 60 days: callback_hour",
            "after 500 days (SVC_LEDGER_RETENTION_DAYS): closing, key_spending, posting",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }

    #[test]
    fn rows_that_are_past_their_retention_are_a_warning() {
        let ago = |days| noon() - TimeDelta::days(days);
        let fresh = OldestRows {
            day: Some(ago(31).date_naive()),
            batch: Some(ago(31)),
            posting: Some(ago(401)),
        };
        for (oldest, expected) in [
            (fresh, "nothing is past its retention"),
            (
                OldestRows {
                    day: Some(ago(40).date_naive()),
                    ..fresh
                },
                "the day 2025-11-22 is past its retention and not dropped",
            ),
            (
                OldestRows {
                    batch: Some(ago(40)),
                    ..fresh
                },
                "a batch that ended on 2025-11-22 is not deleted",
            ),
            (
                OldestRows {
                    posting: Some(ago(410)),
                    ..fresh
                },
                "a posting of 2024-11-17 is not closed",
            ),
        ] {
            let mut found = DependencyFindings::new("shard main");
            check_oldest(&mut found, &settings(&[]).values, Ok(oldest), noon());
            assert_eq!(found.list[0].found, expected);
        }
    }

    #[test]
    fn postings_of_kept_cargo_are_not_past_their_retention() {
        let ago = |days| noon() - TimeDelta::days(days);
        for (posting, expected) in [
            (501, "nothing is past its retention"),
            (510, "a posting of 2024-08-09 is not closed"),
        ] {
            let oldest = OldestRows {
                day: Some(ago(501).date_naive()),
                batch: Some(ago(501)),
                posting: Some(ago(posting)),
            };
            let mut found = DependencyFindings::new("shard main");
            let values = settings(&[("SVC_RETENTION_DAYS", "500")]).values;
            check_oldest(&mut found, &values, Ok(oldest), noon());
            assert_eq!(found.list[0].found, expected);
        }
    }
}
