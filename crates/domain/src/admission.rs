//! Admission of loads: the checks that need the catalogue, then those that need the files, in the
//! contract's order.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::BuildHasher;

use crate::file::{self, ReferencedFile};
use crate::id::FileId;
use crate::model::{Capability, Catalogue, Model, ModelKind};
use crate::params::Params;
use crate::suggestion::closest_name;
use crate::time::Timestamp;

/// Most texts have three or four bytes per token. Texts with more than eight do not occur.
const MAX_BYTES_PER_TOKEN: u64 = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadRefusal {
    UnknownModel {
        supported: Vec<String>,
        /// The id that was probably meant, if the given one looks like a typo.
        nearest: Option<String>,
    },
    /// The model is of another kind than the request.
    KindMismatch {
        model: ModelKind,
    },
    /// The load exceeds limits of the model. All of them are listed.
    TooManyTokens(Vec<TokenExcess>),
    CapabilityMissing {
        capability: Capability,
    },
    /// There is no such file in the caller's project.
    FileNotFound {
        file_id: String,
    },
    /// The file is not ready yet, or has expired.
    FileNotReady {
        file_id: String,
    },
    /// The content block names another kind than the file has.
    FileKindMismatch {
        file_id: String,
        block: file::FileKind,
        file: file::FileKind,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenExcess {
    /// The text cannot fit into the context of the model.
    Input { kind: ModelKind, context: u64 },
    /// `max_tokens` is above the maximum output of the model.
    Output { most: u32 },
}

/// The model that the load asks for, if the load is admitted.
pub fn admit<'a>(params: &Params, catalogue: &'a Catalogue) -> Result<&'a Model, LoadRefusal> {
    let Some(model) = catalogue.find(params.model()) else {
        let supported = catalogue.ids().map(str::to_owned).collect();
        let nearest = closest_name(params.model(), catalogue.ids()).map(str::to_owned);
        return Err(LoadRefusal::UnknownModel { supported, nearest });
    };
    if model.kind != params.kind() {
        return Err(LoadRefusal::KindMismatch { model: model.kind });
    }
    let excesses: Vec<TokenExcess> = [output_excess(params, model), input_excess(params, model)]
        .into_iter()
        .flatten()
        .collect();
    if !excesses.is_empty() {
        return Err(LoadRefusal::TooManyTokens(excesses));
    }
    let unreadable = params
        .file_references()
        .map(|(kind, _)| kind.capability())
        .find(|wanted| !model.capabilities.contains(wanted));
    if let Some(capability) = unreadable {
        return Err(LoadRefusal::CapabilityMissing { capability });
    }
    Ok(model)
}

/// The files that the load references, one for each reference. `found` has those of the caller's
/// project.
pub fn resolve_file_references<S: BuildHasher>(
    params: &Params,
    found: &HashMap<FileId, ReferencedFile, S>,
    now: Timestamp,
) -> Result<Vec<ReferencedFile>, LoadRefusal> {
    let named = params.file_references().map(|(block, file_id)| {
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

/// Refuses only input that cannot fit with any tokenizer. Near the limit, the provider counts.
fn input_excess(params: &Params, model: &Model) -> Option<TokenExcess> {
    let context = model.context?;
    let longest = u64::try_from(params.longest_input_bytes()).unwrap_or(u64::MAX);
    let kind = params.kind();
    (longest / MAX_BYTES_PER_TOKEN > context).then_some(TokenExcess::Input { kind, context })
}

fn output_excess(params: &Params, model: &Model) -> Option<TokenExcess> {
    let most = model.max_output?;
    match params {
        Params::Chat(chat) if chat.max_tokens > most => Some(TokenExcess::Output { most }),
        Params::Chat(_) | Params::Embedding(_) => None,
    }
}
