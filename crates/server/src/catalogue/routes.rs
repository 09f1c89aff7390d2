//! By which providers a model can go, and whether they can do its work.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;

use domain::model::{Capability, Kind};
use domain::nearest::nearest;
use domain::route::{Route, Routes, Via};

use crate::catalogue::entry::{Entry, RouteEntry};
use crate::notes::Notes;
use crate::providers::{Account, Accounts, MOCK};

/// What a route must be able to do: nothing for a kind that is wrong.
type Work<'a> = (Option<Kind>, &'a [Capability]);

/// Nothing when there is a fault; all of them are noted.
pub(super) fn checked(
    entry: &Entry,
    work: Work<'_>,
    accounts: &Accounts,
    notes: &mut Notes<'_>,
) -> Option<Routes> {
    let before = notes.count();
    let mut routes: Vec<Route> = Vec::new();
    for given in &given(entry, notes)? {
        let Some(route) = route(given, entry, accounts, notes) else {
            continue;
        };
        if let Some(account) = accounts.find(&route.provider) {
            check_work(account, work, notes);
        }
        let is_same = |it: &Route| (&it.provider, it.via) == (&route.provider, route.via);
        if routes.iter().any(is_same) {
            let (provider, via) = (&route.provider, route.via.as_str());
            notes.fault(&format!("provider `{provider}` has two routes by {via}"));
        }
        routes.push(route);
    }
    if notes.count() == before {
        check_shards(&routes, accounts, notes);
    }
    let is_good = notes.count() == before;
    let mut routes = routes.into_iter();
    let first = routes.next().filter(|_| is_good)?;
    Some(Routes::new(first, routes.collect()))
}

pub(super) fn is_no_name(name: &str) -> bool {
    name.is_empty() || name.len() > 255 || name.contains(char::is_control)
}

/// One provider is a single route.
fn given(entry: &Entry, notes: &mut Notes<'_>) -> Option<Vec<RouteEntry>> {
    let fault = match (&entry.provider, &entry.routes, &entry.upstream) {
        (Some(provider), None, upstream) => {
            return Some(vec![RouteEntry {
                provider: provider.clone(),
                upstream: upstream.clone(),
                via: None,
            }]);
        }
        (None, Some(routes), None) if !routes.is_empty() => return Some(routes.clone()),
        (None, Some(routes), None) if routes.is_empty() => "routes has none",
        (None, Some(_), _) => "upstream stands beside routes; each route has its own",
        (Some(_), Some(_), _) => "provider and routes are both given; leave one out",
        (None, None, _) => "provider is missing; or give routes",
    };
    notes.fault(fault);
    None
}

fn route(
    given: &RouteEntry,
    entry: &Entry,
    accounts: &Accounts,
    notes: &mut Notes<'_>,
) -> Option<Route> {
    let before = notes.count();
    let upstream = given.upstream.as_ref().unwrap_or(&entry.id);
    if given.upstream.as_deref().is_some_and(is_no_name) {
        notes.fault("upstream is 1 to 255 bytes without control characters");
    }
    let ways = ways(&given.provider, accounts, notes);
    let via = match &given.via {
        Some(word) => {
            let via = Via::parse(word);
            if via.is_none() {
                notes.fault(&format!("via `{word}` is neither batch nor realtime"));
            }
            via
        }
        None => ways.and_then(|ways| ways.first().copied()),
    };
    let (ways, via) = (ways?, via?);
    if !ways.contains(&via) {
        let (provider, via) = (&given.provider, via.as_str());
        notes.fault(&format!("provider `{provider}` cannot be asked by {via}"));
    }
    let route = Route {
        provider: given.provider.clone(),
        upstream: upstream.clone(),
        via,
        shards: only_shards(&given.provider, accounts),
    };
    (notes.count() == before).then_some(route)
}

/// The shards that an account serves, unless it serves all.
fn only_shards(name: &str, accounts: &Accounts) -> Vec<String> {
    let Some(account) = accounts.find(name) else {
        return Vec::new();
    };
    let serves = |shard: &str| account.shares.contains_key(shard);
    if accounts.shards().all(serves) {
        return Vec::new();
    }
    account.shares.keys().cloned().collect()
}

/// How a provider can be asked; one that is not there is a fault.
fn ways<'a>(name: &str, accounts: &'a Accounts, notes: &mut Notes<'_>) -> Option<&'a [Via]> {
    if name == MOCK {
        return Some(&[Via::Batch]);
    }
    if let Some(account) = accounts.find(name) {
        return Some(account.kind.ways());
    }
    let known = || std::iter::once(MOCK).chain(accounts.names());
    let hint = nearest(name, known()).map_or_else(
        || match known().collect::<Vec<_>>().as_slice() {
            [only] => format!("use {only}"),
            several => format!("use one of {}", several.join(", ")),
        },
        |near| format!("did you mean {near}?"),
    );
    notes.fault(&format!("there is no provider `{name}`; {hint}"));
    None
}

/// A cargo may come to any of the routes: each must take all that the model takes.
fn check_work(account: &Account, (kind, capabilities): Work<'_>, notes: &mut Notes<'_>) {
    let (name, of) = (&account.name, account.kind.as_str());
    if kind.is_some_and(|kind| !account.kind.takes(kind)) {
        notes.fault(&format!("provider `{name}` ({of}) has no embeddings"));
    }
    for capability in capabilities {
        if !account.kind.reads(*capability) {
            let what = match capability {
                Capability::Vision => "images",
                Capability::Documents => "PDF documents",
                Capability::Video => "video",
            };
            let has = capability.as_str();
            let text = format!("provider `{name}` ({of}) reads no {what}, but the model has {has}");
            notes.fault(&text);
        }
    }
}

/// Organizations of a shard that no route serves would wait for ever.
fn check_shards(routes: &[Route], accounts: &Accounts, notes: &mut Notes<'_>) {
    let mut unserved: BTreeSet<&str> = accounts.shards().collect();
    for route in routes {
        match accounts.find(&route.provider) {
            Some(account) => unserved.retain(|shard| !account.shares.contains_key(*shard)),
            // The mock is everywhere.
            None => unserved.clear(),
        }
    }
    for shard in unserved {
        notes.fault(&format!(
            "no route serves shard `{shard}`: add one to a provider that has it in its shards"
        ));
    }
}
