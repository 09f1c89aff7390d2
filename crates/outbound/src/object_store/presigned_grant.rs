//! Presigned grants: narrow, short-lived permissions with which callers access the store.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::cargo::JOB_CANCEL_AGE;
use domain::file::{FileDeclaration, MediaType, Sha256};
use domain::id::FileId;
use domain::time::Timestamp;
use domain::upload::part_bytes;
use http::Method;

use super::ObjectStore;
use super::content_disposition::attachment;
use super::failure::ObjectStoreFailure;
use super::key::ObjectKey;
use super::post_policy::{self, PostPolicy};
use super::signers::GrantSigner;
use super::sigv4::UnsignedRequest;

/// How long a download link is valid.
pub(super) const DOWNLOAD_LIFETIME: Duration = Duration::from_mins(5);

/// How long a provider's link is valid after the job is cancelled: the cancellation takes a while,
/// and clocks differ.
const PROVIDER_LINK_MARGIN: Duration = Duration::from_hours(1);

/// The store verifies the bytes against this header, which is signed.
pub(super) const STORE_CHECKSUM_HEADER: &str = "x-amz-checksum-sha256";
/// Stores ignore this header; our scan hashes the bytes.
pub(super) const LONGSHORE_CHECKSUM_HEADER: &str = "x-object-checksum-sha256";

/// One form POST: every field, then the file.
#[derive(Clone, PartialEq, Eq)]
pub struct PostGrant {
    pub url: String,
    pub fields: Vec<(String, String)>,
    pub expires_at: Timestamp,
}

/// One PUT per part.
#[derive(Clone, PartialEq, Eq)]
pub struct PartGrants {
    pub parts: Vec<(u32, String)>,
    /// The header in which the caller sends a part's digest.
    pub checksum_header: &'static str,
    pub expires_at: Timestamp,
}

fn provider_link_lifetime() -> Duration {
    JOB_CANCEL_AGE.to_std().unwrap_or_default() + PROVIDER_LINK_MARGIN
}

impl std::fmt::Debug for PostGrant {
    /// Without the URL and the fields: a logged grant could be used.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostGrant")
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PartGrants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartGrants")
            .field("parts", &self.parts.len())
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

impl ObjectStore {
    /// For exactly these bytes and this media type, to the file's staging key.
    pub fn post_grant(
        &self,
        file: FileId,
        declared: &FileDeclaration,
    ) -> Result<PostGrant, ObjectStoreFailure> {
        self.post_grant_to(&self.staging_key(file), declared)
    }

    pub(super) fn post_grant_to(
        &self,
        key: &ObjectKey,
        declared: &FileDeclaration,
    ) -> Result<PostGrant, ObjectStoreFailure> {
        let parts = &*self.0;
        let signer = self.upload_signer()?;
        let expires_at = signer.expires_at;
        let policy = PostPolicy {
            bucket: &parts.bucket,
            key: key.as_str(),
            declared,
            expires_at,
        };
        Ok(PostGrant {
            url: parts.public.url(&parts.public.path(None)),
            fields: post_policy::signed_fields(&policy, signer.signer(), signer.signed_at),
            expires_at,
        })
    }

    /// For parts of exactly their length, numbered from 1. Numbers beyond the last get no grant.
    ///
    /// With `checksums` of all parts in order, each URL accepts those bytes only.
    pub fn part_grants(
        &self,
        file: FileId,
        upload: &str,
        size_bytes: u64,
        numbers: &[u32],
        checksums: Option<&[Sha256]>,
    ) -> Result<PartGrants, ObjectStoreFailure> {
        let key = self.staging_key(file);
        let signer = self.upload_signer()?;
        let grant = |number: u32| {
            let length = part_bytes(size_bytes, number)?;
            let index = usize::try_from(number).ok()?.checked_sub(1)?;
            let checksum = match checksums {
                Some(all) => Some(all.get(index)?),
                None => None,
            };
            let part = GrantedPart {
                key: &key,
                upload,
                number,
                length,
                checksum,
            };
            Some((number, self.presign_part(&part, &signer)))
        };
        Ok(PartGrants {
            parts: numbers.iter().copied().filter_map(grant).collect(),
            checksum_header: if checksums.is_some() {
                STORE_CHECKSUM_HEADER
            } else {
                LONGSHORE_CHECKSUM_HEADER
            },
            expires_at: signer.expires_at,
        })
    }

