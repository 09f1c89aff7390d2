//! The format of a licence file: entitlements and the signature over their bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::plan_limits::{self, PlanLimits, RateLimit};
use domain::storage_quota::StorageQuota;
use domain::time::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::Deserialize;

use crate::licence::{Licence, LicenceFailure};
use crate::settings::licence::{LicencePublicKey, MAX_PLAN_AMOUNT};

#[derive(Debug, Deserialize)]
struct LicenceDocument {
    entitlements: String,
    signature: String,
}

/// Unknown fields are ignored: a newer release may define them.
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

/// Verifies the signature and returns the licence.
pub(super) fn verify(text: &str, key: Option<LicencePublicKey>) -> Result<Licence, LicenceFailure> {
    let document: LicenceDocument =
        serde_json::from_str(text).map_err(|error| LicenceFailure::NotJson(error.to_string()))?;
    let entitlements = decode("entitlements", &document.entitlements)?;
    let signature = decode("signature", &document.signature)?;
    let LicencePublicKey(key) = key.ok_or(LicenceFailure::PublicKeyMissing)?;
    UnparsedPublicKey::new(&ED25519, key)
        .verify(&entitlements, &signature)
        .map_err(|_| LicenceFailure::InvalidSignature)?;
    let entitlements: Entitlements = serde_json::from_slice(&entitlements)
        .map_err(|error| LicenceFailure::InvalidEntitlements(error.to_string()))?;
    entitlements.validate()
}

fn decode(field: &'static str, text: &str) -> Result<Vec<u8>, LicenceFailure> {
    STANDARD
        .decode(text)
        .map_err(|_| LicenceFailure::NotBase64(field))
}

impl Entitlements {
    fn validate(self) -> Result<Licence, LicenceFailure> {
        let numbers = [
            ("burst", self.burst),
            (
                "sustained_requests_per_minute",
                self.sustained_requests_per_minute,
            ),
        ];
        for (field, number) in numbers {
            if !(1..=plan_limits::MAX_BURST).contains(&number) {
                let text = format!(
                    "{field} {number} is not from 1 to {}",
                    plan_limits::MAX_BURST
                );
                return Err(LicenceFailure::InvalidEntitlements(text));
            }
        }
        let amounts = [
            ("monthly_tokens", self.monthly_tokens),
            ("storage_bytes", self.storage_bytes),
            ("storage_files", self.storage_files),
        ];
        for (field, amount) in amounts {
            if let Some(amount) = amount.filter(|amount| *amount > MAX_PLAN_AMOUNT) {
                let text = format!("{field} {amount} is not from 0 to {MAX_PLAN_AMOUNT}");
                return Err(LicenceFailure::InvalidEntitlements(text));
            }
        }
        Ok(Licence {
            licensee: self.licensee,
            issued_at: self.issued_at,
            expires_at: self.expires_at,
            limits: PlanLimits {
                rate: RateLimit {
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
