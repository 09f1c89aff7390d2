//! Checks of this machine and its files: open-file limit, catalogue, callback addresses.

use crate::catalogue::CatalogueStore;
use crate::doctor::DependencyFindings;
use crate::doctor::audit_file;
use crate::providers::ProviderAccounts;
use crate::providers::credential::CredentialAccess;
use crate::settings::Settings;
use crate::settings::choice::Environment;

const LIMITS_FILE: &str = "/proc/self/limits";
/// Open files for everything but callbacks and databases: client connections, listeners, logs.
const OTHER_OPEN_FILES: u64 = 1024;

pub(super) fn examine(settings: &Settings) -> DependencyFindings {
    let mut found = DependencyFindings::new("this machine");
    let limits = std::fs::read_to_string(LIMITS_FILE).unwrap_or_default();
    check_open_files(&mut found, &limits, settings);
    check_catalogue(&mut found, settings);
    check_callbacks(&mut found, settings);
    check_cookies(&mut found, settings);
    audit_file::check_file(&mut found, settings.values.audit_file.as_deref());
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

pub(super) fn check_catalogue(found: &mut DependencyFindings, settings: &Settings) {
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
    use super::*;
    use crate::doctor::FindingState;
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
}
