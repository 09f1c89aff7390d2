//! May this be loaded? The checks that need the catalogue, in the contract's order.

use crate::model::{Capability, Catalogue, Kind, Model};
use crate::params::Params;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadRefusal {
    UnknownModel {
        supported: Vec<String>,
    },
    /// The model is of the other kind than the request.
    KindMismatch {
        model: Kind,
    },
    CapabilityMissing {
        capability: Capability,
    },
    /// There is no such file in the caller's project.
    FileNotFound {
        file_id: String,
    },
}

/// The model that the load asks for, if it may.
pub fn admit<'a>(params: &Params, catalogue: &'a Catalogue) -> Result<&'a Model, LoadRefusal> {
    let Some(model) = catalogue.find(params.model()) else {
        let supported = catalogue.ids().map(str::to_owned).collect();
        return Err(LoadRefusal::UnknownModel { supported });
    };
    if model.kind != params.kind() {
        return Err(LoadRefusal::KindMismatch { model: model.kind });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mocking;

    fn catalogue() -> Catalogue {
        let model = |id: &str, kind, capabilities: &[Capability]| Model {
            id: id.to_owned(),
            provider: "mock".to_owned(),
            kind,
            capabilities: capabilities.to_vec(),
            mocking: Mocking::Echo,
        };
        Catalogue::new([
            model("plain", Kind::Chat, &[]),
            model("seeing", Kind::Chat, &[Capability::Vision]),
            model("vectors", Kind::Embedding, &[]),
        ])
    }

    fn asking(json: &str) -> Result<String, LoadRefusal> {
        let params = serde_json::from_str(json).unwrap();
        admit(&params, &catalogue()).map(|model| model.id.clone())
    }

    #[test]
    fn a_model_is_found_by_its_exact_id() {
        let chat = r#"{"model":"plain","max_tokens":1,"messages":[]}"#;
        assert_eq!(asking(chat), Ok("plain".to_owned()));
        let supported = ["plain", "seeing", "vectors"].map(str::to_owned).to_vec();
        let shouted = r#"{"model":"Plain","max_tokens":1,"messages":[]}"#;
        assert_eq!(
            asking(shouted),
            Err(LoadRefusal::UnknownModel { supported })
        );
    }

    #[test]
    fn a_request_must_be_of_its_models_kind() {
        let chat = r#"{"model":"vectors","max_tokens":1,"messages":[]}"#;
        assert_eq!(
            asking(chat),
            Err(LoadRefusal::KindMismatch {
                model: Kind::Embedding
            })
        );
    }

    #[test]
    fn capability_is_asked_before_the_file() {
        let image = |model: &str| {
            format!(
                r#"{{"model":"{model}","max_tokens":1,"messages":[{{"role":"user","content":[{{"type":"image","source":{{"file_id":"f"}}}}]}}]}}"#
            )
        };
        let missing = LoadRefusal::CapabilityMissing {
            capability: Capability::Vision,
        };
        assert_eq!(asking(&image("plain")), Err(missing));
        let not_found = LoadRefusal::FileNotFound {
            file_id: "f".to_owned(),
        };
        assert_eq!(asking(&image("seeing")), Err(not_found));
    }
}
