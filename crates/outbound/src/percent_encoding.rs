//! Percent-encoding of names in URLs.

use std::fmt::Write as _;

/// Encodes all but the unreserved characters of RFC 3986.
pub(crate) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Keeps slashes.
pub(crate) fn percent_encode_path(path: &str) -> String {
    percent_encode(path).replace("%2F", "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_path() {
        assert_eq!(percent_encode_path("files/a-b_c.d~"), "files/a-b_c.d~");
        assert_eq!(percent_encode_path("a?b#c%é "), "a%3Fb%23c%25%C3%A9%20");
        assert_eq!(percent_encode("a/b"), "a%2Fb");
    }
}
