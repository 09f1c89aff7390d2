//! Cursors of the list: opaque to callers, for us a version and the last id of the page.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::id::FileId;

const VERSION: u8 = 1;

pub(crate) fn write(last: FileId) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend(last.uuid().as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Nothing if we did not write it.
pub(crate) fn read(text: &str) -> Option<FileId> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (version, id) = bytes.split_first()?;
    let id = format!("file_{}", hex::encode(id)).parse().ok()?;
    (*version == VERSION).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        let id: FileId = "file_019b76da807b774b805000000000002a".parse().unwrap();
        let written = write(id);
        insta::assert_snapshot!(written, @"AQGbdtqAe3dLgFAAAAAAACo");
        assert_eq!(read(&written), Some(id));
        for wrong in [
            "",
            "nonsense",
            "AgGbdtqAe3dLgFAAAAAAACo",
            "AQGbdtqAe3dLgFAAAAAAAC",
            &format!("{written}AA"),
            &id.to_string(),
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
