//! WebM and Matroska: one form, told apart by the document type in its header.

const MAGIC: &[u8] = b"\x1a\x45\xdf\xa3";
/// Identifier of the element that holds the document type.
const DOCTYPE: u64 = 0x4282;

pub(super) fn is(first: &[u8]) -> bool {
    first.starts_with(MAGIC)
}

/// A header from which no document type can be read fits any.
pub(super) fn is_of(first: &[u8], doctype: &[u8]) -> bool {
    match first.strip_prefix(MAGIC) {
        Some(header) => read(header).is_none_or(|found| found == doctype),
        None => false,
    }
}

fn read(header: &[u8]) -> Option<&[u8]> {
    let (length, rest) = number(header, Marker::Cut)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut rest = rest.get(..length).unwrap_or(rest);
    loop {
        let (identifier, after) = number(rest, Marker::Kept)?;
        let (length, after) = number(after, Marker::Cut)?;
        let (body, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
        if identifier == DOCTYPE {
            // Writers may fill it up with NULs.
            let end = body.iter().position(|byte| *byte == 0);
            return body.get(..end.unwrap_or(body.len()));
        }
        rest = after;
    }
}

/// Whether the bit that says how long a number is belongs to it.
#[derive(Clone, Copy)]
enum Marker {
    Kept,
    Cut,
}

fn number(bytes: &[u8], marker: Marker) -> Option<(u64, &[u8])> {
    let (first, _) = bytes.split_first()?;
    let length = usize::try_from(first.leading_zeros()).ok()? + 1;
    if length > 8 {
        return None;
    }
    let (bytes, rest) = bytes.split_at_checked(length)?;
    let whole = bytes
        .iter()
        .fold(0, |sum, byte| (sum << 8) | u64::from(*byte));
    let value = match marker {
        Marker::Kept => whole,
        Marker::Cut => whole ^ (1 << (7 * length)),
    };
    Some((value, rest))
}
