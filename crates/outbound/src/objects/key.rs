//! Where bytes lie: a staging place that a grant names, a published one that none ever does.

use domain::id::{Berth, FileId};
use uuid::Uuid;

use super::Objects;
use super::failure::SetupFailure;

/// A key of ours, its prefix included. Nothing in it needs to be escaped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

/// The two kinds of place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Area {
    /// What callers upload.
    Staging,
    /// What was read and found good.
    Published,
}

impl Area {
    const fn folder(self) -> &'static str {
        match self {
            Self::Staging => "staging",
            Self::Published => "files",
        }
    }
}

impl Key {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whatever the store lists, ours or not.
    pub(super) const fn listed(key: String) -> Self {
        Self(key)
    }

    /// The file that the last segment names.
    pub(super) fn id(&self) -> Option<FileId> {
        let name = self.0.rsplit('/').next()?;
        let is_ours = name.len() == 32 && !name.bytes().any(|byte| byte.is_ascii_uppercase());
        let uuid = Uuid::try_parse(name).ok().filter(|_| is_ours)?;
        Some(FileId::from_uuid(uuid))
    }
}

impl Objects {
    /// Where a caller's bytes arrive.
    pub fn staging(&self, file: FileId) -> Key {
        self.key_in(Area::Staging, file)
    }

    /// Where an object lies; its id is that of the file that brought it.
    pub fn published(&self, object: FileId) -> Key {
        self.key_in(Area::Published, object)
    }

    pub(super) fn folder(&self, area: Area, berth: Berth) -> String {
        let (prefix, folder) = (&self.0.prefix, area.folder());
        format!("{prefix}{folder}/{:03x}/", berth.number())
    }

    /// Beside files, for ourselves.
    pub(super) fn own_key(&self, name: &str) -> Key {
        Key(format!("{}{name}", self.0.prefix))
    }

    fn key_in(&self, area: Area, file: FileId) -> Key {
        let folder = self.folder(area, file.berth());
        Key(format!("{folder}{}", file.uuid().simple()))
    }
}

/// Keys go into addresses and signatures as they are.
pub(super) fn check_prefix(prefix: &str) -> Result<(), SetupFailure> {
    let Some(path) = prefix.strip_suffix('/') else {
        let empty = prefix.is_empty().then_some(());
        return empty.ok_or(SetupFailure::Prefix);
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let good = |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(allowed);
    if prefix.len() <= 512 && path.split('/').all(good) {
        Ok(())
    } else {
        Err(SetupFailure::Prefix)
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
    fn a_key_tells_its_file() {
        let id = "0198c0de00007000805000000000002a";
        let file: FileId = format!("file_{id}").parse().unwrap();
        let told = |key: &str| Key::listed(key.to_owned()).id();
        assert_eq!(told(&format!("x/staging/005/{id}")), Some(file));
        for other in ["", "x", &id[1..], &id.to_uppercase(), &format!("{id}/x")] {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
