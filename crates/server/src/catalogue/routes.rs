//! Validation of a model's routes: its providers and what they support.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;

use domain::features::Features;
use domain::model::{Capability, ModelKind};
use domain::route::{ChatApi, InferenceMode, Route, Routes};
use domain::suggestion::closest_name;

use crate::catalogue::entry::{ModelEntry, RouteEntry};
use crate::catalogue::{feature_defaults, price};
use crate::entry_errors::EntryErrors;
use crate::providers::kind::ProviderKind;
use crate::providers::preset::AccountKind;
use crate::providers::{MOCK, ProviderAccount, ProviderAccounts};

/// None when something is wrong; all errors are collected. Each route must support the model's
/// kind, if that is valid, and its capabilities.
pub(super) fn validate(
    entry: &ModelEntry,
    kind: Option<ModelKind>,
    capabilities: &[Capability],
    accounts: &ProviderAccounts,
    errors: &mut EntryErrors<'_>,
) -> Option<Routes> {
    let before = errors.count();
    let mut routes: Vec<Route> = Vec::new();
    for route_entry in &route_entries(entry, errors)? {
        let Some(route) = route(route_entry, entry, kind, accounts, errors) else {
            continue;
        };
        if let Some(account) = accounts.find(&route.provider) {
            check_work(account, kind, capabilities, errors);
        }
        let is_same = |it: &Route| (&it.provider, it.via) == (&route.provider, route.via);
        if routes.iter().any(is_same) {
            let (provider, via) = (&route.provider, route.via.as_str());
            errors.add(&format!(
                "provider `{provider}` has two routes with via = {via}"
            ));
        }
        routes.push(route);
    }
    if errors.count() == before {
        check_shards(&routes, accounts, errors);
    }
    let is_good = errors.count() == before;
    let mut routes = routes.into_iter();
    let first = routes.next().filter(|_| is_good)?;
    Some(Routes::new(first, routes.collect()))
}

pub(super) fn is_invalid_name(name: &str) -> bool {
    name.is_empty() || name.len() > 255 || name.contains(char::is_control)
}

/// The entries of `routes`; `provider` alone is a single route.
fn route_entries(entry: &ModelEntry, errors: &mut EntryErrors<'_>) -> Option<Vec<RouteEntry>> {
    let error = match (&entry.provider, &entry.routes, &entry.upstream) {
        (Some(provider), None, upstream) => {
            return Some(vec![RouteEntry {
                provider: provider.clone(),
                upstream: upstream.clone(),
                ..RouteEntry::default()
            }]);
        }
        (None, Some(routes), None) if !routes.is_empty() => return Some(routes.clone()),
        (None, Some(routes), None) if routes.is_empty() => "routes is empty",
        (None, Some(_), _) => "upstream and routes are both given; set upstream in each route",
        (Some(_), Some(_), _) => "provider and routes are both given; leave one out",
        (None, None, _) => "provider or routes is missing",
    };
    errors.add(error);
    None
}

fn route(
    route_entry: &RouteEntry,
    entry: &ModelEntry,
    kind: Option<ModelKind>,
    accounts: &ProviderAccounts,
    errors: &mut EntryErrors<'_>,
) -> Option<Route> {
    let before = errors.count();
    let upstream = route_entry.upstream.as_ref().unwrap_or(&entry.id);
    if route_entry.upstream.as_deref().is_some_and(is_invalid_name) {
        errors.add("upstream must be 1 to 255 bytes without control characters");
    }
    let modes = supported_modes(&route_entry.provider, accounts, errors);
    let via = match &route_entry.via {
        Some(word) => {
            let via = InferenceMode::parse(word);
            if via.is_none() {
                errors.add(&format!("via `{word}` is none of batch, flex, realtime"));
            }
            via
        }
        None => modes.and_then(|modes| modes.first().copied()),
    };
    let (modes, via) = (modes?, via?);
    if !modes.contains(&via) {
        let (provider, via) = (&route_entry.provider, via.as_str());
        errors.add(&format!(
            "provider `{provider}` does not support via = {via}"
        ));
    }
    let api = chat_api(route_entry, accounts, errors);
    if kind == Some(ModelKind::Embedding) {
        if via == InferenceMode::Flex {
            errors.add("via = flex is for chat models: no provider has a flex tier for embeddings");
        }
        if api == ChatApi::Responses {
            errors.add("api = responses is for chat models; leave it out");
        }
    }
    let defaults = match accounts.find(&route_entry.provider) {
        Some(account) => feature_defaults::for_kind(account.kind, api),
        None => Features::plain(),
    };
    let features = entry.features.apply(defaults, errors);
    let cost = route_entry.cost.as_ref();
    let route = Route {
        provider: route_entry.provider.clone(),
        upstream_model: upstream.clone(),
        via,
        shards: only_shards(&route_entry.provider, accounts),
        api,
        features: route_entry.features.apply(features, errors),
        cost: cost
            .zip(kind)
            .and_then(|(cost, kind)| price::validate_cost(cost, kind, errors)),
    };
    (errors.count() == before).then_some(route)
}

