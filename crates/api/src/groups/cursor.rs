//! The cursors of the list of groups: a version and the last id of the page. Opaque to callers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::id::GroupId;

const CURSOR_VERSION: u8 = 1;

pub(crate) fn encode_cursor(last: GroupId) -> String {
    let mut bytes = vec![CURSOR_VERSION];
    bytes.extend(last.uuid().as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Nothing if the text is not a cursor.
pub(crate) fn decode_cursor(text: &str) -> Option<GroupId> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (version, id) = bytes.split_first()?;
    let id = format!("grp_{}", hex::encode(id)).parse().ok()?;
    (*version == CURSOR_VERSION).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        let id: GroupId = "grp_019b76da807b774b805000000000002a".parse().unwrap();
        let written = encode_cursor(id);
        assert_eq!(decode_cursor(&written), Some(id));
        for wrong in ["", "nonsense", &format!("{written}AA"), &id.to_string()] {
            assert_eq!(decode_cursor(wrong), None, "{wrong}");
        }
    }
}
