//! Alerts of the overview page.

use chrono::TimeDelta;
use domain::callback_health::CallbackAttemptResult;
use domain::money::Money;
use domain::time::Timestamp;
use store::control::api_key::ApiKeyRow;
use store::view::callbacks::HostAttempts;
use store::view::models::ModelLane;

use crate::text;

/// An alert with a link to a page of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectAlert {
    pub(crate) class: &'static str,
    pub(crate) text: String,
    pub(crate) path: &'static str,
    pub(crate) link_text: &'static str,
}

#[derive(Debug)]
pub(crate) struct AlertInputs<'a> {
    pub(crate) now: Timestamp,
    pub(crate) is_active: bool,
    pub(crate) keys: &'a [ApiKeyRow],
    pub(crate) hosts: &'a [HostAttempts],
    pub(crate) lanes: &'a [ModelLane],
    pub(crate) ended: u64,
    pub(crate) failed: u64,
    pub(crate) callbacks_failed: u64,
    pub(crate) available: Money,
    pub(crate) charged_today: Money,
}

const KEY_EXPIRY_WARNING: TimeDelta = TimeDelta::days(7);

pub(crate) fn find_alerts(seen: &AlertInputs<'_>) -> Vec<ProjectAlert> {
    let mut needs = Vec::new();
    if !seen.is_active {
        needs.push(alert(
            "warm",
            "This project is deactivated. Its API keys are rejected.",
            "/settings",
            "Open settings",
        ));
    }
    if seen.callbacks_failed > 0 {
        let text = format!(
            "{} callbacks failed in the last 24 hours (retries exhausted).",
            text::count(seen.callbacks_failed)
        );
        needs.push(alert("bad", &text, "/callbacks", "View and resend"));
    }
    needs.extend(host_alerts(seen));
    // At least 5 %, and more than a few.
    if seen.failed >= 5 && seen.failed * 20 >= seen.ended {
        let share = text::percent(seen.failed, seen.ended);
        let text = format!("{share} of the cargo completed in the last 24 hours failed.");
        needs.push(alert("bad", &text, "/cargo?status=failed", "View failures"));
    }
    for lane in seen.lanes.iter().filter(|lane| lane.paused_at.is_some()) {
        let reason = lane.pause_reason.as_deref().unwrap_or("no reason given");
        let text = format!("{} is paused: {reason}.", lane.model);
        needs.push(alert("warm", &text, "/models", "View models"));
    }
    let spent = seen.charged_today.nanos();
    if spent > 0 && seen.available.nanos() / spent.max(1) < 3 {
        let text = format!(
            "{} of credit left, less than three days at today's spending.",
            text::money(seen.available)
        );
        needs.push(alert("warm", &text, "/usage", "View usage"));
    }
    for key in seen
        .keys
        .iter()
        .filter(|key| key.is_active && key.successor.is_none())
    {
        if let Some(ends) = key.expires_at
            && ends > seen.now
            && ends - seen.now < KEY_EXPIRY_WARNING
        {
            let left = text::duration(ends - seen.now);
            needs.push(alert(
                "warm",
                &format!("The API key {} expires in {left}.", key.name),
                "/keys",
                "Rotate key",
            ));
        }
    }
    needs
}

fn alert(class: &'static str, text: &str, path: &'static str, act: &'static str) -> ProjectAlert {
    ProjectAlert {
        class,
        text: text.to_owned(),
        path,
        link_text: act,
    }
}

/// Hosts that accepted less than half of their callbacks.
fn host_alerts(seen: &AlertInputs<'_>) -> Vec<ProjectAlert> {
    let mut names: Vec<&str> = seen.hosts.iter().map(|one| one.host.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let sum = |host: &str, delivered: bool| -> u64 {
        let of = seen.hosts.iter().filter(|one| one.host == host);
        of.filter(|one| (one.ending == CallbackAttemptResult::Delivered) == delivered)
            .map(|one| one.count)
            .sum()
    };
    names
        .into_iter()
        .filter_map(|host| {
            let (good, bad) = (sum(host, true), sum(host, false));
            (bad >= 5 && bad > good).then(|| {
                let share = text::percent(good, good + bad);
                let text =
                    format!("{host} accepted only {share} of callbacks in the last 24 hours.");
                alert("bad", &text, "/callbacks", "View callbacks")
            })
        })
        .take(3)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> AlertInputs<'static> {
        AlertInputs {
            now: Timestamp::UNIX_EPOCH,
            is_active: true,
            keys: &[],
            hosts: &[],
            lanes: &[],
            ended: 1000,
            failed: 2,
            callbacks_failed: 0,
            available: Money(10_000_000_000),
            charged_today: Money(1_000_000_000),
        }
    }

    #[test]
    fn a_healthy_project_has_no_alerts() {
        assert_eq!(find_alerts(&healthy()), []);
    }

    #[test]
    fn each_alert_says_what_and_where() {
        let seen = AlertInputs {
            is_active: false,
            failed: 60,
            callbacks_failed: 1234,
            available: Money(2_500_000_000),
            ..healthy()
        };
        let alerts: Vec<_> = find_alerts(&seen)
            .into_iter()
            .map(|alert| format!("{} → {}", alert.text, alert.path))
            .collect();
        insta::assert_snapshot!(alerts.join("\n"), @r"
        This project is deactivated. Its API keys are rejected. → /settings
        1,234 callbacks failed in the last 24 hours (retries exhausted). → /callbacks
        6.0 % of the cargo completed in the last 24 hours failed. → /cargo?status=failed
        $2.50 of credit left, less than three days at today's spending. → /usage
        ");
    }
}
