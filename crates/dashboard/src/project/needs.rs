//! What needs somebody: decided from what a page has seen, worst first.

use chrono::TimeDelta;
use domain::callback_health::Ending;
use domain::money::Money;
use domain::time::Timestamp;
use store::control::api_key::ApiKey;
use store::view::callbacks::Attempts;
use store::view::models::Way;

use crate::text;

/// One thing: how bad, what, and where to mend it (within the project).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) class: &'static str,
    pub(crate) text: String,
    pub(crate) path: &'static str,
    pub(crate) act: &'static str,
}

#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) now: Timestamp,
    pub(crate) is_active: bool,
    pub(crate) keys: &'a [ApiKey],
    pub(crate) hosts: &'a [Attempts],
    pub(crate) ways: &'a [Way],
    pub(crate) ended: u64,
    pub(crate) failed: u64,
    pub(crate) given_up: u64,
    pub(crate) available: Money,
    pub(crate) charged_today: Money,
}

const SOON: TimeDelta = TimeDelta::days(7);

pub(crate) fn of(seen: &Seen<'_>) -> Vec<Need> {
    let mut needs = Vec::new();
    if !seen.is_active {
        needs.push(need(
            "warm",
            "The project is deactivated: its keys are refused.",
            "/settings",
            "Settings",
        ));
    }
    if seen.given_up > 0 {
        let text = format!(
            "{} callbacks were given up in the last 24 hours.",
            text::count(seen.given_up)
        );
        needs.push(need("bad", &text, "/callbacks", "See and resend"));
    }
    needs.extend(hosts(seen));
    // One in twenty, and not merely the first of a few.
    if seen.failed >= 5 && seen.failed * 20 >= seen.ended {
        let share = text::percent(seen.failed, seen.ended);
        let text = format!("{share} of the cargo that ended in the last 24 hours failed.");
        needs.push(need("bad", &text, "/cargo?status=failed", "See why"));
    }
    for way in seen.ways.iter().filter(|way| way.paused_at.is_some()) {
        let why = way.pause_reason.as_deref().unwrap_or("no reason given");
        let text = format!("{} waits: {why}.", way.model);
        needs.push(need("warm", &text, "/models", "Models"));
    }
    let spent = seen.charged_today.nanos();
    if spent > 0 && seen.available.nanos() / spent.max(1) < 3 {
        let text = format!(
            "{} of credit is left: less than three days at today's pace.",
            text::money(seen.available)
        );
        needs.push(need("warm", &text, "/usage", "Usage"));
    }
    for key in seen
        .keys
        .iter()
        .filter(|key| key.is_active && key.successor.is_none())
    {
        if let Some(ends) = key.expires_at
            && ends > seen.now
            && ends - seen.now < SOON
        {
            let left = text::duration(ends - seen.now);
            needs.push(need(
                "warm",
                &format!("The key {} ends in {left}.", key.name),
                "/keys",
                "Rotate it",
            ));
        }
    }
    needs
}

fn need(class: &'static str, text: &str, path: &'static str, act: &'static str) -> Need {
    Need {
        class,
        text: text.to_owned(),
        path,
        act,
    }
}

/// Hosts that took less than half of what was brought.
fn hosts(seen: &Seen<'_>) -> Vec<Need> {
    let mut names: Vec<&str> = seen.hosts.iter().map(|one| one.host.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let sum = |host: &str, delivered: bool| -> u64 {
        let of = seen.hosts.iter().filter(|one| one.host == host);
        of.filter(|one| (one.ending == Ending::Delivered) == delivered)
            .map(|one| one.count)
            .sum()
    };
    names
        .into_iter()
        .filter_map(|host| {
            let (good, bad) = (sum(host, true), sum(host, false));
            (bad >= 5 && bad > good).then(|| {
                let share = text::percent(good, good + bad);
                let text = format!("{host} took {share} of the callbacks of the last 24 hours.");
                need("bad", &text, "/callbacks", "Callbacks")
            })
        })
        .take(3)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn well() -> Seen<'static> {
        Seen {
            now: Timestamp::UNIX_EPOCH,
            is_active: true,
            keys: &[],
            hosts: &[],
            ways: &[],
            ended: 1000,
            failed: 2,
            given_up: 0,
            available: Money(10_000_000_000),
            charged_today: Money(1_000_000_000),
        }
    }

    #[test]
    fn what_goes_well_needs_nobody() {
        assert_eq!(of(&well()), []);
    }

    #[test]
    fn each_trouble_says_what_and_where() {
        let seen = Seen {
            is_active: false,
            failed: 60,
            given_up: 1234,
            available: Money(2_500_000_000),
            ..well()
        };
        let said: Vec<_> = of(&seen)
            .into_iter()
            .map(|need| format!("{} → {}", need.text, need.path))
            .collect();
        insta::assert_snapshot!(said.join("\n"), @r"
        The project is deactivated: its keys are refused. → /settings
        1,234 callbacks were given up in the last 24 hours. → /callbacks
        6.0 % of the cargo that ended in the last 24 hours failed. → /cargo?status=failed
        $2.50 of credit is left: less than three days at today's pace. → /usage
        ");
    }
}
