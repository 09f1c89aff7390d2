//! This machine and what it was told: open files, catalogue, callbacks.

use crate::catalogue::Shelf;
use crate::doctor::Findings;
use crate::providers::Accounts;
use crate::providers::credential::Credentials;
use crate::settings::Settings;
use crate::settings::choice::Environment;

const LIMITS: &str = "/proc/self/limits";
/// Open files besides callbacks and databases: callers' connections, listeners, logs.
const BESIDES: u64 = 1024;

pub(super) fn examine(settings: &Settings) -> Findings {
    let mut found = Findings::of("this machine");
    let limits = std::fs::read_to_string(LIMITS).unwrap_or_default();
    open_files(&mut found, &limits, settings);
    catalogue(&mut found, settings);
    callbacks(&mut found, settings);
    found
}

/// Each callback in flight and each connection is an open file.
pub(super) fn open_files(found: &mut Findings, limits: &str, settings: &Settings) {
    let check = "open files";
    let Some(limit) = soft_limit(limits) else {
        return found.ok(check, "the limit cannot be read here");
    };
    let shards = u64::try_from(settings.databases.shards.len()).unwrap_or(u64::MAX);
    let slots = u64::try_from(settings.values.delivery_slots).unwrap_or(u64::MAX);
    let connections = u64::from(settings.values.database_connections);
    let wanted = shards
        .saturating_mul(slots.saturating_add(connections))
        .saturating_add(connections)
        .saturating_add(BESIDES);
    if limit >= wanted {
        return found.ok(
            check,
            &format!("{limit} may be open, {wanted} may be wanted"),
        );
    }
    let text = format!("only {limit} may be open, {wanted} may be wanted");
    let mend = format!(
        "raise the limit where longshored is started (ulimit -n {wanted}, or LimitNOFILE={wanted} \
         in its systemd unit), or lower SVC_DELIVERY_SLOTS"
    );
    found.warning(check, &text, &mend);
}

/// The soft limit is the one that counts; the number after the words.
fn soft_limit(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

pub(super) fn catalogue(found: &mut Findings, settings: &Settings) {
    // What is wrong with the accounts is told with them.
    let Ok(accounts) = Accounts::of(settings, Credentials::Unread) else {
        let text = "not looked at: the providers that it names cannot be read";
        return found.warning("catalogue", text, "mend the providers first");
    };
    match Shelf::open(settings.values.models_file.clone(), accounts) {
        Ok(shelf) => {
            let catalogue = shelf.watch().borrow().clone();
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

/// In production nobody but us should decide which private address is called.
pub(super) fn callbacks(found: &mut Findings, settings: &Settings) {
    let check = "callbacks";
    let allowed = &settings.values.callback_allow;
    let production = settings.values.environment == Environment::Production;
    if allowed.is_empty() {
        return found.ok(check, "reach public addresses only");
    }
    let ranges: Vec<_> = allowed.iter().map(ToString::to_string).collect();
    let text = format!("may also reach {}", ranges.join(", "));
    if production {
        let mend = "any caller can make this server call there; \
                    unset SVC_CALLBACK_ALLOW_CIDRS unless that is wanted";
        found.warning(check, &text, mend);
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
