//! The accounts at providers, read from a `providers.toml`; `docs/providers.md` explains its fields.

mod adapter;
mod check;
pub mod credential;
mod entry;
pub mod kind;
pub mod limits;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use domain::money::Money;
use outbound::provider::credential::Credential;
use url::Url;
use workers::Share;

use crate::notes::Notes;
pub use crate::providers::adapter::Adapter;
use crate::providers::credential::{Credentials, Source};
use crate::providers::entry::File;
use crate::providers::kind::Kind;
use crate::providers::limits::Limits;
use crate::settings::Settings;

/// The provider that is always there, and so no account's name.
pub const MOCK: &str = "mock";

/// Never with a credential in it, nor a line of the file, where one may stand by mistake.
#[derive(Debug, thiserror::Error)]
pub enum ProvidersFailure {
    #[error("the providers {} cannot be read: {source}", .path.display())]
    Unread { path: PathBuf, source: io::Error },
    #[error("the providers {} are wrong:\n{faults}", .path.display())]
    Wrong { path: PathBuf, faults: String },
}

/// One account at a provider.
#[derive(Debug, Clone)]
pub struct Account {
    pub name: String,
    pub kind: Kind,
    pub base: Url,
    pub source: Option<Source>,
    /// Nothing when there is none, or when it was not read.
    pub credential: Option<Credential>,
    pub weights: BTreeMap<String, u64>,
    /// What we pay of the realtime price, as an amount for a dollar.
    pub price_factor: Money,
    pub limits: Limits,
    /// By shard; one that is not here has nothing of the account.
    pub shares: BTreeMap<String, Share>,
}

/// Every account, by name, and the shards that they may serve.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    accounts: BTreeMap<String, Account>,
    shards: Vec<String>,
}

impl Accounts {
    pub fn of(settings: &Settings, credentials: Credentials<'_>) -> Result<Self, ProvidersFailure> {
        let path = settings.values.providers_file.as_deref();
        Self::open(path, &settings.databases.shard_names(), credentials)
    }

    /// Without a file there are no accounts.
    fn open(
        path: Option<&Path>,
        shards: &[&str],
        credentials: Credentials<'_>,
    ) -> Result<Self, ProvidersFailure> {
        let Some(path) = path else {
            return Ok(Self {
                accounts: BTreeMap::new(),
                shards: shards.iter().map(|name| (*name).to_owned()).collect(),
            });
        };
        let text = std::fs::read_to_string(path).map_err(|source| ProvidersFailure::Unread {
            path: path.to_owned(),
            source,
        })?;
        parse(&text, shards, credentials).map_err(|faults| ProvidersFailure::Wrong {
            path: path.to_owned(),
            faults,
        })
    }

    pub fn find(&self, name: &str) -> Option<&Account> {
        self.accounts.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Account> {
        self.accounts.values()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.accounts.keys().map(String::as_str)
    }

    pub fn shards(&self) -> impl Iterator<Item = &str> {
        self.shards.iter().map(String::as_str)
    }
}

/// An error is every fault, one a line.
fn parse(text: &str, shards: &[&str], credentials: Credentials<'_>) -> Result<Accounts, String> {
    let file: File = toml::from_str(text).map_err(|fault| told(text, &fault))?;
    let mut faults = Vec::new();
    let mut accounts: BTreeMap<String, Account> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for entry in &file.provider {
        let mut notes = Notes::of("provider", &entry.name, &mut faults);
        if !names.insert(entry.name.as_str()) {
            notes.fault("this name stands in the file twice");
        }
        let checked = entry.checked(shards, credentials, &accounts, &mut notes);
        accounts.extend(checked.map(|account| (account.name.clone(), account)));
    }
    if faults.is_empty() {
        let shards = shards.iter().map(|name| (*name).to_owned()).collect();
        Ok(Accounts { accounts, shards })
    } else {
        Err(faults.join("\n"))
    }
}

/// The place and the reason, without the text that stands there: it may be a credential.
fn told(text: &str, fault: &toml::de::Error) -> String {
    let before = fault.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(0, |before| before.matches('\n').count()) + 1;
    let reason = fault.message();
    let reason = match (reason.find('"'), reason.rfind('"')) {
        (Some(first), Some(last)) if first < last => {
            let (start, end) = (reason.get(..first), reason.get(last + 1..));
            format!("{}…{}", start.unwrap_or_default(), end.unwrap_or_default())
        }
        _ => reason.to_owned(),
    };
    format!("line {line}: {reason}")
}
