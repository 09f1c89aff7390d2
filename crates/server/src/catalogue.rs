//! The model catalogue, read from a `models.toml`; the example file in the repository explains its
//! fields.

mod check;
mod entry;
mod feature_defaults;
mod features;
mod price;
mod price_entry;
mod routes;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::model::{Catalogue, Model, ModelKind, SVC_MOCK};
use domain::provider_options::is_denied;
use tokio::sync::watch;

use crate::catalogue::entry::CatalogueFile;
use crate::entry_errors::EntryErrors;
use crate::providers::{MOCK, ProviderAccounts};

#[derive(Debug, thiserror::Error)]
pub enum CatalogueFailure {
    #[error("the model catalogue {} cannot be read: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the model catalogue {} is invalid:\n{errors}", .path.display())]
    Invalid { path: PathBuf, errors: String },
}

/// The catalogue, its file, and the channel that publishes it after a reload.
#[derive(Debug)]
pub struct CatalogueStore {
    path: Option<PathBuf>,
    /// The accounts that models may name; they change only with a restart.
    accounts: ProviderAccounts,
    sender: watch::Sender<Arc<Catalogue>>,
}

impl CatalogueStore {
    pub fn open(
        path: Option<PathBuf>,
        accounts: ProviderAccounts,
    ) -> Result<Self, CatalogueFailure> {
        let catalogue = read(path.as_deref(), &accounts)?;
        let (sender, _) = watch::channel(Arc::new(catalogue));
        Ok(Self {
            path,
            accounts,
            sender,
        })
    }

    pub const fn accounts(&self) -> &ProviderAccounts {
        &self.accounts
    }

    pub fn watch(&self) -> watch::Receiver<Arc<Catalogue>> {
        self.sender.subscribe()
    }

    /// Reads the file again. An invalid file keeps the current catalogue.
    pub fn reload(&self) {
        let Some(path) = self.path.as_deref() else {
            tracing::info!("catalogue not reloaded: SVC_MODELS_FILE is not set");
            return;
        };
        match read(Some(path), &self.accounts) {
            Ok(catalogue) => {
                let models = catalogue.ids().count();
                self.sender.send_replace(Arc::new(catalogue));
                tracing::info!(catalogue.models = models, "catalogue reloaded");
            }
            Err(failure) => {
                tracing::error!(
                    error = %failure,
                    "catalogue reload failed: the current catalogue stays in use"
                );
            }
        }
    }
}

fn read(path: Option<&Path>, accounts: &ProviderAccounts) -> Result<Catalogue, CatalogueFailure> {
    let Some(path) = path else {
        return Ok(Catalogue::new([svc_mock()]));
    };
    let text = std::fs::read_to_string(path).map_err(|source| CatalogueFailure::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    parse(&text, accounts).map_err(|errors| CatalogueFailure::Invalid {
        path: path.to_owned(),
        errors,
    })
}

/// The error lists everything that is wrong, one line each.
fn parse(text: &str, accounts: &ProviderAccounts) -> Result<Catalogue, String> {
    let file: CatalogueFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut errors = denied_options(accounts);
    let mut ids = BTreeSet::new();
    let mut models = Vec::with_capacity(file.model.len() + 1);
    for entry in &file.model {
        let mut entry_errors = EntryErrors::for_entry("model", &entry.id, &mut errors);
        if !ids.insert(entry.id.as_str()) {
            entry_errors.add("this id is in the file twice");
        }
        models.extend(entry.validate(accounts, &mut entry_errors));
    }
    if !ids.contains(SVC_MOCK) {
        models.push(svc_mock());
    }
    if errors.is_empty() {
        Ok(Catalogue::new(models))
    } else {
        Err(errors.join("\n"))
    }
}

/// Accounts are shared by many organizations, so some options cannot be allowed at all.
fn denied_options(accounts: &ProviderAccounts) -> Vec<String> {
    let mut errors = Vec::new();
    for account in accounts.iter() {
        let mut entry_errors = EntryErrors::for_entry("provider", &account.name, &mut errors);
        for key in account.provider_options.iter().filter(|key| is_denied(key)) {
            entry_errors.add(&format!(
                "provider_options has `{key}`, which can never be allowed; remove it"
            ));
        }
    }
    errors
}

fn svc_mock() -> Model {
    Model::plain(SVC_MOCK, MOCK, ModelKind::Chat)
}
