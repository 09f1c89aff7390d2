//! The index beside the answers of a run: a header, then one record per answer.
//!
//! Records have a fixed size, so a record that a crash cut off is found and dropped.

/// The header: a mark, the group, and how many requests are loaded without a gap.
pub const HEADER_BYTES: usize = 128;
pub const RECORD_BYTES: usize = 48;
/// Where the header has the number of loaded requests.
pub const LOADED_OFFSET: u64 = 120;
const MARK: &str = "longshore run 1 ";
const GROUP_END: usize = 120;

/// Where an answer is, and what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerRecord {
    /// The place in the order of completion; 0 if the service never had the request.
    pub number: u64,
    pub position: u64,
    pub offset: u64,
    /// With its line feed.
    pub length: u64,
    /// In nano-dollars.
    pub charged: u64,
    pub is_success: bool,
}

impl AnswerRecord {
    pub fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let fields = [
            self.number,
            self.position,
            self.offset,
            self.length,
            self.charged,
            u64::from(self.is_success),
        ];
        let mut bytes = [0; RECORD_BYTES];
        for (chunk, field) in bytes.chunks_exact_mut(8).zip(fields) {
            chunk.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.chunks_exact(8).map(read_number);
        let mut next = || fields.next().flatten();
        Some(Self {
            number: next()?,
            position: next()?,
            offset: next()?,
            length: next()?,
            charged: next()?,
            is_success: next()? == 1,
        })
    }
}

/// The header of a new index.
pub fn write_header(group_id: &str) -> [u8; HEADER_BYTES] {
    let mut header = [b' '; HEADER_BYTES];
    let text = format!("{MARK}{group_id}");
    for (to, from) in header.iter_mut().take(GROUP_END).zip(text.bytes()) {
        *to = from;
    }
    for byte in header.iter_mut().skip(GROUP_END) {
        *byte = 0;
    }
    header
}

/// The group and the number of loaded requests, or None if this is no index.
pub fn read_header(header: &[u8]) -> Option<(String, u64)> {
    let text = std::str::from_utf8(header.get(..GROUP_END)?).ok()?;
    let group = text.strip_prefix(MARK)?.trim_end().to_owned();
    Some((group, read_number(header.get(GROUP_END..)?)?))
}

fn read_number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = AnswerRecord {
            number: 1,
            position: 2,
            offset: 1 << 40,
            length: 4,
            charged: 5,
            is_success: true,
        };
        assert_eq!(AnswerRecord::from_bytes(&record.to_bytes()), Some(record));
        assert_eq!(AnswerRecord::from_bytes(&[0; 40]), None);
    }

    #[test]
    fn a_header_names_its_group() {
        let header = write_header("grp_1");
        assert_eq!(read_header(&header), Some(("grp_1".to_owned(), 0)));
        assert_eq!(read_header(&[0; HEADER_BYTES]), None);
        assert_eq!(read_header(&header[..40]), None);
    }
}
