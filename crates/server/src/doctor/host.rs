//! Checks of this machine and its files: open-file limit, catalogue, callback addresses, secrets.

use chrono::{NaiveDate, TimeDelta};
use domain::model::Catalogue;
use domain::time::Timestamp;

use crate::catalogue::CatalogueStore;
use crate::doctor::DependencyFindings;
use crate::doctor::audit_file;
use crate::doctor::secret_files;
use crate::providers::ProviderAccounts;
use crate::providers::credential::CredentialAccess;
use crate::settings::Settings;
use crate::settings::choice::Environment;

const LIMITS_FILE: &str = "/proc/self/limits";
/// Open files for everything but callbacks and databases: client connections, listeners, logs.
const OTHER_OPEN_FILES: u64 = 1024;
/// How long before its provider stops serving a model the operator is warned.
const RETIREMENT_NOTICE: TimeDelta = TimeDelta::days(30);

pub(super) fn examine(settings: &Settings, now: Timestamp) -> DependencyFindings {
    let mut found = DependencyFindings::new("this machine");
    let limits = std::fs::read_to_string(LIMITS_FILE).unwrap_or_default();
    check_open_files(&mut found, &limits, settings);
    check_catalogue(&mut found, settings, now);
    check_callbacks(&mut found, settings);
    check_cookies(&mut found, settings);
    audit_file::check_file(&mut found, settings.values.audit_file.as_deref());
    secret_files::check(&mut found, &settings.secret_files);
    found
}

/// Each callback in flight and each connection is an open file.
pub(super) fn check_open_files(found: &mut DependencyFindings, limits: &str, settings: &Settings) {
    let check = "open files";
    let Some(limit) = soft_limit(limits) else {
        return found.ok(check, "the limit cannot be read on this system");
    };
    let shards = u64::try_from(settings.databases.shards.len()).unwrap_or(u64::MAX);
    let slots = u64::try_from(settings.values.delivery_slots).unwrap_or(u64::MAX);
    let connections = u64::from(settings.values.database_connections);
    let needed = shards
        .saturating_mul(slots.saturating_add(connections))
        .saturating_add(connections)
        .saturating_add(OTHER_OPEN_FILES);
    if limit >= needed {
        return found.ok(
            check,
            &format!("the limit is {limit}; up to {needed} are needed"),
        );
    }
    let text = format!("the limit is only {limit}; up to {needed} are needed");
    let fix = format!(
        "raise the limit where longshored is started (ulimit -n {needed}, or LimitNOFILE={needed} \
         in its systemd unit), or lower SVC_DELIVERY_SLOTS"
    );
    found.warning(check, &text, &fix);
}

