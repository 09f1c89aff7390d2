//! The byte format of an encrypted value: AES-256-GCM, bound to its project, row and kind.
//!
//! ```text
//! 1 byte version · 4 bytes key number · 4 bytes size · 12 bytes nonce · ciphertext · 16 bytes tag
//! ```
//! Numbers are big-endian. The size is that of the unpacked value. It is readable without the key,
//! so that a worker reserves memory before it reads or decrypts the value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use domain::id::ProjectId;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use sqlx::types::Uuid;

/// No text and no JSON begins with this byte.
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 9;
/// The length of a header in base64.
const HEADER_CHARS: usize = 12;
const BYTES_BEFORE_CIPHERTEXT: usize = HEADER_BYTES + NONCE_LEN;
const TAG_BYTES: usize = 16;
pub(crate) const KEY_BYTES: usize = 32;
/// Before an encrypted value in a text column. No URL begins with it.
const TEXT_PREFIX: &str = "encrypted:";
const DIGEST_LABEL: &[u8] = b"longshore idempotency digest v1";

/// A nonce is random: a key encrypts far fewer than 2^32 values.
pub(crate) type ValueNonce = [u8; NONCE_LEN];

/// What a value is. Its number is a part of the associated data and never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ContentKind {
    Request = 1,
    RequestMetadata = 2,
    Outcome = 3,
    CallbackUrl = 4,
    CallbackAnswer = 5,
    Filename = 6,
    FileMetadata = 7,
    LoadWarnings = 8,
    CustomId = 9,
    GroupMetadata = 10,
    GroupCallbackUrl = 11,
    HandoverBody = 12,
    HandoverAnswer = 13,
    ParcelFilename = 14,
    ParcelBlock = 15,
    DropinOptions = 16,
    DropinFailure = 17,
}

impl ContentKind {
    /// The table and the column.
    pub(crate) const fn place(self) -> (&'static str, &'static str) {
        match self {
            Self::Request => ("request", "body"),
            Self::RequestMetadata => ("request", "metadata"),
            Self::Outcome => ("outcome", "body"),
            Self::CallbackUrl => ("cargo", "callback_url"),
            Self::CallbackAnswer => ("attempt", "answer"),
            Self::Filename => ("file", "filename_encrypted"),
            Self::FileMetadata => ("file", "metadata"),
            Self::LoadWarnings => ("request", "warnings"),
            Self::CustomId => ("request", "custom_id"),
            Self::GroupMetadata => ("cargo_group", "metadata"),
            Self::GroupCallbackUrl => ("cargo_group", "callback_url"),
            Self::HandoverBody => ("handover", "body"),
            Self::HandoverAnswer => ("handover", "answer"),
            Self::ParcelFilename => ("parcel", "filename"),
            Self::ParcelBlock => ("parcel_block", "body"),
            Self::DropinOptions => ("dropin_batch", "options"),
            Self::DropinFailure => ("dropin_batch", "failure"),
        }
    }
}

/// What a value belongs to. A value that was copied to another row cannot be decrypted there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueIdentity {
    pub(crate) project: ProjectId,
    /// The id of the cargo, the file, the group or the handover.
    pub(crate) row: Uuid,
    pub(crate) kind: ContentKind,
}

impl ValueIdentity {
    fn associated_data(&self, header: [u8; HEADER_BYTES]) -> Vec<u8> {
        let project = self.project.uuid();
        let kind = [self.kind as u8];
        let parts: [&[u8]; 4] = [&header, project.as_bytes(), self.row.as_bytes(), &kind];
        parts.concat()
    }
}

/// The readable part of an encrypted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EncryptedHeader {
    pub(crate) key_number: u32,
    /// The size of the unpacked value.
    pub(crate) size: u32,
}

