//! The catalogue of models, read from a `models.toml`.
//!
//! ```toml
//! [[model]]
//! id = "harbour-large"
//! provider = "mock"
//! kind = "chat"                    # or "embedding"
//! capabilities = ["vision"]        # any of vision, documents, video
//! mock = { fail = "no berth" }     # the mock provider only: every request fails so
//! ```

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::model::{Capability, Catalogue, Kind, Mocking, Model, SVC_MOCK};
use serde::Deserialize;
use tokio::sync::watch;

/// The providers that a model may name.
const PROVIDERS: [&str; 1] = [MOCK];
pub const MOCK: &str = "mock";

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
    sender: watch::Sender<Arc<Catalogue>>,
}

impl Shelf {
    pub fn open(path: Option<PathBuf>) -> Result<Self, CatalogueFailure> {
        let catalogue = read(path.as_deref())?;
        let (sender, _) = watch::channel(Arc::new(catalogue));
        Ok(Self { path, sender })
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
        match read(Some(path)) {
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

fn read(path: Option<&Path>) -> Result<Catalogue, CatalogueFailure> {
    let Some(path) = path else {
        return Ok(Catalogue::new([svc_mock()]));
    };
    let text = std::fs::read_to_string(path).map_err(|source| CatalogueFailure::Unread {
        path: path.to_owned(),
        source,
    })?;
    parse(&text).map_err(|faults| CatalogueFailure::Wrong {
        path: path.to_owned(),
        faults,
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    model: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    provider: String,
    kind: String,
    #[serde(default)]
    capabilities: Vec<String>,
    mock: Option<Mock>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mock {
    fail: Option<String>,
}

/// An error is every fault, one a line.
fn parse(text: &str) -> Result<Catalogue, String> {
    let file: File = toml::from_str(text).map_err(|fault| fault.to_string())?;
    let mut faults = String::new();
    let mut ids = BTreeSet::new();
    let mut models = Vec::with_capacity(file.model.len() + 1);
    for entry in &file.model {
        if !ids.insert(entry.id.as_str()) {
            note(&mut faults, &entry.id, "this id stands in the file twice");
        }
        models.extend(entry.checked(&mut faults));
    }
    if !ids.contains(SVC_MOCK) {
        models.push(svc_mock());
    }
    if faults.is_empty() {
        Ok(Catalogue::new(models))
    } else {
        Err(faults)
    }
}

impl Entry {
    fn checked(&self, faults: &mut String) -> Option<Model> {
        let before = faults.len();
        if self.id.is_empty() || self.id.len() > 255 || self.id.contains(char::is_control) {
            note(
                faults,
                &self.id,
                "an id is 1 to 255 bytes without control characters",
            );
        }
        if !PROVIDERS.contains(&self.provider.as_str()) {
            note(
                faults,
                &self.id,
                &format!("there is no provider `{}`; use mock", self.provider),
            );
        }
        let kind = Kind::parse(&self.kind);
        if kind.is_none() {
            note(
                faults,
                &self.id,
                &format!("kind `{}` is neither chat nor embedding", self.kind),
            );
        }
        let mut capabilities = Vec::new();
        for word in &self.capabilities {
            match Capability::parse(word) {
                Some(capability) if capabilities.contains(&capability) => {}
                Some(capability) => capabilities.push(capability),
                None => {
                    let text = format!("capability `{word}` is none of vision, documents, video");
                    note(faults, &self.id, &text);
                }
            }
        }
        // Callers are promised that svc-mock is a free chat model they can try at any time.
        let failing = self.mock.as_ref().is_some_and(|mock| mock.fail.is_some());
        if self.id == SVC_MOCK && (self.provider != MOCK || kind != Some(Kind::Chat) || failing) {
            note(
                faults,
                &self.id,
                "svc-mock is a chat model of the mock provider that answers",
            );
        }
        let mock = self.mock.as_ref().and_then(|mock| mock.fail.clone());
        let mocking = mock.map_or(Mocking::Echo, Mocking::Fail);
        let (id, provider) = (self.id.clone(), self.provider.clone());
        let model = kind.map(|kind| Model {
            id,
            provider,
            kind,
            capabilities,
            mocking,
        });
        model.filter(|_| faults.len() == before)
    }
}

fn note(faults: &mut String, id: &str, text: &str) {
    let separator = if faults.is_empty() { "" } else { "\n" };
    // Writing to a text cannot fail.
    let _written = write!(faults, "{separator}model `{id}`: {text}");
}

fn svc_mock() -> Model {
    Model {
        id: SVC_MOCK.to_owned(),
        provider: MOCK.to_owned(),
        kind: Kind::Chat,
        capabilities: Vec::new(),
        mocking: Mocking::Echo,
    }
}