/// The soft limit: the first number after the label.
fn soft_limit(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

pub(super) fn check_catalogue(found: &mut DependencyFindings, settings: &Settings, now: Timestamp) {
    // Errors in the providers file are reported by the provider checks.
    let Ok(accounts) = ProviderAccounts::from_settings(settings, CredentialAccess::Skip) else {
        let text = "not checked: SVC_PROVIDERS_FILE is invalid";
        return found.warning("catalogue", text, "correct SVC_PROVIDERS_FILE first");
    };
    match CatalogueStore::open(settings.values.models_file.clone(), accounts) {
        Ok(store) => {
            let catalogue = store.watch().borrow().clone();
            let models = catalogue.ids().count();
            let priced = catalogue.models().filter(|model| model.prices.is_some());
            let text = format!("models: {models}, with a price: {}", priced.count());
            found.ok("catalogue", &text);
            check_retirement(found, &catalogue, now.date_naive());
        }
        Err(failure) => {
            found.wrong(
                "catalogue",
                &failure.to_string(),
                "correct the file SVC_MODELS_FILE",
            );
        }
    }
}

/// Cargo that is loaded near the end of a model fails, or is never answered.
pub(super) fn check_retirement(
    found: &mut DependencyFindings,
    catalogue: &Catalogue,
    today: NaiveDate,
) {
    for model in catalogue.models() {
        let Some(end) = model.retires_at else {
            continue;
        };
        let id = &model.id;
        let days = (end - today).num_days();
        let fix = "move its callers to another model, then remove it from SVC_MODELS_FILE";
        if days <= 0 {
            let text = format!("{id}: its provider stopped serving it on {end}");
            found.wrong("retirement", &text, fix);
        } else if end - today <= RETIREMENT_NOTICE {
            let text = format!("{id}: its provider stops serving it on {end}, in {days} days");
            found.warning("retirement", &text, fix);
        }
    }
}

/// In production, callers should not be able to reach private addresses.
pub(super) fn check_callbacks(found: &mut DependencyFindings, settings: &Settings) {
    let check = "callbacks";
    let allowed = &settings.values.callback_allow;
    let production = settings.values.environment == Environment::Production;
    if allowed.is_empty() {
        return found.ok(check, "reach public addresses only");
    }
    let ranges: Vec<_> = allowed.iter().map(ToString::to_string).collect();
    let text = format!("may also reach {}", ranges.join(", "));
    if production {
        let fix = "any caller can make this server send requests to these ranges; \
                   unset SVC_CALLBACK_ALLOW_CIDRS unless you want that";
        found.warning(check, &text, fix);
    } else {
        found.ok(check, &text);
    }
}

/// Browsers send cookies without `Secure` over plain http too.
pub(super) fn check_cookies(found: &mut DependencyFindings, settings: &Settings) {
    let (check, values) = ("cookies", &settings.values);
    if values.has_secure_cookies() {
        return found.ok(check, "are sent over https only");
    }
    let text = "of the dashboard are sent over plain http: SVC_PUBLIC_URL is not an https URL";
    let fix = "set SVC_PUBLIC_URL to the https URL under which browsers reach the dashboard, \
               or SVC_ENVIRONMENT=development";
    match values.environment {
        Environment::Production if values.listen.ip().is_loopback() => {
            found.warning(check, text, fix);
        }
        Environment::Production => found.wrong(check, text, fix),
        Environment::Development => found.ok(check, "are sent over plain http, for development"),
    }
}

#[cfg(test)]
mod tests {
    use domain::model::{Model, ModelKind};

    use super::*;
    use crate::doctor::{DoctorReport, FindingState, render_text};
    use crate::settings::read_variables;

    #[test]
    fn the_soft_limit_is_read() {
        let line = "Max open files            1024                 524288               files     ";
        assert_eq!(
            soft_limit(&format!("Max cpu time  unlimited\n{line}\n")),
            Some(1024)
        );
        assert_eq!(
            soft_limit("Max open files  unlimited  unlimited  files"),
            Some(u64::MAX)
        );
        assert_eq!(soft_limit(""), None);
    }

    #[test]
    fn low_cookies_do_not_lose_secure_silently_in_production() {
        let mut found = DependencyFindings::new("this machine");
        let open = ("SVC_LISTEN", "0.0.0.0:8080");
        for given in [
            &[open][..],
            &[open, ("SVC_PUBLIC_URL", "http://longshore.example")],
            &[open, ("SVC_PUBLIC_URL", "https://longshore.example")],
            &[open, ("SVC_ENVIRONMENT", "development")],
            &[],
        ] {
            let database = ("SVC_DATABASE_URL", "postgres://localhost/longshore");
            let given = given.iter().chain([&database]);
            let variables = given.map(|(name, value)| (name.into(), value.into()));
            let settings = read_variables(variables).settings().unwrap();
            check_cookies(&mut found, &settings);
        }
        let states: Vec<_> = found.list.iter().map(|finding| finding.state).collect();
        let expected = [
            FindingState::Wrong,
            FindingState::Wrong,
            FindingState::Ok,
            FindingState::Ok,
            FindingState::Warning,
        ];
        assert_eq!(states, expected);
    }

    fn today() -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 1, 1).unwrap()
    }

    #[test]
    fn the_end_of_a_model_is_foreseen() {
        let model = |id: &str, days: Option<i64>| Model {
            retires_at: days.map(|days| today() + TimeDelta::days(days)),
            ..Model::plain(id, "mock", ModelKind::Chat)
        };
        let catalogue = Catalogue::new([
            model("a", None),
            model("b", Some(31)),
            model("c", Some(30)),
            model("d", Some(0)),
        ]);
        let mut found = DependencyFindings::new("this machine");
        check_retirement(&mut found, &catalogue, today());
        let report = DoctorReport {
            ok: false,
            findings: found.list,
        };
        insta::assert_snapshot!(render_text(&report), @r"
        this machine
          warning retirement          c: its provider stops serving it on 2026-01-31, in 30 days
                  fix: move its callers to another model, then remove it from SVC_MODELS_FILE
          ERROR   retirement          d: its provider stopped serving it on 2026-01-01
                  fix: move its callers to another model, then remove it from SVC_MODELS_FILE

        errors: 1; warnings: 1
        ");
    }
}
