//! The file of a licence: entitlements, and the signature over their bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::limit::{self, PlanLimits, Rate};
use domain::storage::StorageQuota;
use domain::time::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::Deserialize;

use crate::licence::{Licence, LicenceFailure};
use crate::settings::licence::{MOST, PublicKey};

#[derive(Debug, Deserialize)]
struct Document {
    entitlements: String,
    signature: String,
}

/// Fields that a newer release knows are let be.
#[derive(Debug, Deserialize)]
struct Entitlements {
    licensee: String,
    issued_at: Timestamp,
    expires_at: Timestamp,
    burst: u32,
    sustained_requests_per_minute: u32,
    /// These three are unlimited when absent or null.
    monthly_tokens: Option<u64>,
    storage_bytes: Option<u64>,
    storage_files: Option<u64>,
}

/// What the text entitles to, when the signature under it is good.
pub(super) fn verified(text: &str, key: Option<PublicKey>) -> Result<Licence, LicenceFailure> {
    let document: Document =
        serde_json::from_str(text).map_err(|error| LicenceFailure::NotJson(error.to_string()))?;
    let entitlements = decoded("entitlements", &document.entitlements)?;
    let signature = decoded("signature", &document.signature)?;
    let PublicKey(key) = key.ok_or(LicenceFailure::KeyMissing)?;
    UnparsedPublicKey::new(&ED25519, key)
        .verify(&entitlements, &signature)
        .map_err(|_| LicenceFailure::Signature)?;
    let entitlements: Entitlements = serde_json::from_slice(&entitlements)
        .map_err(|error| LicenceFailure::Entitlements(error.to_string()))?;
    entitlements.checked()
}

fn decoded(field: &'static str, text: &str) -> Result<Vec<u8>, LicenceFailure> {
    STANDARD
        .decode(text)
        .map_err(|_| LicenceFailure::NotBase64(field))
}

impl Entitlements {
    fn checked(self) -> Result<Licence, LicenceFailure> {
        let numbers = [
            ("burst", self.burst),
            (
                "sustained_requests_per_minute",
                self.sustained_requests_per_minute,
            ),
        ];
        for (field, number) in numbers {
            if !(1..=limit::MOST).contains(&number) {
                let text = format!("{field} {number} is not from 1 to {}", limit::MOST);
                return Err(LicenceFailure::Entitlements(text));
            }
        }
        let amounts = [
            ("monthly_tokens", self.monthly_tokens),
            ("storage_bytes", self.storage_bytes),
            ("storage_files", self.storage_files),
        ];
        for (field, amount) in amounts {
            if let Some(amount) = amount.filter(|amount| *amount > MOST) {
                let text = format!("{field} {amount} is not from 0 to {MOST}");
                return Err(LicenceFailure::Entitlements(text));
            }
        }
        Ok(Licence {
            licensee: self.licensee,
            issued_at: self.issued_at,
            expires_at: self.expires_at,
            limits: PlanLimits {
                rate: Rate {
                    burst: self.burst,
                    per_minute: self.sustained_requests_per_minute,
                },
                monthly_tokens: self.monthly_tokens,
                storage: StorageQuota {
                    files: self.storage_files,
                    bytes: self.storage_bytes,
                },
            },
        })
    }
}
