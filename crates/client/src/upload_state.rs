//! The parts of an interrupted upload, so that another process continues it. The Python client
//! reads and writes the same files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The service aborts a session after a day.
const MAX_AGE: Duration = Duration::from_hours(24);

/// An open session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UploadState {
    pub(crate) base_url: String,
    pub(crate) file_id: String,
    /// The `ETag` of each part that the object store has, by its number.
    pub(crate) parts: BTreeMap<String, String>,
}

/// Where the state of one file is kept. Without a folder, an interrupted upload starts again.
#[derive(Debug, Clone)]
pub(crate) struct UploadStateFile(Option<PathBuf>);

/// An upload in parts, and the file that remembers it.
#[derive(Debug)]
pub(crate) struct PartedUpload {
    pub(crate) state: UploadState,
    pub(crate) state_file: UploadStateFile,
}

impl UploadStateFile {
    pub(crate) fn of(folder: Option<&Path>, sha256: &str) -> Self {
        Self(folder.map(|folder| folder.join(format!("{sha256}.json"))))
    }

    /// None if there is none, if it is too old, or if it is of another service.
    pub(crate) fn load(&self, base_url: &str) -> Option<UploadState> {
        let path = self.0.as_deref()?;
        let age = fs::metadata(path).ok()?.modified().ok()?.elapsed();
        let state: UploadState = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let is_current = age.is_ok_and(|age| age < MAX_AGE);
        (is_current && state.base_url == base_url).then_some(state)
    }

    /// A state that cannot be written only costs a repeated upload.
    pub(crate) fn save(&self, state: &UploadState) {
        let Some(path) = self.0.as_deref() else {
            return;
        };
        let draft = path.with_extension(std::process::id().to_string());
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&draft, encode(state)));
        let _saved = written.and_then(|()| fs::rename(&draft, path));
    }

    pub(crate) fn forget(&self) {
        if let Some(path) = &self.0 {
            let _removed = fs::remove_file(path);
        }
    }
}

impl PartedUpload {
    /// The object store has this part.
    pub(crate) fn remember(&mut self, number: u64, etag: String) {
        self.state.parts.insert(number.to_string(), etag);
        self.state_file.save(&self.state);
    }
}

fn encode(state: &UploadState) -> Vec<u8> {
    // Texts always serialize.
    serde_json::to_vec(state).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_by_the_service_that_it_is_of() {
        let name = format!("longshore-upload-state-{}", std::process::id());
        let folder = std::env::temp_dir().join(name).join("uploads");
        let file = UploadStateFile::of(Some(&folder), "ab");
        assert_eq!(file.load("https://a.example"), None);
        let state = UploadState {
            base_url: "https://a.example".to_owned(),
            file_id: "file_1".to_owned(),
            parts: [("1".to_owned(), "\"x\"".to_owned())].into(),
        };
        file.save(&state);
        assert_eq!(file.load("https://a.example"), Some(state));
        assert_eq!(file.load("https://b.example"), None);
        file.forget();
        assert_eq!(file.load("https://a.example"), None);
        let _removed = fs::remove_dir_all(folder.parent().unwrap());
    }
}
