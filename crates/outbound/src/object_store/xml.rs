//! Parses the store's XML leniently: some stores omit the namespace, some the quotes.

use domain::time::Timestamp;
use roxmltree::{Document, Node};

use super::failure::ObjectStoreFailure;

/// Error codes that a retry may fix, with any status.
const TRANSIENT_CODES: [&str; 5] = [
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
];

pub(super) fn parse_document<T>(
    body: &[u8],
    what: &'static str,
    reader: impl FnOnce(Node<'_, '_>) -> Option<T>,
) -> Result<T, ObjectStoreFailure> {
    let read = || {
        let document = Document::parse(document_text(body)?).ok()?;
        reader(document.root_element())
    };
    read().ok_or(ObjectStoreFailure::Unreadable(what))
}

/// The code of an error document. None: the body is another document.
pub(super) fn error_code(body: &[u8]) -> Option<String> {
    let text = document_text(body).filter(|text| text.contains("<Error"))?;
    let document = Document::parse(text).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "Error" {
        return None;
    }
    let code = child_text(root, "Code").unwrap_or("Error");
    // The code appears in messages and logs.
    let plain = code.chars().filter(char::is_ascii_alphanumeric);
    Some(plain.take(64).collect())
}

pub(super) fn is_transient_error(body: &[u8]) -> bool {
    error_code(body).is_some_and(|code| TRANSIENT_CODES.contains(&code.as_str()))
}

pub(super) fn children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children()
        .filter(move |child| child.tag_name().name() == name)
}

pub(super) fn child_text<'a>(node: Node<'a, '_>, name: &'static str) -> Option<&'a str> {
    let found = node
        .children()
        .find(|child| child.tag_name().name() == name)?;
    Some(found.text().unwrap_or_default())
}

pub(super) fn timestamp(node: Node<'_, '_>, name: &'static str) -> Option<Timestamp> {
    child_text(node, name)?.trim().parse().ok()
}

/// The marker of the next page, if there is one.
pub(super) fn next_page_marker<'a>(node: Node<'a, '_>, name: &'static str) -> Option<&'a str> {
    let truncated = child_text(node, "IsTruncated").is_some_and(|word| word == "true");
    child_text(node, name).filter(|marker| truncated && !marker.is_empty())
}

pub(super) fn quote_etag(etag: &str) -> String {
    format!("\"{}\"", etag.trim().trim_matches('"'))
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Slow stores send spaces before the document.
fn document_text(body: &[u8]) -> Option<&str> {
    std::str::from_utf8(body).ok().map(str::trim_start)
}
