//! Bodies as they are stored: compressed when that makes them smaller, then encrypted if encryption
//! is on.

use std::cell::RefCell;

use domain::id::ProjectId;

use crate::Error;
use crate::encryption::{EncryptedHeader, KeyRequest, ReadKeys, ValueIdentity, WriteKey};

const CODEC_RAW: i16 = 0;
const CODEC_ZSTD: i16 = 1;
/// The codec before encryption is the last byte of the plain value.
const CODEC_ENCRYPTED: i16 = 2;
/// Below this size a zstd frame costs more than it saves.
const MIN_BYTES_TO_COMPRESS: usize = 128;
/// The fastest level: compression is there to write less to the write-ahead log.
const COMPRESSION_LEVEL: i32 = 1;
/// No accepted request and no received outcome unpacks to more.
const MAX_UNPACKED_BYTES: usize = 256 << 20;

/// A body as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedBody {
    pub codec: i16,
    pub bytes: Vec<u8>,
}

impl PackedBody {
    /// The size in bytes when unpacked; 0 if it cannot be unpacked.
    pub fn unpacked_len(&self) -> usize {
        unpacked_size(self.codec, &self.bytes, self.bytes.len()).unwrap_or_default()
    }

    pub(crate) fn encrypt(self, key: &WriteKey, identity: ValueIdentity) -> Result<Self, Error> {
        if key.is_plain() {
            return Ok(self);
        }
        let size = self.unpacked_len();
        let mut plain = self.bytes;
        plain.push(u8::try_from(self.codec).unwrap_or_default());
        Ok(Self {
            codec: CODEC_ENCRYPTED,
            bytes: key.encrypt_packed(identity, plain, size)?,
        })
    }

    /// Adds the key that the body needs.
    pub(crate) fn add_key(&self, project: ProjectId, request: &mut KeyRequest) {
        if self.codec == CODEC_ENCRYPTED {
            request.add(project, Some(&self.bytes));
        }
    }

    /// A body that cannot be decrypted stays encrypted: [`unpack`] refuses it, and others are not
    /// concerned. Fails only if its key is unavailable.
    pub(crate) fn decrypt(self, keys: &ReadKeys, identity: ValueIdentity) -> Result<Self, Error> {
        if self.codec != CODEC_ENCRYPTED {
            return Ok(self);
        }
        let undecryptable = Self {
            codec: CODEC_ENCRYPTED,
            bytes: Vec::new(),
        };
        match keys.decrypt(identity, self.bytes) {
            Ok(mut bytes) => Ok(match bytes.pop() {
                Some(codec) => Self {
                    codec: codec.into(),
                    bytes,
                },
                None => undecryptable,
            }),
            Err(failure @ Error::KeyUnavailable(_)) => Err(failure),
            Err(_) => Ok(undecryptable),
        }
    }

    pub fn unpack(self, table: &'static str) -> Result<Vec<u8>, Error> {
        unpack(self.codec, self.bytes, table)
    }
}

thread_local! {
    // Contexts are kept because creating one costs more than packing a small body.
    static PACKER: RefCell<Option<zstd::bulk::Compressor<'static>>> =
        RefCell::new(zstd::bulk::Compressor::new(COMPRESSION_LEVEL).ok());
    static UNPACKER: RefCell<Option<zstd::bulk::Decompressor<'static>>> =
        RefCell::new(zstd::bulk::Decompressor::new().ok());
}

pub fn pack(plain: &[u8]) -> PackedBody {
    let raw = || PackedBody {
        codec: CODEC_RAW,
        bytes: plain.to_vec(),
    };
    if plain.len() < MIN_BYTES_TO_COMPRESS {
        return raw();
    }
    PACKER.with_borrow_mut(
        |packer| match packer.as_mut().map(|packer| packer.compress(plain)) {
            Some(Ok(bytes)) if bytes.len() < plain.len() => PackedBody {
                codec: CODEC_ZSTD,
                bytes,
            },
            Some(Ok(_) | Err(_)) | None => raw(),
        },
    )
}

/// How many bytes a stored body of `length` bytes unpacks to, read from its first 18 bytes.
/// None if it cannot be unpacked. The size in an encrypted body is checked when it is decrypted.
pub fn unpacked_size(codec: i16, head: &[u8], length: usize) -> Option<usize> {
    match codec {
        CODEC_RAW => Some(length),
        CODEC_ZSTD => frame_size(head),
        CODEC_ENCRYPTED => {
            let header = EncryptedHeader::parse(head)?;
            let size = usize::try_from(header.size).ok();
            size.filter(|size| *size <= MAX_UNPACKED_BYTES)
        }
        _ => None,
    }
}

fn frame_size(head: &[u8]) -> Option<usize> {
    let size = zstd::zstd_safe::get_frame_content_size(head).ok().flatten();
    size.and_then(|size| usize::try_from(size).ok())
        .filter(|size| *size <= MAX_UNPACKED_BYTES)
}

pub fn unpack(codec: i16, bytes: Vec<u8>, table: &'static str) -> Result<Vec<u8>, Error> {
    let corrupt = Error::Corrupt {
        table,
        column: "body",
    };
    if codec == CODEC_RAW {
        return Ok(bytes);
    }
    let (CODEC_ZSTD, Some(size)) = (codec, frame_size(&bytes)) else {
        return Err(corrupt);
    };
    UNPACKER.with_borrow_mut(|unpacker| match unpacker.as_mut() {
        Some(unpacker) => unpacker.decompress(&bytes, size).map_err(|_| corrupt),
        None => Err(corrupt),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_comes_back_as_it_went() {
        for plain in [
            b"".to_vec(),
            b"short".to_vec(),
            vec![0; 10_000],
            (0..=255).cycle().take(5000).collect(),
        ] {
            let packed = pack(&plain);
            assert!(packed.bytes.len() <= plain.len());
            assert_eq!(packed.unpacked_len(), plain.len());
            let head = &packed.bytes[..packed.bytes.len().min(18)];
            let size = unpacked_size(packed.codec, head, packed.bytes.len());
            assert_eq!(size, Some(plain.len()));
            assert_eq!(
                unpack(packed.codec, packed.bytes, "request").unwrap(),
                plain
            );
        }
    }

    #[test]
    fn what_is_no_frame_is_corrupt() {
        for (codec, bytes) in [(CODEC_ZSTD, b"nonsense".to_vec()), (7, vec![1])] {
            assert!(matches!(
                unpack(codec, bytes, "request"),
                Err(Error::Corrupt { .. })
            ));
        }
    }
}
