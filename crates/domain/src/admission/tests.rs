//! Which loads are admitted, and the first reason of a refusal.

use std::time::Duration;

use super::*;
use crate::file::{FileStatus, MediaType};

fn catalogue() -> Catalogue {
    Catalogue::new([
        Model::plain("plain", "mock", ModelKind::Chat),
        Model {
            capabilities: vec![Capability::Vision],
            ..Model::plain("seeing", "mock", ModelKind::Chat)
        },
        Model {
            context: Some(10),
            max_output: Some(5),
            ..Model::plain("small", "mock", ModelKind::Chat)
        },
        Model {
            context: Some(1),
            ..Model::plain("vectors", "mock", ModelKind::Embedding)
        },
    ])
}

fn admit_json(json: &str) -> Result<String, LoadRefusal> {
    let params = serde_json::from_str(json).unwrap();
    admit(&params, &catalogue()).map(|model| model.id.clone())
}

#[test]
fn a_model_is_found_by_its_exact_id() {
    let chat = |model: &str| format!(r#"{{"model":"{model}","max_tokens":1,"messages":[]}}"#);
    assert_eq!(admit_json(&chat("plain")), Ok("plain".to_owned()));
    let supported = ["plain", "seeing", "small", "vectors"]
        .map(str::to_owned)
        .to_vec();
    for (requested, nearest) in [
        ("Plain", Some("plain")),
        ("smal", Some("small")),
        ("demo", None),
    ] {
        let refused = LoadRefusal::UnknownModel {
            supported: supported.clone(),
            nearest: nearest.map(str::to_owned),
        };
        assert_eq!(admit_json(&chat(requested)), Err(refused));
    }
}

#[test]
fn a_request_must_be_of_its_models_kind() {
    let chat = r#"{"model":"vectors","max_tokens":1,"messages":[]}"#;
    assert_eq!(
        admit_json(chat),
        Err(LoadRefusal::KindMismatch {
            model: ModelKind::Embedding
        })
    );
}

#[test]
fn a_text_that_cannot_fit_the_context_is_refused() {
    let chat = |model: &str, bytes: usize, most: u32| {
        let text = "x".repeat(bytes - "user".len() - "y".len());
        admit_json(&format!(
            r#"{{"model":"{model}","max_tokens":{most},"system":"y","messages":[{{"role":"user","content":"{text}"}}]}}"#
        ))
    };
    let kind = ModelKind::Chat;
    let input = TokenExcess::Input { kind, context: 10 };
    let output = TokenExcess::Output { most: 5 };
    assert_eq!(chat("small", 87, 5), Ok("small".to_owned()));
    assert_eq!(
        chat("small", 88, 5),
        Err(LoadRefusal::TooManyTokens(vec![input]))
    );
    assert_eq!(
        chat("small", 87, 6),
        Err(LoadRefusal::TooManyTokens(vec![output]))
    );
    assert_eq!(
        chat("small", 88, 6),
        Err(LoadRefusal::TooManyTokens(vec![output, input]))
    );
    assert_eq!(chat("plain", 100_000, u32::MAX), Ok("plain".to_owned()));
}

#[test]
fn texts_are_embedded_one_by_one() {
    let vectors =
        |texts: &str| admit_json(&format!(r#"{{"model":"vectors","input_text":{texts}}}"#));
    assert_eq!(
        vectors(r#"["0123456789abcde","0123456789abcde"]"#),
        Ok("vectors".to_owned())
    );
    let input = TokenExcess::Input {
        kind: ModelKind::Embedding,
        context: 1,
    };
    assert_eq!(
        vectors(r#"["a","0123456789abcdef"]"#),
        Err(LoadRefusal::TooManyTokens(vec![input]))
    );
}

fn params_with_files(model: &str, blocks: &[(&str, &str)]) -> Params {
    let blocks = blocks
        .iter()
        .map(|(kind, id)| serde_json::json!({"type": kind, "source": {"file_id": id}}));
    let body = serde_json::json!({
        "model": model,
        "max_tokens": 1,
        "messages": [{"role": "user", "content": blocks.collect::<Vec<_>>()}],
    });
    serde_json::from_value(body).unwrap()
}

#[test]
fn a_model_must_be_able_to_read_the_referenced_files() {
    let image = params_with_files("plain", &[("image", "f")]);
    let missing = LoadRefusal::CapabilityMissing {
        capability: Capability::Vision,
    };
    assert_eq!(admit(&image, &catalogue()), Err(missing));
    let seen = params_with_files("seeing", &[("image", "f")]);
    assert!(admit(&seen, &catalogue()).is_ok());
}

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn file(number: u128) -> FileId {
    FileId::from_uuid(uuid::Uuid::from_u128(number))
}

fn image() -> ReferencedFile {
    ReferencedFile {
        status: FileStatus::Ready,
        media_type: MediaType::Png,
        size_bytes: 100,
        structure: None,
        expires_at: Some(NOW + Duration::from_secs(1)),
        pinned: false,
    }
}

/// Resolves the references of these blocks, when file 1 is `one`.
fn resolve_blocks(blocks: &[(&str, FileId)], one: ReferencedFile) -> Result<usize, LoadRefusal> {
    let blocks: Vec<_> = blocks
        .iter()
        .map(|(kind, id)| (*kind, id.to_string()))
        .collect();
    let blocks: Vec<_> = blocks.iter().map(|(kind, id)| (*kind, &**id)).collect();
    let found = HashMap::from([(file(1), one)]);
    resolve_file_references(&params_with_files("seeing", &blocks), &found, NOW)
        .map(|files| files.len())
}

#[test]
fn a_ready_file_may_be_referenced_repeatedly() {
    let block = ("image", file(1));
    assert_eq!(resolve_blocks(&[block, block], image()), Ok(2));
    assert_eq!(resolve_blocks(&[], image()), Ok(0));
}

#[test]
fn what_the_project_does_not_have_is_not_found() {
    let not_found = |id: &str| LoadRefusal::FileNotFound {
        file_id: id.to_owned(),
    };
    let other = file(2);
    assert_eq!(
        resolve_blocks(&[("image", file(1)), ("image", other)], image()),
        Err(not_found(&other.to_string()))
    );
    let malformed = params_with_files("seeing", &[("image", "nonsense")]);
    assert_eq!(
        resolve_file_references(&malformed, &HashMap::new(), NOW),
        Err(not_found("nonsense"))
    );
}

#[test]
fn only_a_ready_file_that_has_not_expired_may_be_referenced() {
    let not_ready = Err(LoadRefusal::FileNotReady {
        file_id: file(1).to_string(),
    });
    let named = |one| resolve_blocks(&[("image", file(1))], one);
    for status in FileStatus::ALL.iter().copied() {
        let expected = if status == FileStatus::Ready {
            Ok(1)
        } else {
            not_ready.clone()
        };
        assert_eq!(named(ReferencedFile { status, ..image() }), expected);
    }
    let late = ReferencedFile {
        expires_at: Some(NOW),
        ..image()
    };
    assert_eq!(named(late), not_ready);
    let pinned = ReferencedFile {
        pinned: true,
        ..late
    };
    assert_eq!(named(pinned), Ok(1));
}

#[test]
fn a_block_says_what_its_file_is() {
    let mismatch = LoadRefusal::FileKindMismatch {
        file_id: file(1).to_string(),
        block: file::FileKind::Document,
        file: file::FileKind::Image,
    };
    let blocks = [("document", file(1)), ("image", file(2))];
    // The first error is reported.
    assert_eq!(resolve_blocks(&blocks, image()), Err(mismatch));
    // Readiness is checked before the kind.
    let gone = ReferencedFile {
        status: FileStatus::Expired,
        ..image()
    };
    assert!(matches!(
        resolve_blocks(&blocks, gone),
        Err(LoadRefusal::FileNotReady { .. })
    ));
}
