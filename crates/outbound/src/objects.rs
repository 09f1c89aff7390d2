//! The object store: S3 or its like, spoken to by us and, with grants that we sign, by callers.
//!
//! What a caller may do is in the signature: one key, one size, one digest, one type, a few
//! minutes. Grants name the public address, our own calls go to the internal one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use domain::time::{Clock, Timestamp};
use tokio_rustls::rustls::RootCertStore;
use url::Url;

use crate::callback::native_roots;

mod address;
mod body;
mod call;
mod connect;
mod cors;
mod disposition;
mod failure;
mod grant;
mod key;
mod list;
mod marker;
mod multipart;
mod object;
mod owner;
mod policy;
mod probe;
mod public;
mod sign;
mod xml;

pub use address::Style;
pub use body::Download;
pub use failure::{Failure, ProbeFailure, SetupFailure};
pub use grant::{PartGrants, PostGrant};
pub use key::{Area, Key};
pub use list::{Listed, Listing, OpenUpload};
pub use multipart::{Finished, FinishedPart, StoredPart};
pub use object::{Copied, Head};

use address::Bucket;
use connect::HttpClient;
use sign::Signer;

/// Where the store is, and what we may do there.
#[derive(Clone)]
pub struct Options {
    /// Where we reach it.
    pub internal: Url,
    /// Where callers reach it. Grants are signed for this host.
    pub public: Url,
    pub bucket: String,
    pub region: String,
    pub style: Style,
    pub access_key: String,
    pub secret_key: String,
    /// Empty, or ending in `/`: every key of ours begins with it.
    pub prefix: String,
    /// How long a grant to upload is good for.
    pub grant: Duration,
    /// Whose pages may upload from a browser. None: nothing is set up for browsers.
    pub origins: Vec<String>,
    pub patience: Patience,
}

/// How long the store may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For a call, the calls again after it included.
    pub call: Duration,
    /// For putting parts together and for a copy: some stores move every byte.
    pub slow: Duration,
    /// For the next bytes of a download.
    pub chunk: Duration,
    pub ping: Duration,
}

impl Default for Patience {
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

/// One bucket, or what lies in it under one prefix.
#[derive(Clone)]
pub struct Objects(Arc<Parts>);

struct Parts {
    internal: Bucket,
    public: Bucket,
    bucket: String,
    prefix: String,
    grant: Duration,
    origins: Vec<String>,
    patience: Patience,
    signer: Signer,
    client: HttpClient,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("bucket", &self.0.bucket)
            .field("prefix", &self.0.prefix)
            .finish_non_exhaustive()
    }
}

impl Objects {
    /// Nothing is connected yet. An https store is believed as the host believes others.
    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Result<Self, SetupFailure> {
        Self::trusting(options, clock, native_roots())
    }

    pub fn trusting(
        options: Options,
        clock: Arc<dyn Clock>,
        roots: RootCertStore,
    ) -> Result<Self, SetupFailure> {
        address::check_bucket(&options.bucket)?;
        key::check_prefix(&options.prefix)?;
        let internal = Bucket::at(&options.internal, &options.bucket, options.style)?;
        let public = Bucket::at(&options.public, &options.bucket, options.style)?;
        let signer = Signer::new(options.access_key, &options.secret_key, options.region)?;
        let client = connect::client(options.patience.connect, roots)?;
        Ok(Self(Arc::new(Parts {
            internal,
            public,
            bucket: options.bucket,
            prefix: options.prefix,
            grant: options.grant,
            origins: options.origins,
            patience: options.patience,
            signer,
            client,
            clock,
        })))
    }

    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}
