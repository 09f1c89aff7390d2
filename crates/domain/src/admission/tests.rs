//! What may be loaded, and the first reason why not.

use super::*;

fn catalogue() -> Catalogue {
    Catalogue::new([
        Model::plain("plain", "mock", Kind::Chat),
        Model {
            capabilities: vec![Capability::Vision],
            ..Model::plain("seeing", "mock", Kind::Chat)
        },
        Model {
            context: Some(10),
            max_output: Some(5),
            ..Model::plain("small", "mock", Kind::Chat)
        },
        Model {
            context: Some(1),
            ..Model::plain("vectors", "mock", Kind::Embedding)
        },
    ])
}

fn asking(json: &str) -> Result<String, LoadRefusal> {
    let params = serde_json::from_str(json).unwrap();
    admit(&params, &catalogue()).map(|model| model.id.clone())
}

#[test]
fn a_model_is_found_by_its_exact_id() {
    let chat = |model: &str| format!(r#"{{"model":"{model}","max_tokens":1,"messages":[]}}"#);
    assert_eq!(asking(&chat("plain")), Ok("plain".to_owned()));
    let supported = ["plain", "seeing", "small", "vectors"]
        .map(str::to_owned)
        .to_vec();
    for (asked, nearest) in [
        ("Plain", Some("plain")),
        ("smal", Some("small")),
        ("quay", None),
    ] {
        let refused = LoadRefusal::UnknownModel {
            supported: supported.clone(),
            nearest: nearest.map(str::to_owned),
        };
        assert_eq!(asking(&chat(asked)), Err(refused));
    }
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
fn a_text_that_cannot_fit_the_context_is_refused() {
    let chat = |model: &str, bytes: usize, most: u32| {
        let text = "x".repeat(bytes - "user".len() - "y".len());
        asking(&format!(
            r#"{{"model":"{model}","max_tokens":{most},"system":"y","messages":[{{"role":"user","content":"{text}"}}]}}"#
        ))
    };
    let kind = Kind::Chat;
    let input = Excess::Input { kind, context: 10 };
    let output = Excess::Output { most: 5 };
    assert_eq!(chat("small", 87, 5), Ok("small".to_owned()));
    assert_eq!(chat("small", 88, 5), Err(LoadRefusal::TooMuch(vec![input])));
    assert_eq!(
        chat("small", 87, 6),
        Err(LoadRefusal::TooMuch(vec![output]))
    );
    assert_eq!(
        chat("small", 88, 6),
        Err(LoadRefusal::TooMuch(vec![output, input]))
    );
    assert_eq!(chat("plain", 100_000, u32::MAX), Ok("plain".to_owned()));
}

#[test]
fn texts_are_embedded_one_by_one() {
    let vectors = |texts: &str| asking(&format!(r#"{{"model":"vectors","input_text":{texts}}}"#));
    assert_eq!(
        vectors(r#"["0123456789abcde","0123456789abcde"]"#),
        Ok("vectors".to_owned())
    );
    let input = Excess::Input {
        kind: Kind::Embedding,
        context: 1,
    };
    assert_eq!(
        vectors(r#"["a","0123456789abcdef"]"#),
        Err(LoadRefusal::TooMuch(vec![input]))
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
