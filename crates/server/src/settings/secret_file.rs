//! Secrets from files: `SVC_X_FILE` names a file with the value of the secret `SVC_X`.
//!
//! Docker secrets, mounted Kubernetes secrets and systemd credentials are files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::settings::SettingRow;
use crate::settings::table::{SettingDeclaration, TABLE};

const FILE_SUFFIX: &str = "_FILE";
/// A longer file is not a secret, and reading it could take for ever.
const MAX_SECRET_BYTES: u64 = 64 << 10;

/// A file that a secret was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// The variable that names the file.
    pub variable: String,
    pub path: PathBuf,
}

impl SecretFile {
    pub(super) fn of_row(row: &SettingRow) -> Option<Self> {
        let path = row.origin.file()?.to_owned();
        let variable = variable(row.declaration.name);
        Some(Self { variable, path })
    }
}

/// The variable that names the file of this setting.
pub fn variable(setting: &str) -> String {
    format!("{setting}{FILE_SUFFIX}")
}

/// The secret whose file this variable names. Other settings are not read from files.
pub(super) fn find_setting(variable: &str) -> Option<&'static SettingDeclaration> {
    let name = variable.strip_suffix(FILE_SUFFIX)?;
    let declared = TABLE.iter().find(|declared| declared.name == name)?;
    declared.display.is_secret().then_some(declared)
}

/// The setting that a variable ending in `_FILE` is about, although it is no secret.
pub(super) fn find_plain_setting(variable: &str) -> Option<&'static str> {
    let name = variable.strip_suffix(FILE_SUFFIX)?;
    let declared = TABLE.iter().find(|declared| declared.name == name)?;
    Some(declared.name)
}

/// The value in a file, without the newline at its end. The error never quotes the value.
pub(super) fn read(path: &Path) -> Result<String, String> {
    if !path.is_absolute() {
        // It may be the secret, put into the wrong variable.
        return Err("it is not an absolute path: it must name a file, not be the value".to_owned());
    }
    let shown = path.display();
    let unreadable = |error: io::Error| format!("{shown} cannot be read: {error}");
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let mut limited = file.take(MAX_SECRET_BYTES + 1);
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    if limited.limit() == 0 {
        return Err(format!("{shown} has more than {MAX_SECRET_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8"))?;
    let value = text.trim();
    if value.is_empty() {
        return Err(format!("{shown} is empty"));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config;
    use crate::settings::{ParsedSettings, read_variables};

    /// A folder for the files of one test.
    struct SecretFolder(PathBuf);

    impl SecretFolder {
        fn new(test: &str) -> Self {
            let name = format!("longshore-{test}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn add(&self, name: &str, content: &[u8]) -> String {
            let path = self.0.join(name);
            fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        }
    }

    impl Drop for SecretFolder {
        fn drop(&mut self) {
            let _removed = fs::remove_dir_all(&self.0);
        }
    }

    fn reading(given: &[(&str, &str)]) -> ParsedSettings {
        read_variables(
            given
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
    }

    #[test]
    fn a_secret_is_read_from_a_file_and_never_shown() {
        let folder = SecretFolder::new("secret-file");
        let url = folder.add("url", b"postgres://dock:hunter2@localhost/longshore\n");
        let root = folder.add("root", b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
        let given = [
            ("SVC_DATABASE_URL_FILE", url.as_str()),
            ("SVC_SIGNING_ROOT_FILE", root.as_str()),
            ("SVC_REDIS_URL_FILE", ""),
        ];
        let page = config::render_text(&reading(&given)).replace(&url, "/run/url");
        let json = serde_json::to_string(&config::build_report(&reading(&given))).unwrap();
        for shown in [&page, &json] {
            assert!(!shown.contains("hunter2") && !shown.contains("AAECAw"));
        }
        let line = page.lines().next().unwrap();
        insta::assert_snapshot!(line, @"SVC_DATABASE_URL=postgres://dock:****@localhost/longshore  (file /run/url)");
        let origin = format!("\"origin\":\"file\",\"file\":\"{root}\"");
        assert!(json.contains(&origin), "{json}");

        let settings = reading(&given).settings().unwrap();
        assert!(settings.values.signing_root.is_some());
        assert!(settings.values.redis_url.is_none());
        let control = settings.databases.control.reveal();
        assert_eq!(control, "postgres://dock:hunter2@localhost/longshore");
        let files = settings.secret_files.iter();
        let variables: Vec<_> = files.map(|file| file.variable.as_str()).collect();
        assert_eq!(
            variables,
            ["SVC_DATABASE_URL_FILE", "SVC_SIGNING_ROOT_FILE"]
        );
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let folder = SecretFolder::new("secret-file-faults");
        let [empty, wrong, binary, long] = [
            folder.add("empty", b"\n"),
            folder.add("wrong", b"hunter 2"),
            folder.add("binary", b"\xff"),
            folder.add("long", &vec![b'x'; 70_000]),
        ];
        let missing = folder.0.join("missing");
        let given = [
            ("SVC_DATABASE_URL", "postgres://localhost/longshore"),
            ("SVC_DATABASE_URL_FILE", wrong.as_str()),
            ("SVC_LISTEN_FILE", wrong.as_str()),
            ("SVC_OIDC_SECRET_FILE", wrong.as_str()),
            ("SVC_OBJECTS_ACCESS_KEY_FILE", binary.as_str()),
            ("SVC_OBJECTS_SECRET_KEY_FILE", long.as_str()),
            ("SVC_REDIS_URL_FILE", missing.to_str().unwrap()),
            ("SVC_SIGNING_ROOT_FILE", empty.as_str()),
        ];
        let failure = reading(&given).settings().unwrap_err().to_string();
        let failure = failure.replace(folder.0.to_str().unwrap(), "/run");
        insta::assert_snapshot!(failure, @r"
        the settings are invalid; `longshored config` explains each one
          SVC_LISTEN_FILE: unknown setting; only secrets are read from files: set SVC_LISTEN
          SVC_DATABASE_URL_FILE: is set, and so is SVC_DATABASE_URL; unset one of them
          SVC_OBJECTS_ACCESS_KEY_FILE: /run/binary is not UTF-8
          SVC_OBJECTS_SECRET_KEY_FILE: /run/long has more than 65536 bytes
          SVC_REDIS_URL_FILE: /run/missing cannot be read: No such file or directory (os error 2)
          SVC_SIGNING_ROOT_FILE: /run/empty is empty
          SVC_OIDC_SECRET: the content of /run/wrong is not a key of printable characters without spaces
        ");
    }

    #[test]
    fn no_setting_has_the_name_of_a_file_variable() {
        for declared in TABLE {
            let taken = TABLE.iter().any(|it| it.name == variable(declared.name));
            assert!(!taken, "{}", declared.name);
        }
    }
}
