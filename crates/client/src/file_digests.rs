//! Reads a file in parts, with the digests that its upload declares.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

const PART_BYTES: u64 = 16 * 1024 * 1024;

/// Digests of a file: of the whole and, if it is large, of its parts.
pub(crate) struct UploadDigests {
    pub(crate) size: u64,
    pub(crate) sha256: String,
    pub(crate) parts: Vec<String>,
}

/// One pass over the file: no more than a part is in memory.
pub(crate) fn digest(path: &Path) -> std::io::Result<UploadDigests> {
    let mut file = File::open(path)?;
    let (mut whole, mut size, mut parts) = (Sha256::new(), 0, Vec::new());
    loop {
        let chunk = read_up_to_a_part(&mut file)?;
        if chunk.is_empty() {
            break;
        }
        size += u64::try_from(chunk.len()).unwrap_or_default();
        whole.update(&chunk);
        parts.push(STANDARD.encode(Sha256::digest(&chunk)));
    }
    let digest = whole.finalize();
    let sha256 = hex::encode(digest);
    Ok(UploadDigests {
        size,
        sha256,
        parts,
    })
}

pub(crate) fn read_part(file: &mut File, index: u64) -> std::io::Result<Bytes> {
    file.seek(SeekFrom::Start(index.saturating_mul(PART_BYTES)))?;
    read_up_to_a_part(file).map(Bytes::from)
}

fn read_up_to_a_part(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut chunk = Vec::new();
    file.take(PART_BYTES).read_to_end(&mut chunk)?;
    Ok(chunk)
}
