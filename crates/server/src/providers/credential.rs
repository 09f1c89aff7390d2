//! Reads provider credentials from a variable or a file. Errors never quote a credential.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use outbound::provider::credential::ProviderCredential;

use crate::entry_errors::EntryErrors;
use crate::providers::entry::ProviderEntry;

/// A longer file is not a credential.
const MAX_CREDENTIAL_BYTES: u64 = 16_384;
const MAX_VARIABLE_NAME_BYTES: usize = 100;

/// Where a credential comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialSource {
    Variable(String),
    File(PathBuf),
}

impl fmt::Display for CredentialSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}

/// Whether credentials are read; a process that calls no provider does not need them.
#[derive(Clone, Copy)]
pub enum CredentialAccess<'a> {
    Skip,
    Read(&'a dyn Fn(&str) -> Option<OsString>),
}

impl fmt::Debug for CredentialAccess<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Skip => "Skip",
            Self::Read(_) => "Read",
        })
    }
}

/// Why a credential cannot be used. Never quotes it.
#[derive(Debug, thiserror::Error)]
enum CredentialFailure {
    #[error("is not set")]
    NotSet,
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("is empty")]
    Empty,
    #[error("is not a credential: one line of printable ASCII characters without spaces")]
    Invalid,
}

impl CredentialSource {
    /// An operator may put the credential where its variable's name belongs. So anything that is
    /// not clearly a name or a path is an error that does not quote it.
    pub(super) fn validate(entry: &ProviderEntry, errors: &mut EntryErrors<'_>) -> Option<Self> {
        match (&entry.credential_env, &entry.credential_file) {
            (Some(_), Some(_)) => {
                errors.add("credential_env and credential_file are both given; remove one");
                None
            }
            (Some(name), None) if is_name(name) => Some(Self::Variable(name.clone())),
            (Some(_), None) => {
                errors.add(
                    "credential_env is not the name of an environment variable, such as \
                     OPENAI_API_KEY (A-Z, 0-9 and _); never put the credential itself here",
                );
                None
            }
            (None, Some(path)) if path.starts_with('/') => Some(Self::File(PathBuf::from(path))),
            (None, Some(_)) => {
                errors.add(
                    "credential_file is not an absolute path, such as /run/secrets/openai; \
                     never put the credential itself here",
                );
                None
            }
            (None, None) => None,
        }
    }

    pub(super) fn read(
        &self,
        credentials: CredentialAccess<'_>,
        errors: &mut EntryErrors<'_>,
    ) -> Option<ProviderCredential> {
        let CredentialAccess::Read(environment) = credentials else {
            return None;
        };
        match self.load(environment) {
            Ok(credential) => Some(credential),
            Err(missing) => {
                errors.add(&format!(
                    "the credential cannot be read: the {self} {missing}"
                ));
                None
            }
        }
    }

    fn load(
        &self,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<ProviderCredential, CredentialFailure> {
        let text = match self {
            Self::Variable(name) => {
                let value = environment(name).ok_or(CredentialFailure::NotSet)?;
                value
                    .into_string()
                    .map_err(|_| CredentialFailure::Invalid)?
            }
            Self::File(path) => {
                let mut bytes = Vec::new();
                let read = File::open(path)?
                    .take(MAX_CREDENTIAL_BYTES)
                    .read_to_end(&mut bytes);
                read?;
                String::from_utf8(bytes).map_err(|_| CredentialFailure::Invalid)?
            }
        };
        match text.trim() {
            "" => Err(CredentialFailure::Empty),
            secret if secret.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Ok(ProviderCredential::new(secret))
            }
            _ => Err(CredentialFailure::Invalid),
        }
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=MAX_VARIABLE_NAME_BYTES).contains(&text.len())
        && text.bytes().all(allowed)
        && !text.starts_with(|first: char| first.is_ascii_digit())
}
