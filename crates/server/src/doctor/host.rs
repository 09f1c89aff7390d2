//! Checks of this machine and its files: open-file limit, catalogue, callback addresses.

use crate::catalogue::CatalogueStore;
use crate::doctor::DependencyFindings;
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
