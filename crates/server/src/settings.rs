//! Every `SVC_…` setting: read once at start, all that is wrong said at once.
//!
//! This is the only place that reads the environment.

pub mod address;
pub mod choice;
pub mod files;
pub mod licence;
mod parse;
pub mod table;
#[cfg(test)]
mod tests;
mod together;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use domain::nearest::nearest;
use serde::Serialize;

use crate::settings::address::{DatabaseUrl, ShardAddress};
use crate::settings::table::{Declaration, Shown, TABLE, Values};

const PREFIX: &str = "SVC_";

/// The name of the only shard of an install that names a single database.
const ONLY_SHARD: &str = "main";

/// What a process runs with.
#[derive(Debug, Clone)]
pub struct Settings {
    pub databases: Databases,
    pub values: Values,
}

/// Where control and each shard live.
#[derive(Debug, Clone)]
pub struct Databases {
    pub control: DatabaseUrl,
    pub shards: Vec<ShardAddress>,
}

impl Databases {
    pub fn shard_names(&self) -> Vec<&str> {
        self.shards.iter().map(|shard| &*shard.name).collect()
    }
}

/// Who gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Default,
    Environment,
}

/// One setting as it was read; `shown` holds no secret.
#[derive(Debug)]
pub struct Row {
    pub declaration: &'static Declaration,
    pub shown: String,
    pub origin: Origin,
}

/// One setting that is wrong, and what was expected of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    pub name: String,
    #[serde(rename = "message")]
    pub text: String,
}

impl Fault {
    fn is_of_a_database(&self) -> bool {
        self.name.contains("DATABASE_URL")
    }
}

/// Everything that was read, also when some of it is wrong.
#[derive(Debug)]
pub struct Reading {
    pub rows: Vec<Row>,
    pub faults: Vec<Fault>,
    values: Option<Values>,
    databases: Option<Databases>,
}

/// Why the process does not start; one line per setting.
#[derive(Debug, thiserror::Error)]
pub struct Faults(Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the settings are wrong (see: longshored config)")?;
        for fault in &self.0 {
            write!(f, "\n  {}: {}", fault.name, fault.text)?;
        }
        Ok(())
    }
}

impl Reading {
    pub fn settings(self) -> Result<Settings, Faults> {
        match (self.databases, self.values) {
            (Some(databases), Some(values)) if self.faults.is_empty() => {
                Ok(Settings { databases, values })
            }
            _ => Err(Faults(self.faults)),
        }
    }

    /// For what needs no database: the addresses may be missing or wrong.
    pub fn values(&self) -> Result<&Values, Faults> {
        let others = self.faults.iter().filter(|fault| !fault.is_of_a_database());
        let faults: Vec<Fault> = others.cloned().collect();
        match &self.values {
            Some(values) if faults.is_empty() => Ok(values),
            _ => Err(Faults(faults)),
        }
    }
}

/// Reads the environment of this process.
pub fn from_environment() -> Reading {
    read(std::env::vars_os())
}

/// A variable that another file names: a credential, which is no setting and is never shown.
pub fn credential(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Reads given variables; those without our prefix are someone else's.
pub fn read(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Reading {
    let mut reader = Reader::default();
    for (name, value) in variables {
        if let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) {
            reader.sort(name, value);
        }
    }
    let values = table::assemble(&mut reader);
    let databases = values.as_ref().and_then(|values| {
        for (name, text) in together::check(values) {
            reader.fault(name, text.to_owned());
        }
        reader.databases(values)
    });
    Reading {
        rows: reader.rows,
        faults: reader.faults,
        values,
        databases,
    }
}

/// Collects rows and faults while the table is read.
#[derive(Debug, Default)]
pub struct Reader {
    given: BTreeMap<&'static str, String>,
    rows: Vec<Row>,
    faults: Vec<Fault>,
}

impl Reader {
    fn sort(&mut self, name: &str, value: OsString) {
        let Some(declared) = TABLE.iter().find(|declared| declared.name == name) else {
            let near = nearest(name, TABLE.iter().map(|declared| declared.name));
            let hint = near
                .map(|near| format!("; did you mean {near}?"))
                .unwrap_or_default();
            return self.fault(name, format!("there is no such setting{hint}"));
        };
        match value.into_string() {
            // Compose files and charts hand over what they don't know as an empty text.
            Ok(value) if value.trim().is_empty() => {}
            Ok(value) => {
                self.given.insert(declared.name, value.trim().to_owned());
            }
            Err(_) => self.fault(name, "the value is not UTF-8".to_owned()),
        }
    }

    /// One row of the table; what cannot be read becomes a fault.
    fn take<T>(
        &mut self,
        declaration: &'static Declaration,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let (text, origin) = match self.given.get(declaration.name) {
            Some(text) => (text.clone(), Origin::Environment),
            None => (declaration.default.to_owned(), Origin::Default),
        };
        let shown = match declaration.shown {
            Shown::Plain => text.clone(),
            Shown::Masked => address::mask(&text),
            Shown::Hidden if text.is_empty() => String::new(),
            Shown::Hidden => address::MASK.to_owned(),
        };
        let parsed = parse(&text);
        let text = match declaration.shown {
            Shown::Plain => format!("`{text}` is not "),
            Shown::Masked | Shown::Hidden => "the value is not ".to_owned(),
        };
        self.rows.push(Row {
            declaration,
            shown,
            origin,
        });
        parsed
            .or_else(|expected| {
                self.fault(declaration.name, text + &expected);
                // Read on, so that what is wrong besides is told too.
                parse(declaration.default)
            })
            .ok()
    }

    fn databases(&mut self, values: &Values) -> Option<Databases> {
        let one = values.database_url.as_ref();
        let control = values.control_database_url.as_ref().or(one).cloned();
        let shards = match (values.shard_database_urls.as_slice(), one) {
            ([], Some(url)) => vec![ShardAddress {
                name: ONLY_SHARD.into(),
                url: url.clone(),
            }],
            (shards, _) => shards.to_vec(),
        };
        let (name, text) = match (control, shards.is_empty()) {
            (Some(control), false) => return Some(Databases { control, shards }),
            (Some(_), true) => (
                "SVC_SHARD_DATABASE_URLS",
                "is not set, nor is SVC_DATABASE_URL; name each shard and its address, \
                 such as north=postgres://…,south=postgres://…",
            ),
            (None, true) => (
                "SVC_DATABASE_URL",
                "is not set; it takes the address of a PostgreSQL, \
                 such as postgres://user:password@localhost:5432/longshore",
            ),
            (None, false) => (
                "SVC_CONTROL_DATABASE_URL",
                "is not set, nor is SVC_DATABASE_URL; it takes the address of a PostgreSQL",
            ),
        };
        // An address that is given and wrong has been told of already.
        if !self.faults.iter().any(Fault::is_of_a_database) {
            self.fault(name, text.to_owned());
        }
        None
    }

    fn fault(&mut self, name: &str, text: String) {
        self.faults.push(Fault {
            name: name.to_owned(),
            text,
        });
    }
}