impl EncryptedHeader {
    /// None if the value is not encrypted.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let [VERSION, k0, k1, k2, k3, s0, s1, s2, s3] = *value.first_chunk::<HEADER_BYTES>()?
        else {
            return None;
        };
        Some(Self {
            key_number: u32::from_be_bytes([k0, k1, k2, k3]),
            size: u32::from_be_bytes([s0, s1, s2, s3]),
        })
    }

    /// The same for a value in a text column.
    pub(crate) fn parse_text(text: &str) -> Option<Self> {
        let header = text.strip_prefix(TEXT_PREFIX)?.get(..HEADER_CHARS)?;
        Self::parse(&STANDARD_NO_PAD.decode(header).ok()?)
    }

    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [k0, k1, k2, k3] = self.key_number.to_be_bytes();
        let [s0, s1, s2, s3] = self.size.to_be_bytes();
        [VERSION, k0, k1, k2, k3, s0, s1, s2, s3]
    }
}

/// A data key of a project, unwrapped. `Debug` never shows it.
#[derive(Debug)]
pub(crate) struct DataKey {
    number: u32,
    cipher: LessSafeKey,
    digest: hmac::Key,
}

impl DataKey {
    /// None only if the cipher does not take the key, which it always does.
    pub(crate) fn new(number: u32, bytes: &[u8; KEY_BYTES]) -> Option<Self> {
        let cipher = UnboundKey::new(&AES_256_GCM, bytes).ok()?;
        let root = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let digest = hmac::sign(&root, DIGEST_LABEL);
        Some(Self {
            number,
            cipher: LessSafeKey::new(cipher),
            digest: hmac::Key::new(hmac::HMAC_SHA256, digest.as_ref()),
        })
    }

    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// Encrypts a value that unpacks to `size` bytes. None if it is too large for the format.
    pub(crate) fn encrypt(
        &self,
        identity: ValueIdentity,
        plain: &[u8],
        size: usize,
        nonce: ValueNonce,
    ) -> Option<Vec<u8>> {
        let header = EncryptedHeader {
            key_number: self.number,
            size: u32::try_from(size).ok()?,
        };
        let header = header.to_bytes();
        let mut value = Vec::with_capacity(BYTES_BEFORE_CIPHERTEXT + plain.len() + TAG_BYTES);
        value.extend_from_slice(&header);
        value.extend_from_slice(&nonce);
        value.extend_from_slice(plain);
        let (_, text) = value.split_at_mut_checked(BYTES_BEFORE_CIPHERTEXT)?;
        let nonce = Nonce::assume_unique_for_key(nonce);
        let aad = Aad::from(identity.associated_data(header));
        let tag = self.cipher.seal_in_place_separate_tag(nonce, aad, text);
        value.extend_from_slice(tag.ok()?.as_ref());
        Some(value)
    }

    /// None if the value was changed, belongs elsewhere, or was encrypted with another key.
    pub(crate) fn decrypt(&self, identity: ValueIdentity, mut value: Vec<u8>) -> Option<Vec<u8>> {
        let (header, rest) = value.split_first_chunk::<HEADER_BYTES>()?;
        let nonce = Nonce::assume_unique_for_key(*rest.first_chunk::<NONCE_LEN>()?);
        let aad = Aad::from(identity.associated_data(*header));
        let ciphertext = BYTES_BEFORE_CIPHERTEXT..;
        let plain = self
            .cipher
            .open_within(nonce, aad, &mut value, ciphertext)
            .ok()?
            .len();
        value.truncate(plain);
        Some(value)
    }

    /// A keyed digest: without the key, guessed bodies cannot be compared with it.
    pub(crate) fn keyed_digest(&self, digest: &[u8]) -> Vec<u8> {
        hmac::sign(&self.digest, digest).as_ref().to_vec()
    }
}

/// An encrypted value for a text column.
pub(crate) fn encode_text(value: &[u8]) -> String {
    format!("{TEXT_PREFIX}{}", STANDARD_NO_PAD.encode(value))
}

/// The encrypted value in a text column; None if the text is plain.
pub(crate) fn decode_text(text: &str) -> Option<Vec<u8>> {
    let encoded = text.strip_prefix(TEXT_PREFIX)?;
    // A text that was changed becomes a value that cannot be decrypted.
    Some(STANDARD_NO_PAD.decode(encoded).unwrap_or_default())
}

#[cfg(test)]
mod tests;
