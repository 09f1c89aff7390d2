//! The licence of a self-hosted install: what its enterprise plan allows, signed by who sold it.

mod document;
pub mod keeper;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use domain::limit::{Limits, PlanLimits};
use domain::storage::StorageQuota;
use domain::time::{Timestamp, to_wire};

use crate::settings::choice::Deployment;
use crate::settings::licence::PublicKey;
use crate::settings::table::Values;

/// What a good signature stands under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Licence {
    pub licensee: String,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    pub limits: PlanLimits,
}

/// Why a licence is not in force. It never stops a start: the plan has its defaults then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LicenceFailure {
    #[error("the licence {} cannot be read: {reason}", .path.display())]
    Unread { path: PathBuf, reason: String },
    #[error("the licence is not JSON with the texts `entitlements` and `signature`: {0}")]
    NotJson(String),
    #[error("the licence's {0} is not base64")]
    NotBase64(&'static str),
    #[error("SVC_LICENCE_PUBLIC_KEY is not set: the licence cannot be verified")]
    KeyMissing,
    #[error(
        "the licence's signature is wrong: the licence was changed, \
         or signed with another key than SVC_LICENCE_PUBLIC_KEY belongs to"
    )]
    Signature,
    #[error("the licence is signed, but what it entitles to cannot be read: {0}")]
    Entitlements(String),
    #[error("the licence expired at {}", to_wire(*.0))]
    Expired(Timestamp),
}

impl Licence {
    /// This licence, as long as it runs.
    pub fn at(self, now: Timestamp) -> Result<Self, LicenceFailure> {
        if now < self.expires_at {
            Ok(self)
        } else {
            Err(LicenceFailure::Expired(self.expires_at))
        }
    }
}

/// Where the licence lies, and whose signature it must have.
#[derive(Debug, Clone)]
pub struct Source {
    pub file: Option<PathBuf>,
    pub key: Option<PublicKey>,
}

impl Source {
    /// On cloud no licence is read: what an organization may do is its plan.
    pub fn of(values: &Values) -> Self {
        let file = match values.deployment {
            Deployment::SelfHosted => values.licence_file.clone(),
            Deployment::Cloud => None,
        };
        Self {
            file,
            key: values.licence_public_key,
        }
    }

    /// The licence whose signature is good, in force or not; nothing when no file is named.
    pub fn read(&self) -> Result<Option<Licence>, LicenceFailure> {
        let file = self.file.as_deref();
        file.map(|file| read(file, self.key)).transpose()
    }
}

pub fn read(path: &Path, key: Option<PublicKey>) -> Result<Licence, LicenceFailure> {
    let text = std::fs::read_to_string(path).map_err(|error| LicenceFailure::Unread {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    document::verified(&text, key)
}

/// What the plans allow as the settings say, before any licence.
pub fn plans(values: &Values) -> Limits {
    let limits = Limits::default();
    let with = |plan, monthly_tokens, files, bytes| PlanLimits {
        monthly_tokens,
        storage: StorageQuota { files, bytes },
        ..plan
    };
    Limits {
        free: with(
            limits.free,
            values.monthly_tokens_free,
            values.storage_files_free,
            values.storage_bytes_free,
        ),
        starter: with(
            limits.starter,
            values.monthly_tokens_starter,
            values.storage_files_starter,
            values.storage_bytes_starter,
        ),
        pro: with(
            limits.pro,
            values.monthly_tokens_pro,
            values.storage_files_pro,
            values.storage_bytes_pro,
        ),
        enterprise: limits.enterprise,
    }
}

/// What the plans allow at this moment, with the licence if it is good.
pub fn in_force(values: &Values, now: Timestamp) -> Limits {
    let mut limits = plans(values);
    let read = Source::of(values).read();
    if let Ok(Some(licence)) = read
        && let Ok(licence) = licence.at(now)
    {
        limits.enterprise = licence.limits;
    }
    limits
}