    pub(super) fn presign_part(&self, part: &GrantedPart<'_>, signer: &GrantSigner) -> String {
        let (number, length) = (part.number.to_string(), part.length.to_string());
        let checksum = part.checksum.map(|Sha256(digest)| BASE64.encode(digest));
        let mut headers = vec![("content-length", length.as_str())];
        headers.extend(
            checksum
                .as_deref()
                .map(|digest| (STORE_CHECKSUM_HEADER, digest)),
        );
        let query = [("partNumber", number.as_str()), ("uploadId", part.upload)];
        let presigned = signer.presign(UnsignedRequest {
            method: &Method::PUT,
            host: &self.0.public.host,
            path: &self.0.public.path(Some(part.key)),
            query: &query,
            headers: &headers,
            expires: signer.lifetime(),
        });
        self.0.public.url(&presigned)
    }

    /// A link that downloads the object under a file name and never shows it inline, and when it
    /// expires.
    pub fn presign_download(
        &self,
        object: FileId,
        filename: &str,
        media_type: MediaType,
    ) -> Result<(String, Timestamp), ObjectStoreFailure> {
        let signer = self.grant_signer(DOWNLOAD_LIFETIME)?;
        let disposition = attachment(filename);
        let query = [
            ("response-content-disposition", disposition.as_str()),
            ("response-content-type", media_type.as_str()),
        ];
        let presigned = signer.presign(UnsignedRequest {
            method: &Method::GET,
            host: &self.0.public.host,
            path: &self.0.public.path(Some(&self.published_key(object))),
            query: &query,
            headers: &[],
            expires: signer.lifetime(),
        });
        Ok((self.0.public.url(&presigned), signer.expires_at))
    }

    /// A link for a provider that fetches an object while it runs a job. The same `since` gives
    /// the same link, so a rebuilt job has the same bytes.
    ///
    /// A link is signed as of the time of loading and cannot be shorter than the life of its cargo:
    /// the cargo may be submitted up to its deadline, and its job may then run until it is
    /// cancelled. Later the provider has no use for it.
    ///
    /// None with the credentials of a role: they expire before that, and a rebuilt job would have
    /// another session token in its links. The bytes are then sent in the request.
    pub fn presign_provider_link(
        &self,
        object: FileId,
        media_type: MediaType,
        since: Timestamp,
    ) -> Option<String> {
        let signer = self.0.signers.permanent()?;
        let query = [("response-content-type", media_type.as_str())];
        let request = UnsignedRequest {
            method: &Method::GET,
            host: &self.0.public.host,
            path: &self.0.public.path(Some(&self.published_key(object))),
            query: &query,
            headers: &[],
            expires: provider_link_lifetime(),
        };
        Some(self.0.public.url(&signer.presign(request, since)))
    }

    /// Signs grants for uploads.
    pub(super) fn upload_signer(&self) -> Result<GrantSigner, ObjectStoreFailure> {
        self.grant_signer(self.0.grant_lifetime)
    }

    pub(super) fn grant_signer(
        &self,
        lifetime: Duration,
    ) -> Result<GrantSigner, ObjectStoreFailure> {
        let now = self.now();
        Ok(GrantSigner::new(self.0.signers.valid(now)?, lifetime, now))
    }
}

/// One part that the caller may upload.
#[derive(Debug, Clone, Copy)]
pub(super) struct GrantedPart<'a> {
    pub(super) key: &'a ObjectKey,
    pub(super) upload: &'a str,
    pub(super) number: u32,
    pub(super) length: u64,
    pub(super) checksum: Option<&'a Sha256>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_a_provider_link_lives_as_long_as_its_cargo_can() {
        assert_eq!(provider_link_lifetime(), Duration::from_hours(26));
    }
}
