//! Every `SVC_…` setting, read once at start; all errors are reported together.
//!
//! This is the only module that reads the environment.

pub mod address;
mod aws_environment;
pub mod choice;
pub mod collector;
mod consistency;
pub mod encryption;
pub mod files;
pub mod licence;
mod parse;
pub mod secret_file;
pub mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use domain::suggestion::closest_name;
use outbound::role_credentials::RoleCredentialSource;
use serde::Serialize;

use crate::settings::address::{DatabaseUrl, ShardAddress};
use crate::settings::secret_file::SecretFile;
use crate::settings::table::{SettingDeclaration, SettingDisplay, SettingValues, TABLE};

const SETTING_PREFIX: &str = "SVC_";

/// The name of the only shard when `SVC_DATABASE_URL` names a single database.
const DEFAULT_SHARD_NAME: &str = "main";

/// The valid settings of a process.
#[derive(Debug, Clone)]
pub struct Settings {
    pub databases: DatabaseAddresses,
    pub values: SettingValues,
    /// The files that secrets were read from.
    pub secret_files: Vec<SecretFile>,
}

/// The addresses of control and of each shard.
#[derive(Debug, Clone)]
pub struct DatabaseAddresses {
    pub control: DatabaseUrl,
    pub shards: Vec<ShardAddress>,
}

impl DatabaseAddresses {
    pub fn shard_names(&self) -> Vec<&str> {
        self.shards.iter().map(|shard| &*shard.name).collect()
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    Default,
    Environment,
    /// A file that the environment names.
    File(PathBuf),
}

impl SettingOrigin {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::File(_) => "file",
        }
    }

    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Default | Self::Environment => None,
        }
    }
}

/// One setting as it was read; `display_value` never holds a secret.
#[derive(Debug)]
pub struct SettingRow {
    pub declaration: &'static SettingDeclaration,
    pub display_value: String,
    pub origin: SettingOrigin,
}

/// An invalid setting and why it is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InvalidSetting {
    pub name: String,
    #[serde(rename = "message")]
    pub text: String,
}

impl InvalidSetting {
    fn is_about_database(&self) -> bool {
        self.name.contains("DATABASE_URL")
    }
}

/// All settings that were read, valid or not.
#[derive(Debug)]
pub struct ParsedSettings {
    pub rows: Vec<SettingRow>,
    pub faults: Vec<InvalidSetting>,
    values: Option<SettingValues>,
    databases: Option<DatabaseAddresses>,
}

/// Why the process does not start; one line per invalid setting.
#[derive(Debug, thiserror::Error)]
pub struct SettingsFailure(Vec<InvalidSetting>);

impl fmt::Display for SettingsFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the settings are invalid; `longshored config` explains each one")?;
        for fault in &self.0 {
            write!(f, "\n  {}: {}", fault.name, fault.text)?;
        }
        Ok(())
    }
}

impl ParsedSettings {
    pub fn settings(self) -> Result<Settings, SettingsFailure> {
        let rows = self.rows.iter();
        let secret_files = rows.filter_map(SecretFile::of_row).collect();
        match (self.databases, self.values) {
            (Some(databases), Some(values)) if self.faults.is_empty() => Ok(Settings {
                databases,
                values,
                secret_files,
            }),
            _ => Err(SettingsFailure(self.faults)),
        }
    }

    /// For commands without a database: its address may be missing or invalid.
    pub fn values(&self) -> Result<&SettingValues, SettingsFailure> {
        let others = self
            .faults
            .iter()
            .filter(|fault| !fault.is_about_database());
        let faults: Vec<InvalidSetting> = others.cloned().collect();
        match &self.values {
            Some(values) if faults.is_empty() => Ok(values),
            _ => Err(SettingsFailure(faults)),
        }
    }
}

/// Reads the environment of this process.
pub fn from_environment() -> ParsedSettings {
    read_variables(std::env::vars_os())
}

/// A variable that `providers.toml` names: it holds a credential, is no setting and is never shown.
pub fn credential_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The source of the object store's credentials that the `AWS_…` variables name. `region` is used
/// if no variable names one.
pub fn object_credential_source(region: &str) -> Result<RoleCredentialSource, String> {
    let lookup = |name: &str| std::env::var_os(name).and_then(|value| value.into_string().ok());
    aws_environment::credential_source(lookup, region)
        .map_err(|(name, text)| format!("{name} {text}"))
}

/// Reads settings from variables; it ignores names without the prefix, except those of AWS.
pub fn read_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> ParsedSettings {
    let mut reader = SettingsReader::default();
    let mut aws_variables = BTreeMap::new();
    for (name, value) in variables {
        let Ok(name) = name.into_string() else {
            continue;
        };
        if name.starts_with(SETTING_PREFIX) {
            reader.add_variable(&name, value);
        } else if let (true, Ok(value)) = (
            name.starts_with(aws_environment::PREFIX),
            value.into_string(),
        ) {
            aws_variables.insert(name, value);
        }
    }
    reader.read_secret_files();
    let values = table::assemble(&mut reader);
    let databases = values.as_ref().and_then(|values| {
        for (name, text) in consistency::check(values) {
            reader.add_fault(name, text.to_owned());
        }
        for (name, text) in encryption::check(values) {
            reader.add_fault(name, text);
        }
        if let Some((name, text)) = aws_environment::check(values, &aws_variables) {
            reader.add_fault(name, text.to_owned());
        }
        reader.database_addresses(values)
    });
    ParsedSettings {
        rows: reader.rows,
        faults: reader.faults,
        values,
        databases,
    }
}

