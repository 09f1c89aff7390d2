//! Encrypts what a spool writes to disk, with a key that only the memory of this process has.

use std::io;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// Plain bytes of a unit. It is small, because a whole unit is decrypted to read a short line.
pub(super) const UNIT_BYTES: usize = 4 * 1024;
const TAG_BYTES: usize = 16;
/// A unit on disk: its nonce, the ciphertext and the tag.
const STORED_UNIT_BYTES: usize = NONCE_LEN + UNIT_BYTES + TAG_BYTES;

#[derive(Debug)]
pub(super) struct SpoolCipher(LessSafeKey);

impl SpoolCipher {
    pub(super) fn new() -> io::Result<Self> {
        let key = UnboundKey::new(&AES_256_GCM, &rand::random::<[u8; 32]>());
        Ok(Self(LessSafeKey::new(key.map_err(|_| invalid())?)))
    }

    /// Encrypts whole units.
    pub(super) fn encrypt(&self, plain: &[u8]) -> io::Result<Vec<u8>> {
        let mut stored = Vec::with_capacity(stored_length(plain.len()));
        for unit in plain.chunks(UNIT_BYTES) {
            let nonce: [u8; NONCE_LEN] = rand::random();
            let mut text = unit.to_vec();
            let tag = self.0.seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::empty(),
                &mut text,
            );
            stored.extend_from_slice(&nonce);
            stored.extend_from_slice(&text);
            stored.extend_from_slice(tag.map_err(|_| invalid())?.as_ref());
        }
        Ok(stored)
    }

    /// Decrypts whole units.
    pub(super) fn decrypt(&self, mut stored: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut plain = Vec::with_capacity(stored.len());
        for unit in stored.chunks_mut(STORED_UNIT_BYTES) {
            let (nonce, text) = unit
                .split_first_chunk_mut::<NONCE_LEN>()
                .ok_or_else(invalid)?;
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let text = self.0.open_in_place(nonce, Aad::empty(), text);
            plain.extend_from_slice(text.map_err(|_| invalid())?);
        }
        Ok(plain)
    }
}

/// How many bytes on disk so many plain bytes take: whole units.
pub(super) const fn stored_length(plain: usize) -> usize {
    plain.div_ceil(UNIT_BYTES) * STORED_UNIT_BYTES
}

/// Where the unit that begins at this plain byte is on disk.
pub(super) const fn stored_offset(plain: u64) -> u64 {
    plain / UNIT_BYTES as u64 * STORED_UNIT_BYTES as u64
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
