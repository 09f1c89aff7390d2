//! Profiles: the base URL of each in `config.toml`, its key in `credentials.toml` (mode 0600).
//!
//! There is no keyring: a file that only its owner can read works in containers and over SSH, too.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;

const CONFIG_FILE: &str = "config.toml";
const CREDENTIALS_FILE: &str = "credentials.toml";
const OWNER_ONLY: u32 = 0o600;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileConfig {
    /// The profile that is used when none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(default)]
    pub profiles: BTreeMap<String, ProfileEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileEntry {
    pub base_url: String,
    /// The slug of the key's project, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// `Debug` never shows a key.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileCredentials {
    #[serde(default)]
    pub keys: BTreeMap<String, String>,
}

impl std::fmt::Debug for ProfileCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.keys.keys()).finish()
    }
}

/// Both files of a folder.
#[derive(Debug, Clone)]
pub struct ProfileFolder {
    folder: PathBuf,
    pub config: ProfileConfig,
    pub credentials: ProfileCredentials,
}

impl ProfileFolder {
    /// Files that are missing count as empty.
    pub fn read(folder: &Path) -> CliResult<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            config: read_file(&folder.join(CONFIG_FILE))?,
            credentials: read_file(&folder.join(CREDENTIALS_FILE))?,
        })
    }

    pub fn write(&self) -> CliResult<()> {
        fs::create_dir_all(&self.folder).map_err(|error| CliError::file(&self.folder, &error))?;
        write_file(&self.folder.join(CONFIG_FILE), &self.config)?;
        write_file(&self.credentials_path(), &self.credentials)
    }

    pub fn credentials_path(&self) -> PathBuf {
        self.folder.join(CREDENTIALS_FILE)
    }

    /// The profile of this name, else the default one, else the only one.
    pub fn choose(&self, name: Option<&str>) -> Option<(&str, &ProfileEntry)> {
        let profiles = &self.config.profiles;
        let only = || {
            let mut names = profiles.keys();
            names.next().filter(|_| names.next().is_none())
        };
        let default = self.config.default.as_deref();
        let name = name.or(default).or_else(|| only().map(String::as_str))?;
        let (name, entry) = profiles.get_key_value(name)?;
        Some((name.as_str(), entry))
    }
}

fn read_file<T: DeserializeOwned + Default>(path: &Path) -> CliResult<T> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
        Err(error) => return Err(CliError::file(path, &error)),
    };
    toml::from_str(&text).map_err(|error| {
        let message = format!("{}: {}", path.display(), error.message());
        CliError::new(ExitStatus::Failed, "invalid_configuration", message)
    })
}

/// Writes another file and renames it, so that a crash leaves the old one.
fn write_file<T: Serialize>(path: &Path, content: &T) -> CliResult<()> {
    let text = toml::to_string(content).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        CliError::new(ExitStatus::Failed, "invalid_configuration", message)
    })?;
    let draft = path.with_extension("toml.new");
    let write = || {
        // A draft of an earlier crash may have another mode.
        let _removed = fs::remove_file(&draft);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(OWNER_ONLY)
            .open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(|error| CliError::file(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(base_url: &str) -> ProfileEntry {
        ProfileEntry {
            base_url: base_url.to_owned(),
            project: None,
        }
    }

    #[test]
    fn a_profile_is_named_or_the_default_or_the_only_one() {
        let mut folder = ProfileFolder {
            folder: PathBuf::new(),
            config: ProfileConfig::default(),
            credentials: ProfileCredentials::default(),
        };
        assert_eq!(folder.choose(None), None);
        let profiles = &mut folder.config.profiles;
        profiles.insert("a".to_owned(), entry("http://a"));
        assert_eq!(folder.choose(None), Some(("a", &entry("http://a"))));
        let profiles = &mut folder.config.profiles;
        profiles.insert("b".to_owned(), entry("http://b"));
        assert_eq!(folder.choose(None), None);
        assert_eq!(folder.choose(Some("b")), Some(("b", &entry("http://b"))));
        folder.config.default = Some("a".to_owned());
        assert_eq!(folder.choose(None), Some(("a", &entry("http://a"))));
        assert_eq!(folder.choose(Some("c")), None);
    }

    #[test]
    fn keys_are_never_shown() {
        let keys = BTreeMap::from([("a".to_owned(), "svc_sk_secret".to_owned())]);
        let shown = format!("{:?}", ProfileCredentials { keys });
        assert_eq!(shown, r#"["a"]"#);
    }
}