/// Says which setting was probably meant.
fn describe_unknown(name: &str) -> String {
    if let Some(plain) = secret_file::find_plain_setting(name) {
        return format!("unknown setting; only secrets are read from files: set {plain}");
    }
    let near = closest_name(name, TABLE.iter().map(|declared| declared.name));
    let hint = near.map(|near| format!("; did you mean {near}?"));
    format!("unknown setting{}", hint.unwrap_or_default())
}

/// Collects rows and errors while it parses the table.
#[derive(Debug, Default)]
pub struct SettingsReader {
    variables: BTreeMap<&'static str, String>,
    /// By the setting whose value they contain.
    files: BTreeMap<&'static str, PathBuf>,
    rows: Vec<SettingRow>,
    faults: Vec<InvalidSetting>,
}

impl SettingsReader {
    fn add_variable(&mut self, name: &str, value: OsString) {
        let declared = TABLE.iter().find(|declared| declared.name == name);
        let Some(declared) = declared.or_else(|| secret_file::find_setting(name)) else {
            return self.add_fault(name, describe_unknown(name));
        };
        match value.into_string() {
            // Compose files and Helm charts pass unset values as empty strings.
            Ok(value) if value.trim().is_empty() => {}
            Ok(value) if declared.name == name => {
                self.variables
                    .insert(declared.name, value.trim().to_owned());
            }
            Ok(path) => {
                self.files.insert(declared.name, path.trim().into());
            }
            Err(_) => self.add_fault(name, "the value is not UTF-8".to_owned()),
        }
    }

    /// Reads every file that the environment names, after all variables are known.
    fn read_secret_files(&mut self) {
        for (name, path) in std::mem::take(&mut self.files) {
            let variable = secret_file::variable(name);
            if self.variables.contains_key(name) {
                let text = format!("is set, and so is {name}; unset one of them");
                self.add_fault(&variable, text);
                continue;
            }
            match secret_file::read(&path) {
                Ok(value) => {
                    self.variables.insert(name, value);
                    self.files.insert(name, path);
                }
                Err(text) => self.add_fault(&variable, text),
            }
        }
    }

    /// Parses one row of the table; an invalid value becomes an error.
    fn parse_setting<T>(
        &mut self,
        declaration: &'static SettingDeclaration,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let name = declaration.name;
        let (text, origin) = match (self.variables.get(name), self.files.get(name)) {
            (Some(text), Some(path)) => (text.clone(), SettingOrigin::File(path.clone())),
            (Some(text), None) => (text.clone(), SettingOrigin::Environment),
            (None, _) => (declaration.default.to_owned(), SettingOrigin::Default),
        };
        let display_value = match declaration.display {
            SettingDisplay::Plain => text.clone(),
            SettingDisplay::Masked => address::mask(&text),
            SettingDisplay::Hidden if text.is_empty() => String::new(),
            SettingDisplay::Hidden => address::MASK.to_owned(),
        };
        let parsed = parse(&text);
        let text = match (declaration.display, origin.file()) {
            (SettingDisplay::Plain, _) => format!("`{text}` is not "),
            (SettingDisplay::Masked | SettingDisplay::Hidden, Some(path)) => {
                format!("the content of {} is not ", path.display())
            }
            (SettingDisplay::Masked | SettingDisplay::Hidden, None) => {
                "the value is not ".to_owned()
            }
        };
        self.rows.push(SettingRow {
            declaration,
            display_value,
            origin,
        });
        parsed
            .or_else(|expected| {
                self.add_fault(name, text + &expected);
                // Go on with the default, so that later errors are reported too.
                parse(declaration.default)
            })
            .ok()
    }

    fn database_addresses(&mut self, values: &SettingValues) -> Option<DatabaseAddresses> {
        let one = values.database_url.as_ref();
        let control = values.control_database_url.as_ref().or(one).cloned();
        let shards = match (values.shard_database_urls.as_slice(), one) {
            ([], Some(url)) => vec![ShardAddress {
                name: DEFAULT_SHARD_NAME.into(),
                url: url.clone(),
            }],
            (shards, _) => shards.to_vec(),
        };
        let (name, text) = match (control, shards.is_empty()) {
            (Some(control), false) => return Some(DatabaseAddresses { control, shards }),
            (Some(_), true) => (
                "SVC_SHARD_DATABASE_URLS",
                "is not set, and neither is SVC_DATABASE_URL; list each shard with its PostgreSQL \
                 address, such as north=postgres://…,south=postgres://…",
            ),
            (None, true) => (
                "SVC_DATABASE_URL",
                "is not set; set it to a PostgreSQL address, \
                 such as postgres://user:password@localhost:5432/longshore",
            ),
            (None, false) => (
                "SVC_CONTROL_DATABASE_URL",
                "is not set, and neither is SVC_DATABASE_URL; \
                 set one of them to a PostgreSQL address",
            ),
        };
        // An invalid address was reported already.
        if !self.faults.iter().any(InvalidSetting::is_about_database) {
            self.add_fault(name, text.to_owned());
        }
        None
    }

    fn add_fault(&mut self, name: &str, text: String) {
        self.faults.push(InvalidSetting {
            name: name.to_owned(),
            text,
        });
    }
}
