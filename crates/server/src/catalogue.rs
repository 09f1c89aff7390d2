//! The catalogue of models, read from a `models.toml`; the one beside this code explains its fields.

mod check;
mod entry;
mod price;
mod routes;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::model::{Catalogue, Kind, Model, SVC_MOCK};
use tokio::sync::watch;

use crate::catalogue::entry::File;
use crate::notes::Notes;
use crate::providers::{Accounts, MOCK};

#[derive(Debug, thiserror::Error)]
pub enum CatalogueFailure {
    #[error("the catalogue {} cannot be read: {source}", .path.display())]
    Unread { path: PathBuf, source: io::Error },
    #[error("the catalogue {} is wrong:\n{faults}", .path.display())]
    Wrong { path: PathBuf, faults: String },
}

/// Where the catalogue comes from, and who is told when it is read again.
#[derive(Debug)]
pub struct Shelf {
    path: Option<PathBuf>,
    /// Those that models may name; they stay what they are until the next start.
    accounts: Accounts,
    sender: watch::Sender<Arc<Catalogue>>,
}

impl Shelf {
    pub fn open(path: Option<PathBuf>, accounts: Accounts) -> Result<Self, CatalogueFailure> {
        let catalogue = read(path.as_deref(), &accounts)?;
        let (sender, _) = watch::channel(Arc::new(catalogue));
        Ok(Self {
            path,
            accounts,
            sender,
        })
    }

    pub const fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    pub fn watch(&self) -> watch::Receiver<Arc<Catalogue>> {
        self.sender.subscribe()
    }

    /// Reads the file again. A broken one leaves everything as it was.
    pub fn reload(&self) {
        let Some(path) = self.path.as_deref() else {
            tracing::info!("there is no SVC_MODELS_FILE to read again");
            return;
        };
        match read(Some(path), &self.accounts) {
            Ok(catalogue) => {
                let models = catalogue.ids().count();
                self.sender.send_replace(Arc::new(catalogue));
                tracing::info!(catalogue.models = models, "catalogue read again");
            }
            Err(failure) => {
                tracing::error!(error = %failure, "catalogue kept as it was");
            }
        }
    }
}

fn read(path: Option<&Path>, accounts: &Accounts) -> Result<Catalogue, CatalogueFailure> {
    let Some(path) = path else {
        return Ok(Catalogue::new([svc_mock()]));
    };
    let text = std::fs::read_to_string(path).map_err(|source| CatalogueFailure::Unread {
        path: path.to_owned(),
        source,
    })?;
    parse(&text, accounts).map_err(|faults| CatalogueFailure::Wrong {
        path: path.to_owned(),
        faults,
    })
}

/// An error is every fault, one a line.
fn parse(text: &str, accounts: &Accounts) -> Result<Catalogue, String> {
    let file: File = toml::from_str(text).map_err(|fault| fault.to_string())?;
    let mut faults = Vec::new();
    let mut ids = BTreeSet::new();
    let mut models = Vec::with_capacity(file.model.len() + 1);
    for entry in &file.model {
        let mut notes = Notes::of("model", &entry.id, &mut faults);
        if !ids.insert(entry.id.as_str()) {
            notes.fault("this id stands in the file twice");
        }
        models.extend(entry.checked(accounts, &mut notes));
    }
    if !ids.contains(SVC_MOCK) {
        models.push(svc_mock());
    }
    if faults.is_empty() {
        Ok(Catalogue::new(models))
    } else {
        Err(faults.join("\n"))
    }
}

fn svc_mock() -> Model {
    Model::plain(SVC_MOCK, MOCK, Kind::Chat)
}
