//! The object store: S3 or a compatible store, called by us and, with presigned grants, by callers.
//!
//! A grant's signature limits the caller to one key, one size, one digest, one media type and a
//! few minutes. Grants name the public address; our own calls use the internal one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::time::{Clock, Timestamp};
use http::Uri;
use http_body_util::Full;
use tokio_rustls::rustls::RootCertStore;
use url::Url;

use crate::http_exchange::OutboundHttpClient;
use crate::role_credentials::{RoleCredentialFailure, RoleCredentialSource};
use crate::tls::native_roots;

mod bucket_marker;
mod bucket_owner;
mod call;
mod content_disposition;
mod cors;
mod download;
mod endpoint;
mod erasure_log;
mod failure;
mod key;
mod list;
mod multipart;
mod object;
mod post_policy;
mod presigned_grant;
mod probe;
mod public_requests;
mod signers;
mod sigv4;
mod xml;

pub use download::ObjectDownload;
pub use endpoint::AddressingStyle;
pub use failure::{ObjectStoreFailure, ObjectStoreProbeFailure, ObjectStoreSetupFailure};
pub use key::{ObjectArea, ObjectKey};
pub use list::{ListedObject, ObjectListing, OpenMultipartUpload};
pub use multipart::{MultipartCompletion, StoredPart, UploadedPart};
pub use object::{CopyResult, ObjectHead};
pub use presigned_grant::{PartGrants, PostGrant};

use endpoint::BucketEndpoint;
use signers::StoreSigners;

#[derive(Clone)]
pub struct Options {
    /// For our own calls.
    pub internal: Url,
    /// For callers. Grants are signed for this host.
    pub public: Url,
    /// Host and port to connect to when we act as a caller; none: those of `public`.
    pub public_connect: Option<String>,
    pub bucket: String,
    pub region: String,
    pub style: AddressingStyle,
    pub credentials: ObjectStoreCredentials,
    /// Every key starts with it. Empty, or ends in `/`.
    pub prefix: String,
    /// How long an upload grant is valid.
    pub grant_lifetime: Duration,
    /// Origins that may upload from a browser. Empty: CORS is not set up.
    pub cors_origins: Vec<String>,
    pub timeouts: ObjectStoreTimeouts,
}

/// Keys that never change, or a role whose credentials expire.
#[derive(Clone)]
pub enum ObjectStoreCredentials {
    Static {
        access_key: String,
        secret_key: String,
    },
    Role(RoleCredentialSource),
}

impl fmt::Debug for ObjectStoreCredentials {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static { .. } => f.write_str("Static"),
            Self::Role(source) => f.debug_tuple("Role").field(source).finish(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct ObjectStoreTimeouts {
    /// For opening a connection.
    pub connect: Duration,
    /// For a call including its retries.
    pub call: Duration,
    /// For completing a multipart upload and for a copy: some stores copy every byte.
    pub slow: Duration,
    /// For the next chunk of a download.
    pub chunk: Duration,
    pub ping: Duration,
}

impl Default for ObjectStoreTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            call: Duration::from_secs(15),
            slow: Duration::from_mins(10),
            chunk: Duration::from_secs(30),
            ping: Duration::from_secs(3),
        }
    }
}

impl fmt::Debug for Options {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("internal", &self.internal.host_str())
            .field("public", &self.public.host_str())
            .field("bucket", &self.bucket)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// One bucket, or one prefix of it.
#[derive(Clone)]
pub struct ObjectStore(Arc<ObjectStoreInner>);

struct ObjectStoreInner {
    internal: BucketEndpoint,
    public: BucketEndpoint,
    bucket: String,
    prefix: String,
    grant_lifetime: Duration,
    cors_origins: Vec<String>,
    timeouts: ObjectStoreTimeouts,
    signers: StoreSigners,
    client: OutboundHttpClient<Full<Bytes>>,
    public_client: OutboundHttpClient<Full<Bytes>>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for ObjectStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStore")
            .field("bucket", &self.0.bucket)
            .field("prefix", &self.0.prefix)
            .finish_non_exhaustive()
    }
}

impl ObjectStore {
    /// Does not connect yet. An https store is verified with the host's root certificates.
    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Result<Self, ObjectStoreSetupFailure> {
        Self::with_roots(options, clock, native_roots())
    }

    pub fn with_roots(
        options: Options,
        clock: Arc<dyn Clock>,
        roots: RootCertStore,
    ) -> Result<Self, ObjectStoreSetupFailure> {
        endpoint::check_bucket_name(&options.bucket)?;
        key::check_prefix(&options.prefix)?;
        let internal = BucketEndpoint::new(&options.internal, &options.bucket, options.style)?;
        let public = BucketEndpoint::new(&options.public, &options.bucket, options.style)?;
        let signers = StoreSigners::new(
            options.credentials,
            options.region,
            options.grant_lifetime,
            roots.clone(),
        )?;
        let connect = options.timeouts.connect;
        let client = OutboundHttpClient::new(connect, roots.clone())?;
        let address = options.public_connect.as_deref();
        let address = address.map(connect_address).transpose()?;
        let public_client = OutboundHttpClient::connecting_to(address, connect, roots)?;
        Ok(Self(Arc::new(ObjectStoreInner {
            internal,
            public,
            bucket: options.bucket,
            prefix: options.prefix,
            grant_lifetime: options.grant_lifetime,
            cors_origins: options.cors_origins,
            timeouts: options.timeouts,
            signers,
            client,
            public_client,
            clock,
        })))
    }

    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Where the credentials of a role come from. None: the keys never change.
    pub fn credential_source(&self) -> Option<&RoleCredentialSource> {
        self.0.signers.source()
    }

    /// Fetches new credentials of a role if they are due, and returns when the current ones expire.
    /// A failure is that of the last refresh: the old credentials may still be valid. None: the
    /// keys never change.
    pub async fn refresh_credentials(&self) -> Option<Result<Timestamp, RoleCredentialFailure>> {
        self.0.signers.refresh_if_due(self.now()).await
    }
}

fn connect_address(host_and_port: &str) -> Result<Uri, ObjectStoreSetupFailure> {
    let uri = format!("http://{host_and_port}/").parse::<Uri>();
    uri.map_err(|_| ObjectStoreSetupFailure::Address)
}
