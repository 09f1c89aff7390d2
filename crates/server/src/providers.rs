//! Provider accounts, read from a `providers.toml`; `docs/providers.md` explains its fields.

mod adapter;
mod check;
pub mod credential;
mod entry;
pub mod kind;
pub mod limits;
pub mod preset;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use domain::money::Money;
use outbound::provider::credential::ProviderCredential;
use url::Url;
use workers::AccountShare;

use crate::entry_errors::EntryErrors;
pub use crate::providers::adapter::ProviderAdapter;
use crate::providers::credential::{CredentialAccess, CredentialSource};
use crate::providers::entry::ProvidersFile;
use crate::providers::kind::ProviderKind;
use crate::providers::limits::ProviderLimits;
use crate::providers::preset::{AccountKind, OpenAiPreset};
use crate::settings::Settings;

/// The name of the built-in mock provider; no account may have it.
pub const MOCK: &str = "mock";

/// Never quotes a credential or a line of the file, which may contain one by mistake.
#[derive(Debug, thiserror::Error)]
pub enum ProvidersFailure {
    #[error("the providers file {} cannot be read: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the providers file {} is invalid:\n{errors}", .path.display())]
    Invalid { path: PathBuf, errors: String },
}

/// One account at a provider.
#[derive(Debug, Clone)]
pub struct ProviderAccount {
    pub name: String,
    /// The adapter.
    pub kind: ProviderKind,
    /// None for an account at the provider for which the adapter was written.
    pub preset: Option<&'static OpenAiPreset>,
    pub base_url: Url,
    pub source: Option<CredentialSource>,
    /// None when the account has none, or when credentials were not read.
    pub credential: Option<ProviderCredential>,
    pub weights: BTreeMap<String, u64>,
    /// The part of the realtime price that the provider charges, as an amount per dollar.
    pub price_factor: Money,
    /// The options that callers may set for this account.
    pub provider_options: Vec<String>,
    pub limits: ProviderLimits,
    /// By shard; a shard without an entry cannot use the account.
    pub shares: BTreeMap<String, AccountShare>,
}

impl ProviderAccount {
    /// What its `kind` in the file means.
    pub const fn account_kind(&self) -> AccountKind {
        AccountKind {
            adapter: self.kind,
            preset: self.preset,
        }
    }
}

/// All accounts by name, and the shards of this installation.
#[derive(Debug, Clone, Default)]
pub struct ProviderAccounts {
    accounts: BTreeMap<String, ProviderAccount>,
    shards: Vec<String>,
}

impl ProviderAccounts {
    pub fn from_settings(
        settings: &Settings,
        credentials: CredentialAccess<'_>,
    ) -> Result<Self, ProvidersFailure> {
        let path = settings.values.providers_file.as_deref();
        Self::open(path, &settings.databases.shard_names(), credentials)
    }

    /// Without a file there are no accounts.
    fn open(
        path: Option<&Path>,
        shards: &[&str],
        credentials: CredentialAccess<'_>,
    ) -> Result<Self, ProvidersFailure> {
        let Some(path) = path else {
            return Ok(Self {
                accounts: BTreeMap::new(),
                shards: shards.iter().map(|name| (*name).to_owned()).collect(),
            });
        };
        let text =
            std::fs::read_to_string(path).map_err(|source| ProvidersFailure::Unreadable {
                path: path.to_owned(),
                source,
            })?;
        parse(&text, shards, credentials).map_err(|errors| ProvidersFailure::Invalid {
            path: path.to_owned(),
            errors,
        })
    }

    pub fn find(&self, name: &str) -> Option<&ProviderAccount> {
        self.accounts.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &ProviderAccount> {
        self.accounts.values()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.accounts.keys().map(String::as_str)
    }

    pub fn shards(&self) -> impl Iterator<Item = &str> {
        self.shards.iter().map(String::as_str)
    }
}

/// The error lists everything that is wrong, one line each.
fn parse(
    text: &str,
    shards: &[&str],
    credentials: CredentialAccess<'_>,
) -> Result<ProviderAccounts, String> {
    let file: ProvidersFile =
        toml::from_str(text).map_err(|error| describe_toml_error(text, &error))?;
    let mut errors = Vec::new();
    let mut accounts: BTreeMap<String, ProviderAccount> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for entry in &file.provider {
        let mut entry_errors = EntryErrors::for_entry("provider", &entry.name, &mut errors);
        if !names.insert(entry.name.as_str()) {
            entry_errors.add("this name is in the file twice");
        }
        let checked = entry.validate(shards, credentials, &accounts, &mut entry_errors);
        accounts.extend(checked.map(|account| (account.name.clone(), account)));
    }
    if errors.is_empty() {
        let shards = shards.iter().map(|name| (*name).to_owned()).collect();
        Ok(ProviderAccounts { accounts, shards })
    } else {
        Err(errors.join("\n"))
    }
}

/// The line and the reason, without the text of that line: it may be a credential.
fn describe_toml_error(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(0, |before| before.matches('\n').count()) + 1;
    let reason = error.message();
    let reason = match (reason.find('"'), reason.rfind('"')) {
        (Some(first), Some(last)) if first < last => {
            let (start, end) = (reason.get(..first), reason.get(last + 1..));
            format!("{}…{}", start.unwrap_or_default(), end.unwrap_or_default())
        }
        _ => reason.to_owned(),
    };
    format!("line {line}: {reason}")
}
