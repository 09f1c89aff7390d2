//! The keys of a transaction or a page: with which key the new values of a project are encrypted,
//! and which keys decrypt the values that were read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::id::ProjectId;

use crate::Error;
use crate::encryption::envelope::{
    ContentKind, DataKey, EncryptedHeader, KEY_BYTES, ValueIdentity, decode_text, encode_text,
};

const NOT_PREPARED: &str = "it was not prepared in time";

/// How the new values of a project are written.
#[derive(Debug, Clone)]
pub struct WriteKey(Option<ProjectKeys>);

#[derive(Debug, Clone)]
struct ProjectKeys {
    /// Encrypts new values.
    newest: Arc<DataKey>,
    /// The project's first key, for digests: they must not change when a new key comes.
    first: Arc<DataKey>,
}

impl WriteKey {
    /// Encryption is off.
    pub(crate) const fn plain() -> Self {
        Self(None)
    }

    pub(crate) const fn encrypting(newest: Arc<DataKey>, first: Arc<DataKey>) -> Self {
        Self(Some(ProjectKeys { newest, first }))
    }

    /// For a project whose keys were destroyed: a key that is forgotten at once, so that new values
    /// cannot be read either.
    pub(crate) fn forgotten() -> Result<Self, Error> {
        let key = DataKey::new(0, &rand::random::<[u8; KEY_BYTES]>());
        let key = Arc::new(key.ok_or(Error::Corrupt {
            table: "data_key",
            column: "wrapped",
        })?);
        Ok(Self::encrypting(Arc::clone(&key), key))
    }

    pub(crate) const fn is_plain(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn encrypt(
        &self,
        identity: ValueIdentity,
        plain: Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        let size = plain.len();
        self.encrypt_packed(identity, plain, size)
    }

    /// Encrypts a value that unpacks to `size` bytes.
    pub(crate) fn encrypt_packed(
        &self,
        identity: ValueIdentity,
        plain: Vec<u8>,
        size: usize,
    ) -> Result<Vec<u8>, Error> {
        let Some(keys) = &self.0 else {
            return Ok(plain);
        };
        let value = keys.newest.encrypt(identity, &plain, size, rand::random());
        value.ok_or_else(|| corrupt(identity.kind))
    }

    /// For a text column.
    pub(crate) fn encrypt_text(
        &self,
        identity: ValueIdentity,
        text: String,
    ) -> Result<String, Error> {
        if self.is_plain() {
            return Ok(text);
        }
        let value = self.encrypt(identity, text.into_bytes())?;
        Ok(encode_text(&value))
    }

    /// The digest of a body as it is stored: with encryption, one that only the key can make.
    pub fn stored_digest(&self, digest: &[u8]) -> Vec<u8> {
        self.0
            .as_ref()
            .map_or_else(|| digest.to_vec(), |keys| keys.first.keyed_digest(digest))
    }
}

/// The keys for the new values of some projects, or why a project has none.
#[derive(Debug, Default)]
pub struct WriteKeys(HashMap<ProjectId, Result<WriteKey, String>>);

impl WriteKeys {
    /// Encryption is off for these projects.
    pub fn plain(projects: impl IntoIterator<Item = ProjectId>) -> Self {
        let keys = projects.into_iter();
        Self(keys.map(|it| (it, Ok(WriteKey::plain()))).collect())
    }

    pub(crate) fn insert(&mut self, project: ProjectId, key: Result<WriteKey, String>) {
        self.0.insert(project, key);
    }

    /// A project that is not here counts as one without a key: nothing is written in plain by
    /// mistake.
    pub fn find(&self, project: ProjectId) -> Result<&WriteKey, Error> {
        match self.0.get(&project) {
            Some(Ok(key)) => Ok(key),
            Some(Err(reason)) => Err(Error::KeyUnavailable(reason.clone())),
            None => Err(Error::KeyUnavailable(NOT_PREPARED.to_owned())),
        }
    }
}

/// The data keys that some values need.
#[derive(Debug, Default)]
pub(crate) struct KeyRequest(HashSet<(ProjectId, u32)>);

impl KeyRequest {
    pub(crate) fn add(&mut self, project: ProjectId, value: Option<&[u8]>) {
        let header = value.and_then(EncryptedHeader::parse);
        self.add_header(project, header);
    }

    pub(crate) fn add_text(&mut self, project: ProjectId, text: Option<&str>) {
        let header = text.and_then(EncryptedHeader::parse_text);
        self.add_header(project, header);
    }

    fn add_header(&mut self, project: ProjectId, header: Option<EncryptedHeader>) {
        self.0.extend(header.map(|it| (project, it.key_number)));
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// Projects and key numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ProjectId, u32)> + '_ {
        self.0.iter().copied()
    }
}

/// The keys that were found for a request, or why one is unavailable. A key that was destroyed is
/// not here.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadKeys(HashMap<(ProjectId, u32), Result<Arc<DataKey>, String>>);

impl ReadKeys {
    pub(crate) fn insert(
        &mut self,
        project: ProjectId,
        number: u32,
        key: Result<Arc<DataKey>, String>,
    ) {
        self.0.insert((project, number), key);
    }

    /// Whether a key of the request is unavailable.
    pub(crate) fn lacks_key_of(&self, request: &KeyRequest) -> bool {
        let keys = request.0.iter().map(|wanted| self.0.get(wanted));
        keys.flatten().any(Result::is_err)
    }

    /// Whether a value cannot be read any more, because its key was destroyed.
    pub(crate) fn is_destroyed(&self, project: ProjectId, value: &[u8]) -> bool {
        let header = EncryptedHeader::parse(value);
        header.is_some_and(|it| !self.0.contains_key(&(project, it.key_number)))
    }

    /// Decrypts a value that is known to be encrypted.
    pub(crate) fn decrypt(
        &self,
        identity: ValueIdentity,
        value: Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        let header = EncryptedHeader::parse(&value);
        let key = header.and_then(|it| self.0.get(&(identity.project, it.key_number)));
        match key {
            Some(Ok(key)) => key
                .decrypt(identity, value)
                .ok_or_else(|| corrupt(identity.kind)),
            Some(Err(reason)) => Err(Error::KeyUnavailable(reason.clone())),
            None => Err(corrupt(identity.kind)),
        }
    }

    /// For a column whose plain values are JSON: the first byte tells whether it is encrypted.
    pub(crate) fn decrypt_json(
        &self,
        identity: ValueIdentity,
        value: Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Error> {
        match value {
            Some(value) if EncryptedHeader::parse(&value).is_some() => {
                self.decrypt(identity, value).map(Some)
            }
            plain => Ok(plain),
        }
    }

    /// For a text column.
    pub(crate) fn decrypt_text(
        &self,
        identity: ValueIdentity,
        text: String,
    ) -> Result<String, Error> {
        match decode_text(&text) {
            Some(value) => self.decrypt_to_text(identity, value),
            None => Ok(text),
        }
    }

    pub(crate) fn decrypt_to_text(
        &self,
        identity: ValueIdentity,
        value: Vec<u8>,
    ) -> Result<String, Error> {
        let plain = self.decrypt(identity, value)?;
        String::from_utf8(plain).map_err(|_| corrupt(identity.kind))
    }
}

const fn corrupt(kind: ContentKind) -> Error {
    let (table, column) = kind.place();
    Error::Corrupt { table, column }
}