/// Chat Completions unless the route says otherwise.
fn chat_api(
    route_entry: &RouteEntry,
    accounts: &ProviderAccounts,
    errors: &mut EntryErrors<'_>,
) -> ChatApi {
    let account = accounts.find(&route_entry.provider);
    let kind = account.map(ProviderAccount::account_kind);
    let word = route_entry.api.as_deref();
    if word.is_some() && kind.is_none_or(|kind| kind.adapter != ProviderKind::OpenAi) {
        errors.add("api can be given only for a provider of the kind openai");
        return ChatApi::Completions;
    }
    let has_responses_api = kind.is_some_and(AccountKind::has_responses_api);
    match word {
        None | Some("completions") => ChatApi::Completions,
        Some("responses") if has_responses_api => ChatApi::Responses,
        Some("responses") => {
            let provider = &route_entry.provider;
            errors.add(&format!(
                "provider `{provider}` does not support api = responses; leave api out"
            ));
            ChatApi::Completions
        }
        Some(word) => {
            errors.add(&format!(
                "api `{word}` is neither completions nor responses"
            ));
            ChatApi::Completions
        }
    }
}

/// The shards that an account serves; empty if it serves all.
fn only_shards(name: &str, accounts: &ProviderAccounts) -> Vec<String> {
    let Some(account) = accounts.find(name) else {
        return Vec::new();
    };
    let serves = |shard: &str| account.shares.contains_key(shard);
    if accounts.shards().all(serves) {
        return Vec::new();
    }
    account.shares.keys().cloned().collect()
}

/// The default mode first; an unknown provider is an error.
fn supported_modes<'a>(
    name: &str,
    accounts: &'a ProviderAccounts,
    errors: &mut EntryErrors<'_>,
) -> Option<&'a [InferenceMode]> {
    if name == MOCK {
        return Some(&[InferenceMode::Batch]);
    }
    if let Some(account) = accounts.find(name) {
        return Some(account.account_kind().supported_modes());
    }
    let known = || std::iter::once(MOCK).chain(accounts.names());
    let hint = closest_name(name, known()).map_or_else(
        || match known().collect::<Vec<_>>().as_slice() {
            [only] => format!("use {only}"),
            several => format!("use one of {}", several.join(", ")),
        },
        |near| format!("did you mean {near}?"),
    );
    errors.add(&format!("there is no provider `{name}`; {hint}"));
    None
}

/// A cargo may take any of the routes, so each must support everything that the model accepts.
fn check_work(
    account: &ProviderAccount,
    kind: Option<ModelKind>,
    capabilities: &[Capability],
    errors: &mut EntryErrors<'_>,
) {
    let (name, account_kind) = (&account.name, account.account_kind());
    let of = account_kind.as_str();
    if kind.is_some_and(|kind| !account_kind.can_serve(kind)) {
        errors.add(&format!(
            "provider `{name}` ({of}) does not support embeddings"
        ));
    }
    for capability in capabilities {
        if !account_kind.can_read(*capability) {
            let what = match capability {
                Capability::Vision => "images",
                Capability::Documents => "PDF documents",
                Capability::Video => "video",
            };
            let has = capability.as_str();
            let text =
                format!("provider `{name}` ({of}) cannot read {what}, but the model has {has}");
            errors.add(&text);
        }
    }
}

/// Cargo on a shard that no route serves would never be sent.
fn check_shards(routes: &[Route], accounts: &ProviderAccounts, errors: &mut EntryErrors<'_>) {
    let mut unserved: BTreeSet<&str> = accounts.shards().collect();
    for route in routes {
        match accounts.find(&route.provider) {
            Some(account) => unserved.retain(|shard| !account.shares.contains_key(*shard)),
            // The mock provider serves every shard.
            None => unserved.clear(),
        }
    }
    for shard in unserved {
        errors.add(&format!(
            "no route serves shard `{shard}`: add a route to a provider that lists it in shards"
        ));
    }
}
