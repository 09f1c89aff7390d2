//! What callers get to speak to the store themselves: signed, narrow and soon over.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::SubsecRound as _;
use domain::file::{Declared, MediaType, Sha256};
use domain::id::FileId;
use domain::time::Timestamp;
use domain::upload::part_bytes;
use http::Method;

use super::Objects;
use super::disposition::attachment;
use super::key::Key;
use super::policy::{self, Policy};
use super::sign::Unsigned;

/// How long a link to a file's bytes is good for.
pub(super) const DOWNLOAD: Duration = Duration::from_mins(5);

/// The longest that a signature is good for: longer than a job may take.
const LENT: Duration = Duration::from_hours(7 * 24);

/// The store's own checksum header: it refuses what is not signed with it.
pub(super) const STORES_CHECKSUM: &str = "x-amz-checksum-sha256";
/// A header that no store looks at; we hash the parts ourselves.
pub(super) const OUR_CHECKSUM: &str = "x-object-checksum-sha256";

/// One POST of a form: every field, then the file.
#[derive(Clone, PartialEq, Eq)]
pub struct PostGrant {
    pub url: String,
    pub fields: Vec<(String, String)>,
    pub expires_at: Timestamp,
}

/// A PUT for each part.
#[derive(Clone, PartialEq, Eq)]
pub struct PartGrants {
    pub parts: Vec<(u32, String)>,
    /// Where the caller puts a part's digest.
    pub checksum_header: &'static str,
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for PostGrant {
    /// Who reads a grant can use it.
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

impl Objects {
    /// For exactly these bytes, of this type, to the file's staging key.
    pub fn post_grant(&self, file: FileId, declared: &Declared) -> PostGrant {
        self.post_grant_to(&self.staging(file), declared)
    }

    pub(super) fn post_grant_to(&self, key: &Key, declared: &Declared) -> PostGrant {
        let parts = &*self.0;
        let now = self.now();
        let expires_at = (now + parts.grant).trunc_subsecs(0);
        let policy = Policy {
            bucket: &parts.bucket,
            key: key.as_str(),
            declared,
            expires_at,
        };
        PostGrant {
            url: parts.public.url(&parts.public.path(None)),
            fields: policy::signed_fields(&policy, &parts.signer, now),
            expires_at,
        }
    }

    /// For parts of exactly their length, numbered from 1. A number beyond the last has no grant.
    ///
    /// With `checksums`, of all parts in their order, each URL is good for those bytes only.
    pub fn part_grants(
        &self,
        file: FileId,
        upload: &str,
        size_bytes: u64,
        numbers: &[u32],
        checksums: Option<&[Sha256]>,
    ) -> PartGrants {
        let key = self.staging(file);
        let now = self.now();
        let grant = |number: u32| {
            let length = part_bytes(size_bytes, number)?;
            let index = usize::try_from(number).ok()?.checked_sub(1)?;
            let checksum = match checksums {
                Some(all) => Some(all.get(index)?),
                None => None,
            };
            let part = Part {
                key: &key,
                upload,
                number,
                length,
                checksum,
            };
            Some((number, self.part_url(&part, now)))
        };
        PartGrants {
            parts: numbers.iter().copied().filter_map(grant).collect(),
            checksum_header: if checksums.is_some() {
                STORES_CHECKSUM
            } else {
                OUR_CHECKSUM
            },
            expires_at: (now + self.0.grant).trunc_subsecs(0),
        }
    }

    pub(super) fn part_url(&self, part: &Part<'_>, now: Timestamp) -> String {
        let (number, length) = (part.number.to_string(), part.length.to_string());
        let checksum = part.checksum.map(|Sha256(digest)| BASE64.encode(digest));
        let mut headers = vec![("content-length", length.as_str())];
        headers.extend(checksum.as_deref().map(|digest| (STORES_CHECKSUM, digest)));
        let query = [("partNumber", number.as_str()), ("uploadId", part.upload)];
        self.presigned(
            Unsigned {
                method: &Method::PUT,
                host: &self.0.public.host,
                path: &self.0.public.path(Some(part.key)),
                query: &query,
                headers: &headers,
                expires: self.0.grant,
            },
            now,
        )
    }

    /// A link to an object's bytes, to be saved under a name and never shown in place.
    pub fn download(
        &self,
        object: FileId,
        filename: &str,
        media_type: MediaType,
    ) -> (String, Timestamp) {
        let now = self.now();
        let disposition = attachment(filename);
        let query = [
            ("response-content-disposition", disposition.as_str()),
            ("response-content-type", media_type.as_str()),
        ];
        let url = self.presigned(
            Unsigned {
                method: &Method::GET,
                host: &self.0.public.host,
                path: &self.0.public.path(Some(&self.published(object))),
                query: &query,
                headers: &[],
                expires: DOWNLOAD,
            },
            now,
        );
        (url, (now + DOWNLOAD).trunc_subsecs(0))
    }

    /// A link for a provider that fetches an object while it works on a job: the same for the
    /// same `since`, and good for as long as a signature can be.
    pub fn lend(&self, object: FileId, media_type: MediaType, since: Timestamp) -> String {
        let query = [("response-content-type", media_type.as_str())];
        self.presigned(
            Unsigned {
                method: &Method::GET,
                host: &self.0.public.host,
                path: &self.0.public.path(Some(&self.published(object))),
                query: &query,
                headers: &[],
                expires: LENT,
            },
            since,
        )
    }

    fn presigned(&self, request: Unsigned<'_>, now: Timestamp) -> String {
        self.0.public.url(&self.0.signer.presign(request, now))
    }
}

/// One part that may come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) key: &'a Key,
    pub(super) upload: &'a str,
    pub(super) number: u32,
    pub(super) length: u64,
    pub(super) checksum: Option<&'a Sha256>,
}
