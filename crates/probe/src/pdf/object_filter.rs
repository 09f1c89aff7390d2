//! Which objects of a PDF are kept while it is read: page trees, and what leads to them.

use lopdf::{Dictionary, Object, ObjectId};

/// The keys of a node that counting needs.
const PAGE_TREE_KEYS: [&[u8]; 4] = [b"Type", b"Pages", b"Kids", b"Parent"];

/// Called by the parser for every object. Streams hold no pages, unless they are object streams.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "neither numbers nor words lead to a page"
)]
pub(super) fn keep_page_tree_object(
    id: ObjectId,
    object: &mut Object,
) -> Option<(ObjectId, Object)> {
    match object {
        Object::Dictionary(dictionary) => {
            *dictionary = page_tree_entries(dictionary);
            Some((id, object.clone()))
        }
        Object::Array(_) | Object::Reference(_) => Some((id, object.clone())),
        Object::Stream(stream) if stream.dict.has_type(b"ObjStm") => Some((id, Object::Null)),
        _ => None,
    }
}

fn page_tree_entries(dictionary: &Dictionary) -> Dictionary {
    let mut kept = Dictionary::new();
    for key in PAGE_TREE_KEYS {
        if let Ok(value) = dictionary.get(key) {
            kept.set(key, value.clone());
        }
    }
    kept
}
