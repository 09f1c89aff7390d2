//! Digests of loads into a group: of the custom id, and of what the load asks for.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::id::CargoId;

/// A digest before it is keyed for storage.
pub type GroupDigest = [u8; 32];

/// Rows have it, keyed if encryption is on, so that a custom id is found without being stored in
/// plain.
pub fn custom_id_digest(custom_id: &str) -> GroupDigest {
    Sha256::digest(custom_id.as_bytes()).into()
}

/// The custom id of a load that names none is its position as text.
pub fn position_digest(position: u64) -> GroupDigest {
    custom_id_digest(&position.to_string())
}

/// In place of the digest of a position whose text is taken. No custom id has it: custom ids have
/// no control characters.
pub fn unnamed_digest(cargo: CargoId) -> GroupDigest {
    custom_id_digest(&format!("\0{cargo}"))
}

/// The digest of a load. The order of keys does not matter.
pub fn load_digest(
    params: Value,
    callback_url: Option<&str>,
    metadata: Option<Value>,
) -> GroupDigest {
    let fields = [
        ("params", params),
        ("callback_url", callback_url.into()),
        ("metadata", metadata.into()),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    let mut load = Value::Object(fields.into_iter().collect());
    load.sort_all_objects();
    Sha256::digest(load.to_string().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cargo_group::CustomId;
    use crate::id::Berth;

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let one = load_digest(json!({"a": {"x": 1, "y": 2}, "b": 1}), None, None);
        let other = load_digest(json!({"b": 1, "a": {"y": 2, "x": 1}}), None, None);
        assert_eq!(one, other);
    }

    #[test]
    fn params_callback_and_metadata_matter() {
        let params = || json!({"a": 1});
        let digests = [
            load_digest(params(), None, None),
            load_digest(json!({"a": 2}), None, None),
            load_digest(params(), Some("https://example.com/"), None),
            load_digest(params(), None, Some(json!({"a": 1}))),
            load_digest(params(), None, Some(json!({"a": 2}))),
        ];
        let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(distinct.len(), digests.len());
    }

    #[test]
    fn a_position_is_a_custom_id() {
        assert_eq!(position_digest(17), custom_id_digest("17"));
        assert_ne!(position_digest(1), position_digest(2));
    }

    #[test]
    fn no_custom_id_has_the_digest_of_unnamed_cargo() {
        let cargo = |number| CargoId::new(<_>::default(), Berth::new(0).unwrap(), number);
        let text = cargo(1).to_string();
        assert_ne!(unnamed_digest(cargo(1)), custom_id_digest(&text));
        assert_ne!(unnamed_digest(cargo(1)), unnamed_digest(cargo(2)));
        assert!(CustomId::new(&format!("\0{text}")).is_err());
    }
}
