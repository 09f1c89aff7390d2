//! Object keys: staging keys, which grants name, and published keys, which no grant names.

use domain::id::{Berth, FileId};
use uuid::Uuid;

use super::ObjectStore;
use super::failure::ObjectStoreSetupFailure;

/// A key with its prefix. Our own keys need no escaping.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectArea {
    /// Uploads of callers.
    Staging,
    /// Files that passed the scan.
    Published,
}

impl ObjectArea {
    const fn folder(self) -> &'static str {
        match self {
            Self::Staging => "staging",
            Self::Published => "files",
        }
    }
}

impl ObjectKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A key that the store listed. It may be foreign.
    pub(super) const fn from_listing(key: String) -> Self {
        Self(key)
    }

    /// The file id in the last segment.
    pub(super) fn file_id(&self) -> Option<FileId> {
        let name = self.0.rsplit('/').next()?;
        let is_ours = name.len() == 32 && !name.bytes().any(|byte| byte.is_ascii_uppercase());
        let uuid = Uuid::try_parse(name).ok().filter(|_| is_ours)?;
        Some(FileId::from_uuid(uuid))
    }
}

impl ObjectStore {
    /// The key to which the caller uploads.
    pub fn staging_key(&self, file: FileId) -> ObjectKey {
        self.key_in(ObjectArea::Staging, file)
    }

    /// The key of a published object. Its id is that of the file it was uploaded as.
    pub fn published_key(&self, object: FileId) -> ObjectKey {
        self.key_in(ObjectArea::Published, object)
    }

    pub(super) fn folder(&self, area: ObjectArea, berth: Berth) -> String {
        format!("{}{:03x}/", self.area_folder(area), berth.number())
    }

    pub(super) fn area_folder(&self, area: ObjectArea) -> String {
        format!("{}{}/", self.0.prefix, area.folder())
    }

    /// A key for our own bookkeeping, outside the files' folders.
    pub(super) fn system_key(&self, name: &str) -> ObjectKey {
        ObjectKey(format!("{}{name}", self.0.prefix))
    }

    fn key_in(&self, area: ObjectArea, file: FileId) -> ObjectKey {
        let folder = self.folder(area, file.berth());
        ObjectKey(format!("{folder}{}", file.uuid().simple()))
    }
}

/// Keys are not escaped in URLs and signatures.
pub(super) fn check_prefix(prefix: &str) -> Result<(), ObjectStoreSetupFailure> {
    let Some(path) = prefix.strip_suffix('/') else {
        let empty = prefix.is_empty().then_some(());
        return empty.ok_or(ObjectStoreSetupFailure::Prefix);
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let good = |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(allowed);
    if prefix.len() <= 512 && path.split('/').all(good) {
        Ok(())
    } else {
        Err(ObjectStoreSetupFailure::Prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_made_of_plain_segments() {
        for good in ["", "a/", "a/b-c_d.e/", "0/1/"] {
            check_prefix(good).unwrap();
        }
        for bad in ["a", "/", "/a/", "a//", "a/../", "./", "a b/", "ä/", "a%/"] {
            assert!(check_prefix(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_names_its_file() {
        let id = "0198c0de00007000805000000000002a";
        let file: FileId = format!("file_{id}").parse().unwrap();
        let file_id_in = |key: &str| ObjectKey::from_listing(key.to_owned()).file_id();
        assert_eq!(file_id_in(&format!("x/staging/005/{id}")), Some(file));
        for other in ["", "x", &id[1..], &id.to_uppercase(), &format!("{id}/x")] {
            assert_eq!(file_id_in(other), None, "{other}");
        }
    }
}
