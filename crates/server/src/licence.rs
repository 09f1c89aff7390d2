//! The licence of a self-hosted installation: signed limits for its enterprise plan.

mod document;
#[cfg(test)]
mod tests;
pub mod watcher;

use std::path::{Path, PathBuf};

use domain::plan_limits::{LimitsByPlan, PlanLimits};
use domain::storage_quota::StorageQuota;
use domain::time::{Timestamp, to_wire};

use crate::settings::choice::Deployment;
use crate::settings::licence::LicencePublicKey;
use crate::settings::table::SettingValues;

/// A licence with a verified signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Licence {
    pub licensee: String,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    pub limits: PlanLimits,
}

/// Why a licence is not in force. The process starts anyway, with the plan's defaults.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LicenceFailure {
    #[error("the licence file {} cannot be read: {reason}", .path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("the licence is not a JSON object with `entitlements` and `signature`: {0}")]
    NotJson(String),
    #[error("the {0} of the licence is not base64")]
    NotBase64(&'static str),
    #[error("the licence cannot be verified: SVC_LICENCE_PUBLIC_KEY is not set")]
    PublicKeyMissing,
    #[error(
        "the signature of the licence is invalid: the licence was changed, \
         or SVC_LICENCE_PUBLIC_KEY is not the key that signed it"
    )]
    InvalidSignature,
    #[error("the licence is signed, but its entitlements are invalid: {0}")]
    InvalidEntitlements(String),
    #[error("the licence expired at {}", to_wire(*.0))]
    Expired(Timestamp),
}

impl Licence {
    /// The licence, or `Expired` if it has ended.
    pub fn valid_at(self, now: Timestamp) -> Result<Self, LicenceFailure> {
        if now < self.expires_at {
            Ok(self)
        } else {
            Err(LicenceFailure::Expired(self.expires_at))
        }
    }
}

/// The licence file and the key that must have signed it.
#[derive(Debug, Clone)]
pub struct LicenceSource {
    pub file: Option<PathBuf>,
    pub key: Option<LicencePublicKey>,
}

impl LicenceSource {
    /// With `SVC_DEPLOYMENT=cloud` no licence is read: only an organization's plan counts.
    pub fn from_settings(values: &SettingValues) -> Self {
        let file = match values.deployment {
            Deployment::SelfHosted => values.licence_file.clone(),
            Deployment::Cloud => None,
        };
        Self {
            file,
            key: values.licence_public_key,
        }
    }

    /// The verified licence, expired or not; none when no file is set.
    pub fn read(&self) -> Result<Option<Licence>, LicenceFailure> {
        let file = self.file.as_deref();
        file.map(|file| read(file, self.key)).transpose()
    }
}

pub fn read(path: &Path, key: Option<LicencePublicKey>) -> Result<Licence, LicenceFailure> {
    let text = std::fs::read_to_string(path).map_err(|error| LicenceFailure::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    document::verify(&text, key)
}

/// The limits of the plans from the settings, without a licence.
pub fn plan_limits(values: &SettingValues) -> LimitsByPlan {
    let limits = LimitsByPlan::default();
    let with = |plan, monthly_tokens, files, bytes| PlanLimits {
        monthly_tokens,
        storage: StorageQuota { files, bytes },
        ..plan
    };
    LimitsByPlan {
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

/// The limits of the plans now, with the licence if it is in force.
pub fn limits_in_force(values: &SettingValues, now: Timestamp) -> LimitsByPlan {
    let mut limits = plan_limits(values);
    let read = LicenceSource::from_settings(values).read();
    if let Ok(Some(licence)) = read
        && let Ok(licence) = licence.valid_at(now)
    {
        limits.enterprise = licence.limits;
    }
    limits
}
