//! The name of an organization for providers: it separates prompt caches and reports of abuse, and
//! says nothing about the organization.

use sha2::{Digest as _, Sha256};

use crate::id::OrganizationId;

/// 32 hexadecimal digits. The id that it is made from is random and never leaves the
/// installation.
pub fn tenant_hash(organization: OrganizationId, upstream_model: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"longshore tenant\0");
    hasher.update(organization.uuid().as_bytes());
    hasher.update(upstream_model.as_bytes());
    let digest = hasher.finalize();
    hex::encode(digest.get(..16).unwrap_or_default())
}
