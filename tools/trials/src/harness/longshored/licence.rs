//! A licence that the trial signs itself, so that no limit slows down a bench.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use crate::harness::{Result, TrialFailure};

/// The maximum of a bucket: burst, and refill per minute.
const UNLIMITED_REQUESTS: u32 = 100_000_000;

/// The path of the signed licence, and the key that verifies it.
#[derive(Debug)]
pub struct TrialLicence {
    pub file: PathBuf,
    pub public_key: String,
}

impl TrialLicence {
    /// Generates a key pair, signs with it and drops it.
    pub fn write(folder: &Path) -> Result<Self> {
        let unsigned = |_| TrialFailure::new("cannot create a licence");
        let random = SystemRandom::new();
        let document = Ed25519KeyPair::generate_pkcs8(&random).map_err(unsigned)?;
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref())
            .map_err(|_| TrialFailure::new("cannot read back a key pair"))?;
        let entitlements = json!({
            "licensee": "Trials",
            "issued_at": "2020-01-01T00:00:00Z",
            "expires_at": "2120-01-01T00:00:00Z",
            "burst": UNLIMITED_REQUESTS,
            "sustained_requests_per_minute": UNLIMITED_REQUESTS,
            "monthly_tokens": null,
        })
        .to_string();
        let signature = pair.sign(entitlements.as_bytes());
        let licence = json!({
            "entitlements": STANDARD.encode(&entitlements),
            "signature": STANDARD.encode(signature.as_ref()),
        });
        let file = folder.join("licence.json");
        fs::write(&file, licence.to_string())
            .map_err(|error| TrialFailure::new(format!("writing a licence: {error}")))?;
        Ok(Self {
            file,
            public_key: STANDARD.encode(pair.public_key().as_ref()),
        })
    }
}
