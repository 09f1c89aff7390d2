//! The policy of a POST: what the store checks before it takes the bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::file::{Declared, Sha256};
use domain::time::Timestamp;
use serde_json::json;

use super::sign::{ALGORITHM, Signer, moment};

/// What is granted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy<'a> {
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
    pub(super) declared: &'a Declared,
    pub(super) expires_at: Timestamp,
}

/// The fields of the form. Each has a condition, or stores refuse it as one too many;
/// so both come from one list.
pub(super) fn signed_fields(
    policy: &Policy<'_>,
    signer: &Signer,
    now: Timestamp,
) -> Vec<(String, String)> {
    let Declared {
        media_type,
        size_bytes,
        sha256: Sha256(digest),
    } = policy.declared;
    let mut fields: Vec<(String, String)> = [
        ("key", policy.key.to_owned()),
        ("Content-Type", media_type.as_str().to_owned()),
        // One without the other is ignored by some stores.
        ("x-amz-checksum-algorithm", "SHA256".to_owned()),
        ("x-amz-checksum-sha256", BASE64.encode(digest)),
        ("x-amz-algorithm", ALGORITHM.to_owned()),
        ("x-amz-credential", signer.credential(now)),
        ("x-amz-date", moment(now)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let mut conditions = vec![
        json!({ "bucket": policy.bucket }),
        json!(["content-length-range", size_bytes, size_bytes]),
    ];
    conditions.extend(
        fields
            .iter()
            .map(|(name, value)| json!(["eq", format!("${name}"), value])),
    );
    let document = json!({
        "expiration": policy.expires_at.format("%Y-%m-%dT%H:%M:%S.000Z").to_string(),
        "conditions": conditions,
    });
    let document = BASE64.encode(document.to_string());
    let signature = signer.signature(&document, now);
    fields.push(("policy".to_owned(), document));
    fields.push(("x-amz-signature".to_owned(), signature));
    fields
}
