//! What a request asks of its model, compared with what the model can do on all of its routes.
//!
//! A field beyond the contract is refused if the model cannot do it. A field of the contract is left
//! out or applied by Longshore, with a warning.

mod chat_fields;
mod embedding;
mod returned_thoughts;
mod sampling;
mod schemas;
mod thinking;
mod tools;

#[cfg(test)]
mod tests;

pub use crate::field_refusal::{FieldRefusal, LocationPart};

use crate::field_refusal::RefusalList;
use crate::load_warning::{LoadWarning, WarningCode};
use crate::model::Model;
use crate::params::{ChatParams, Params};

/// What is refused, and what is accepted with a warning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureReport {
    pub refusals: Vec<FieldRefusal>,
    pub warnings: Vec<LoadWarning>,
}

/// Everything in the request that the model cannot do.
pub fn check(params: &Params, model: &Model) -> FeatureReport {
    let mut findings = Findings::default();
    match params {
        Params::Chat(chat) => check_chat(chat, model, &mut findings),
        Params::Embedding(embedding) => {
            embedding::check(embedding, &model.features.embedding, &mut findings.refusals);
        }
    }
    FeatureReport {
        refusals: findings.refusals.into_refusals(),
        warnings: findings.warnings,
    }
}

fn check_chat(chat: &ChatParams, model: &Model, findings: &mut Findings) {
    let features = &model.features;
    chat_fields::check(chat, features, findings);
    sampling::check(chat, features, findings);
    tools::check(chat, features, &mut findings.refusals);
    thinking::check(chat, &features.thinking, &mut findings.refusals);
    returned_thoughts::check(chat, features, &mut findings.refusals);
    schemas::check(chat, features, &mut findings.refusals);
}

/// What has been found so far.
#[derive(Debug, Default)]
struct Findings {
    refusals: RefusalList,
    warnings: Vec<LoadWarning>,
}

impl Findings {
    /// Warns about `params.<field>`.
    fn warn(&mut self, field: &str, code: WarningCode, message: impl Into<String>) {
        self.warnings.push(LoadWarning {
            field: format!("params.{field}"),
            code,
            message: message.into(),
        });
    }
}
