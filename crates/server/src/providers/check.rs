//! Validation of a `[[provider]]` entry.

use std::collections::{BTreeMap, BTreeSet};

use domain::money::Money;
use domain::suggestion::closest_name;
use url::Url;

use crate::entry_errors::EntryErrors;
use crate::providers::credential::{CredentialAccess, CredentialSource};
use crate::providers::entry::{PriceFactorEntry, ProviderEntry};
use crate::providers::limits::ProviderLimits;
use crate::providers::preset::AccountKind;
use crate::providers::{MOCK, ProviderAccount};

const MAX_NAME_BYTES: usize = 63;
const MAX_WEIGHT: i64 = 1_000_000;
/// A higher factor is most likely a wrong decimal point.
const MAX_PRICE_FACTOR: Money = Money(2_000_000_000);

impl ProviderEntry {
    /// None when something is wrong; all errors are collected.
    pub(super) fn validate(
        &self,
        shards: &[&str],
        credentials: CredentialAccess<'_>,
        others: &BTreeMap<String, ProviderAccount>,
        errors: &mut EntryErrors<'_>,
    ) -> Option<ProviderAccount> {
        let before = errors.count();
        self.check_name(errors);
        let kind = AccountKind::parse(&self.kind);
        if kind.is_none() {
            let words = AccountKind::list_names();
            errors.add(&format!("kind `{}` is not one of {words}", self.kind));
        }
        let weights = self.weights(shards, errors);
        let source = CredentialSource::validate(self, errors);
        let credential = source
            .as_ref()
            .and_then(|source| source.read(credentials, errors));
        // The other checks depend on the kind.
        let kind = kind?;
        let base = self.base(kind, errors);
        self.check_credential(kind, errors);
        let limits = ProviderLimits::validate(&self.limits, kind, errors);
        let divided = limits.divide(&weights, errors);
        let price_factor = self.factor(kind, errors);
        self.check_options(errors);
        check_label(kind, &weights, errors);
        let account = ProviderAccount {
            name: self.name.clone(),
            kind: kind.adapter,
            preset: kind.preset,
            base_url: base?,
            source,
            credential,
            weights,
            price_factor: price_factor?,
            provider_options: self.provider_options.clone(),
            limits,
            shares: divided,
        };
        check_workspace(&account, others, errors);
        (errors.count() == before).then_some(account)
    }

    fn check_name(&self, errors: &mut EntryErrors<'_>) {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let name = &self.name;
        if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.bytes().all(allowed) {
            let text = format!("a name must be 1 to {MAX_NAME_BYTES} letters, digits, -, _ and .");
            errors.add(&text);
        }
        if name == MOCK {
            errors.add("this name is reserved for the built-in mock provider");
        }
    }

