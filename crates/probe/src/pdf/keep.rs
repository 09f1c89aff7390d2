//! What of a PDF is kept while it is read: page trees, and what they are found by.

use lopdf::{Dictionary, Object, ObjectId};

/// All that is asked of a node.
const KEYS: [&[u8]; 4] = [b"Type", b"Pages", b"Kids", b"Parent"];

/// Called by the parser for every object. Streams hold no pages, unless they hold objects.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "neither numbers nor words lead to a page"
)]
pub(super) fn keep(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    match object {
        Object::Dictionary(dictionary) => {
            *dictionary = needed(dictionary);
            Some((id, object.clone()))
        }
        Object::Array(_) | Object::Reference(_) => Some((id, object.clone())),
        Object::Stream(stream) if stream.dict.has_type(b"ObjStm") => Some((id, Object::Null)),
        _ => None,
    }
}

fn needed(dictionary: &Dictionary) -> Dictionary {
    let mut kept = Dictionary::new();
    for key in KEYS {
        if let Ok(value) = dictionary.get(key) {
            kept.set(key, value.clone());
        }
    }
    kept
}
