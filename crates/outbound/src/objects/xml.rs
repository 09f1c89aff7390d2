//! The store's documents, read leniently: some leave out the namespace, some the quotes.

use domain::time::Timestamp;
use roxmltree::{Document, Node};

use super::failure::Failure;

/// What another try may mend, whatever the status says.
const PASSING: [&str; 5] = [
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
];

/// A document with the root that was asked for.
pub(super) fn read<T>(
    body: &[u8],
    what: &'static str,
    reader: impl FnOnce(Node<'_, '_>) -> Option<T>,
) -> Result<T, Failure> {
    let read = || {
        let document = Document::parse(text(body)?).ok()?;
        reader(document.root_element())
    };
    read().ok_or(Failure::Unreadable(what))
}

/// The code of an error document. None: it is something else.
pub(super) fn error_code(body: &[u8]) -> Option<String> {
    let text = text(body).filter(|text| text.contains("<Error"))?;
    let document = Document::parse(text).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "Error" {
        return None;
    }
    let code = child(root, "Code").unwrap_or("Error");
    // It goes into messages and logs.
    let plain = code.chars().filter(char::is_ascii_alphanumeric);
    Some(plain.take(64).collect())
}

pub(super) fn is_passing_error(body: &[u8]) -> bool {
    error_code(body).is_some_and(|code| PASSING.contains(&code.as_str()))
}

pub(super) fn children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children()
        .filter(move |child| child.tag_name().name() == name)
}

pub(super) fn child<'a>(node: Node<'a, '_>, name: &'static str) -> Option<&'a str> {
    let found = node
        .children()
        .find(|child| child.tag_name().name() == name)?;
    Some(found.text().unwrap_or_default())
}

pub(super) fn moment(node: Node<'_, '_>, name: &'static str) -> Option<Timestamp> {
    child(node, name)?.trim().parse().ok()
}

/// Where the next page begins, if there is one.
pub(super) fn next<'a>(node: Node<'a, '_>, name: &'static str) -> Option<&'a str> {
    let truncated = child(node, "IsTruncated").is_some_and(|word| word == "true");
    child(node, name).filter(|marker| truncated && !marker.is_empty())
}

/// An entity tag as documents and headers quote it.
pub(super) fn quoted(etag: &str) -> String {
    format!("\"{}\"", etag.trim().trim_matches('"'))
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Stores that are slow send spaces first.
fn text(body: &[u8]) -> Option<&str> {
    std::str::from_utf8(body).ok().map(str::trim_start)
}
