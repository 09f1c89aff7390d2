//! The file of a licence: entitlements, and the signature over their bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::limit::{MOST, PlanLimits, Rate};
use domain::time::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::Deserialize;

use crate::licence::{Licence, LicenceFailure};
use crate::settings::licence::{MOST_TOKENS, PublicKey};

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
    monthly_tokens: Option<u64>,
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
            if !(1..=MOST).contains(&number) {
                let text = format!("{field} {number} is not from 1 to {MOST}");
                return Err(LicenceFailure::Entitlements(text));
            }
        }
        if let Some(tokens) = self.monthly_tokens.filter(|tokens| *tokens > MOST_TOKENS) {
            let text = format!("monthly_tokens {tokens} is not from 0 to {MOST_TOKENS}");
            return Err(LicenceFailure::Entitlements(text));
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
            },
        })
    }
}
