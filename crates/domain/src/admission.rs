//! May this be loaded? The checks that need the catalogue, in the contract's order.

#[cfg(test)]
mod tests;

use crate::model::{Capability, Catalogue, Kind, Model};
use crate::nearest::nearest;
use crate::params::Params;

/// A token is three or four bytes of most texts; a text with one for eight is not met.
const BYTES_PER_TOKEN: u64 = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadRefusal {
    UnknownModel {
        supported: Vec<String>,
        /// The one that was meant, if the id looks like a slip.
        nearest: Option<String>,
    },
    /// The model is of the other kind than the request.
    KindMismatch {
        model: Kind,
    },
    /// More than the model takes or gives; all of it at once.
    TooMuch(Vec<Excess>),
    CapabilityMissing {
        capability: Capability,
    },
    /// There is no such file in the caller's project.
    FileNotFound {
        file_id: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The text cannot fit the tokens that the model reads at once.
    Input { kind: Kind, context: u64 },
    /// `max_tokens` is more than the model answers with.
    Output { most: u32 },
}

/// The model that the load asks for, if it may.
pub fn admit<'a>(params: &Params, catalogue: &'a Catalogue) -> Result<&'a Model, LoadRefusal> {
    let Some(model) = catalogue.find(params.model()) else {
        let supported = catalogue.ids().map(str::to_owned).collect();
        let nearest = nearest(params.model(), catalogue.ids()).map(str::to_owned);
        return Err(LoadRefusal::UnknownModel { supported, nearest });
    };
    if model.kind != params.kind() {
        return Err(LoadRefusal::KindMismatch { model: model.kind });
    }
    let excesses: Vec<Excess> = [output(params, model), input(params, model)]
        .into_iter()
        .flatten()
        .collect();
    if !excesses.is_empty() {
        return Err(LoadRefusal::TooMuch(excesses));
    }
    let unreadable = params
        .references()
        .find(|(wanted, _)| !model.capabilities.contains(wanted));
    if let Some((capability, _)) = unreadable {
        return Err(LoadRefusal::CapabilityMissing { capability });
    }
    // No file can be stored yet, so none can be found.
    if let Some((_, file_id)) = params.references().next() {
        return Err(LoadRefusal::FileNotFound {
            file_id: file_id.to_owned(),
        });
    }
    Ok(model)
}

/// Only what cannot fit whatever the tokenizer: the provider counts what is near the edge.
fn input(params: &Params, model: &Model) -> Option<Excess> {
    let context = model.context?;
    let longest = u64::try_from(params.longest_input()).unwrap_or(u64::MAX);
    let kind = params.kind();
    (longest / BYTES_PER_TOKEN > context).then_some(Excess::Input { kind, context })
}

fn output(params: &Params, model: &Model) -> Option<Excess> {
    let most = model.max_output?;
    match params {
        Params::Chat(chat) if chat.max_tokens > most => Some(Excess::Output { most }),
        Params::Chat(_) | Params::Embedding(_) => None,
    }
}
