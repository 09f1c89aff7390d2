//! May this be loaded? The checks that need the catalogue, and then those that need the
//! files, in the contract's order.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::BuildHasher;

use crate::file::{self, Referenced};
use crate::id::FileId;
use crate::model::{Capability, Catalogue, Kind, Model};
use crate::nearest::nearest;
use crate::params::Params;
use crate::time::Timestamp;

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
    /// It is still on its way, or no longer there.
    FileNotReady {
        file_id: String,
    },
    /// The block says another kind than the file is.
    FileKindMismatch {
        file_id: String,
        block: file::Kind,
        file: file::Kind,
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
        .map(|(kind, _)| kind.capability())
        .find(|wanted| !model.capabilities.contains(wanted));
    if let Some(capability) = unreadable {
        return Err(LoadRefusal::CapabilityMissing { capability });
    }
    Ok(model)
}

/// The files that the load names, one for each naming. `found` are those of the caller's project.
pub fn refer<S: BuildHasher>(
    params: &Params,
    found: &HashMap<FileId, Referenced, S>,
    now: Timestamp,
) -> Result<Vec<Referenced>, LoadRefusal> {
    let named = params.references().map(|(block, file_id)| {
        let file = file_id.parse().ok().and_then(|id| found.get(&id));
        let file_id = || file_id.to_owned();
        let Some(file) = file else {
            return Err(LoadRefusal::FileNotFound { file_id: file_id() });
        };
        if !file.is_ready(now) {
            return Err(LoadRefusal::FileNotReady { file_id: file_id() });
        }
        let kind = file.media_type.kind();
        if kind != block {
            return Err(LoadRefusal::FileKindMismatch {
                file_id: file_id(),
                block,
                file: kind,
            });
        }
        Ok(*file)
    });
    named.collect()
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
