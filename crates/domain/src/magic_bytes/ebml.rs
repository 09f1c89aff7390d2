//! WebM and Matroska: one format (EBML), told apart by the document type in its header.

const MAGIC: &[u8] = b"\x1a\x45\xdf\xa3";
/// Identifier of the element that holds the document type.
const DOCTYPE_ID: u64 = 0x4282;

pub(super) fn is_ebml(first: &[u8]) -> bool {
    first.starts_with(MAGIC)
}

/// A header whose document type cannot be read matches any.
pub(super) fn has_doctype(first: &[u8], doctype: &[u8]) -> bool {
    match first.strip_prefix(MAGIC) {
        Some(header) => read_doctype(header).is_none_or(|found| found == doctype),
        None => false,
    }
}

fn read_doctype(header: &[u8]) -> Option<&[u8]> {
    let (length, rest) = read_vint(header, LengthMarker::Removed)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut rest = rest.get(..length).unwrap_or(rest);
    loop {
        let (identifier, after) = read_vint(rest, LengthMarker::Kept)?;
        let (length, after) = read_vint(after, LengthMarker::Removed)?;
        let (body, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
        if identifier == DOCTYPE_ID {
            // Writers may pad it with NULs.
            let end = body.iter().position(|byte| *byte == 0);
            return body.get(..end.unwrap_or(body.len()));
        }
        rest = after;
    }
}

/// Whether the bit that marks the length of a number is part of its value.
#[derive(Clone, Copy)]
enum LengthMarker {
    Kept,
    Removed,
}

fn read_vint(bytes: &[u8], marker: LengthMarker) -> Option<(u64, &[u8])> {
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
        LengthMarker::Kept => whole,
        LengthMarker::Removed => whole ^ (1 << (7 * length)),
    };
    Some((value, rest))
}
