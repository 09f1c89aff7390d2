//! The POST policy: the conditions that the store checks before it accepts the bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::file::{FileDeclaration, Sha256};
use domain::time::Timestamp;
use serde_json::json;

use super::sigv4::{ALGORITHM, SigV4Signer, format_timestamp};

#[derive(Debug, Clone, Copy)]
pub(super) struct PostPolicy<'a> {
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
    pub(super) declared: &'a FileDeclaration,
    pub(super) expires_at: Timestamp,
}

/// The fields of the form. Stores refuse a field without a condition, so both come from one
/// list.
pub(super) fn signed_fields(
    policy: &PostPolicy<'_>,
    signer: &SigV4Signer,
    now: Timestamp,
) -> Vec<(String, String)> {
    let FileDeclaration {
        media_type,
        size_bytes,
        sha256: Sha256(digest),
    } = policy.declared;
    let mut fields: Vec<(String, String)> = [
        ("key", policy.key.to_owned()),
        ("Content-Type", media_type.as_str().to_owned()),
        // Some stores ignore either one without the other.
        ("x-amz-checksum-algorithm", "SHA256".to_owned()),
        ("x-amz-checksum-sha256", BASE64.encode(digest)),
        ("x-amz-algorithm", ALGORITHM.to_owned()),
        ("x-amz-credential", signer.credential(now)),
        ("x-amz-date", format_timestamp(now)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    fields.extend(
        signer
            .session_token()
            .map(|token| ("x-amz-security-token".to_owned(), token.to_owned())),
    );
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

#[cfg(test)]
mod tests {
    use domain::file::MediaType;

    use super::*;

    fn policy_document(fields: &[(String, String)]) -> serde_json::Value {
        let policy = fields.iter().find(|(name, _)| name == "policy");
        let document = BASE64.decode(&policy.unwrap().1).unwrap();
        serde_json::from_slice(&document).unwrap()
    }

    #[test]
    fn a_session_token_is_a_field_with_a_condition() {
        let declared = FileDeclaration {
            media_type: MediaType::Text,
            size_bytes: 5,
            sha256: Sha256([0; 32]),
        };
        let now = Timestamp::from_timestamp(1_451_347_200, 0).unwrap();
        let policy = PostPolicy {
            bucket: "examplebucket",
            key: "staging/1",
            declared: &declared,
            expires_at: now,
        };
        let signer = || SigV4Signer::new("AKIA".to_owned(), "secret", "us-east-1".to_owned());
        let condition = json!(["eq", "$x-amz-security-token", "token"]);
        let has_condition = |fields: &[(String, String)]| {
            let document = policy_document(fields);
            let conditions = document["conditions"].as_array().unwrap();
            conditions.contains(&condition)
        };

        let plain = signed_fields(&policy, &signer().unwrap(), now);
        assert!(!has_condition(&plain));
        let signer = signer().unwrap().with_session_token("token".to_owned());
        let fields = signed_fields(&policy, &signer, now);
        let token = ("x-amz-security-token".to_owned(), "token".to_owned());
        assert!(fields.contains(&token) && has_condition(&fields));
        assert_eq!(fields.len(), plain.len() + 1);
    }
}
