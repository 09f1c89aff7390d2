//! Where a credential comes from, and that it is there. What it says is never told.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use outbound::provider::credential::Credential;

use crate::notes::Notes;
use crate::providers::entry::Entry;

/// More is not a credential, and need not be read to its end.
const LONGEST: u64 = 16_384;
const LONGEST_NAME: usize = 100;

/// Who holds a credential for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Variable(String),
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}

/// Whether credentials are read; who asks no provider need not have them.
#[derive(Clone, Copy)]
pub enum Credentials<'a> {
    Unread,
    Read(&'a dyn Fn(&str) -> Option<OsString>),
}

impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unread => "Unread",
            Self::Read(_) => "Read",
        })
    }
}

/// Why there is none. Never with anything of its content.
#[derive(Debug, thiserror::Error)]
enum Missing {
    #[error("is not set")]
    Unset,
    #[error("cannot be read: {0}")]
    Unread(#[from] io::Error),
    #[error("is empty")]
    Empty,
    #[error("holds no credential, which is printable letters, digits and signs in one line")]
    Unfit,
}

impl Source {
    /// A credential that was put in the place of its variable's name must not be printed. So
    /// only what can be nothing else is taken for a name or a path, and the rest is not repeated.
    pub(super) fn checked(entry: &Entry, notes: &mut Notes<'_>) -> Option<Self> {
        match (&entry.credential_env, &entry.credential_file) {
            (Some(_), Some(_)) => {
                notes.fault("credential_env and credential_file are both given; leave one out");
                None
            }
            (Some(name), None) if is_name(name) => Some(Self::Variable(name.clone())),
            (Some(_), None) => {
                notes.fault(
                    "credential_env is not the name of a variable, such as OPENAI_API_KEY: \
                     A to Z, 0 to 9 and _; the credential itself never stands in this file",
                );
                None
            }
            (None, Some(path)) if path.starts_with('/') => Some(Self::File(PathBuf::from(path))),
            (None, Some(_)) => {
                notes.fault(
                    "credential_file is not a path from the root, such as /run/secrets/openai; \
                     the credential itself never stands in this file",
                );
                None
            }
            (None, None) => None,
        }
    }

    pub(super) fn read(
        &self,
        credentials: Credentials<'_>,
        notes: &mut Notes<'_>,
    ) -> Option<Credential> {
        let Credentials::Read(environment) = credentials else {
            return None;
        };
        match self.taken(environment) {
            Ok(credential) => Some(credential),
            Err(missing) => {
                notes.fault(&format!("the credential is missing: the {self} {missing}"));
                None
            }
        }
    }

    fn taken(&self, environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Credential, Missing> {
        let text = match self {
            Self::Variable(name) => {
                let value = environment(name).ok_or(Missing::Unset)?;
                value.into_string().map_err(|_| Missing::Unfit)?
            }
            Self::File(path) => {
                let mut bytes = Vec::new();
                let read = File::open(path)?.take(LONGEST).read_to_end(&mut bytes);
                read?;
                String::from_utf8(bytes).map_err(|_| Missing::Unfit)?
            }
        };
        match text.trim() {
            "" => Err(Missing::Empty),
            secret if secret.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Ok(Credential::new(secret))
            }
            _ => Err(Missing::Unfit),
        }
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=LONGEST_NAME).contains(&text.len())
        && text.bytes().all(allowed)
        && !text.starts_with(|first: char| first.is_ascii_digit())
}