    /// A URL may contain a password or a key, so the error does not quote it.
    fn base(&self, kind: AccountKind, errors: &mut EntryErrors<'_>) -> Option<Url> {
        let Some(text) = self.base_url.as_deref().or(kind.default_base_url()) else {
            errors.add(if kind.preset.is_some() {
                "base_url is missing: set it to the URL of your resource, such as \
                 https://RESOURCE.openai.azure.com/openai/v1"
            } else {
                "base_url is missing: set it to the URL of the server, such as http://host:8000/v1"
            });
            return None;
        };
        let is_plain = |url: &Url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
                && url.fragment().is_none()
        };
        let Some(url) = Url::parse(text).ok().filter(is_plain) else {
            errors.add("base_url is not an http or https URL without user and query");
            return None;
        };
        let path = url.path().trim_end_matches('/');
        let version = path.rsplit('/').next().unwrap_or_default();
        let is_version =
            version.starts_with('v') && version.contains(|it: char| it.is_ascii_digit());
        match (kind.adapter.base_has_version(), is_version) {
            (true, _) if path.is_empty() => {
                errors.add("base_url must end with the API version for this kind: …/v1");
            }
            (false, true) => {
                errors.add("base_url must not contain the API version for this kind");
            }
            _ => return Some(url),
        }
        None
    }

    fn check_credential(&self, kind: AccountKind, errors: &mut EntryErrors<'_>) {
        let is_given = self.credential_env.is_some() || self.credential_file.is_some();
        if kind.adapter.needs_credential() && !is_given {
            errors.add("credential_env or credential_file is missing");
        }
    }

    /// Whether an option may be listed at all is a rule of the catalogue.
    fn check_options(&self, errors: &mut EntryErrors<'_>) {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let mut names = BTreeSet::new();
        for name in &self.provider_options {
            if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.bytes().all(is_allowed) {
                errors.add("provider_options must be names of fields, such as [\"verbosity\"]");
            } else if !names.insert(name) {
                errors.add(&format!("provider_options has `{name}` twice"));
            }
        }
    }

    /// Without a `shards` table all shards have the same weight.
    fn weights(&self, shards: &[&str], errors: &mut EntryErrors<'_>) -> BTreeMap<String, u64> {
        let Some(table) = &self.shards else {
            return shards.iter().map(|name| ((*name).to_owned(), 1)).collect();
        };
        if table.is_empty() {
            errors.add("shards is empty; remove it to give all shards the same weight");
        }
        let mut weights = BTreeMap::new();
        for (shard, weight) in table {
            if !shards.contains(&shard.as_str()) {
                let near = closest_name(shard, shards.iter().copied());
                let hint = near.map_or_else(
                    || format!("the shards are {}", shards.join(", ")),
                    |near| format!("did you mean {near}?"),
                );
                errors.add(&format!("unknown shard `{shard}`; {hint}"));
            }
            let field = format!("shards.{shard}");
            if let Some(weight) = errors.whole_number(&field, Some(*weight), 1..=MAX_WEIGHT) {
                weights.insert(shard.clone(), weight);
            }
        }
        weights
    }

    fn factor(&self, kind: AccountKind, errors: &mut EntryErrors<'_>) -> Option<Money> {
        let text = match &self.price_factor {
            None => return Some(Money(kind.adapter.default_price_factor())),
            Some(PriceFactorEntry::Text(text)) => text,
            Some(PriceFactorEntry::Unquoted(_)) => {
                errors.add("price_factor must be in quotes, such as \"0.5\", so that it is exact");
                return None;
            }
        };
        let read: Option<Money> = text.parse().ok();
        let factor = read.filter(|it| (Money::ZERO..=MAX_PRICE_FACTOR).contains(it));
        if factor.is_none() {
            errors.add("price_factor is not a number from 0 to 2 with at most nine decimals");
        }
        factor
    }
}

/// Jobs without labels are found by time and size alone. If two shards shared the account, each
/// could mistake the other's job for its own.
fn check_label(kind: AccountKind, weights: &BTreeMap<String, u64>, errors: &mut EntryErrors<'_>) {
    if kind.adapter.has_labels() || weights.len() == 1 {
        return;
    }
    let names: Vec<_> = weights.keys().map(String::as_str).collect();
    let kind = kind.as_str();
    let text = format!(
        "{kind} jobs carry no labels, so an account can serve only one shard, but this one serves \
         {}: create a workspace per shard at the provider and a [[provider]] per workspace here, \
         with shards = {{ {} = 1 }} and so on",
        names.join(", "),
        names.first().unwrap_or(&"main"),
    );
    errors.add(&text);
}

/// Two accounts with the same credential are the same workspace.
fn check_workspace(
    account: &ProviderAccount,
    others: &BTreeMap<String, ProviderAccount>,
    errors: &mut EntryErrors<'_>,
) {
    if account.kind.has_labels() {
        return;
    }
    let is_same = |other: &&ProviderAccount| {
        let credential = account.credential.is_some() && account.credential == other.credential;
        let source = account.source.is_some() && account.source == other.source;
        other.kind == account.kind && other.base_url == account.base_url && (credential || source)
    };
    if let Some(other) = others.values().find(is_same) {
        let text = format!(
            "has the same credential as `{}` and would see its jobs; each shard needs a separate \
             workspace",
            other.name
        );
        errors.add(&text);
    }
}
