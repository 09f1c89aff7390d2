//! Temporary credentials of an AWS role, from the source that the environment names.
//!
//! The exchanges are few and small, so they use our own HTTP client: see decision 26.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use domain::session_credentials::SessionCredentials;
use domain::time::Timestamp;
use http::{Request, Response};
use http_body_util::Full;
use tokio::task::spawn_blocking;
use tokio_rustls::rustls::RootCertStore;
use url::Url;

use crate::http_exchange::OutboundHttpClient;
use crate::tls::TlsSetupFailure;

mod answers;
mod container;
mod failure;
mod instance_metadata;
mod web_identity;

pub use failure::RoleCredentialFailure;

/// All sources are near.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// For one exchange with a source.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_ANSWER_BYTES: usize = 64 * 1024;
const MAX_TOKEN_FILE_BYTES: usize = 64 * 1024;

/// Where the credentials come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleCredentialSource {
    WebIdentity(WebIdentityRole),
    Container(ContainerEndpoint),
    /// The metadata service of an EC2 instance, version 2, at this address.
    InstanceMetadata(Url),
}

/// A role that STS gives to the bearer of a token, such as that of a Kubernetes service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebIdentityRole {
    pub sts_endpoint: Url,
    pub role_arn: String,
    pub session_name: String,
    /// It is read for each refresh, because Kubernetes replaces the token.
    pub token_file: PathBuf,
}

/// The agent of ECS or of EKS Pod Identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEndpoint {
    pub url: Url,
    pub authorization: ContainerAuthorization,
}

/// The value of the `Authorization` header.
#[derive(Clone, PartialEq, Eq)]
pub enum ContainerAuthorization {
    None,
    Token(String),
    /// It is read for each refresh, because the agent replaces the token.
    File(PathBuf),
}

impl fmt::Debug for ContainerAuthorization {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Token(_) => f.write_str("Token"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

impl fmt::Display for RoleCredentialSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WebIdentity(role) => write!(f, "web identity of {}", role.role_arn),
            Self::Container(_) => f.write_str("container credentials"),
            Self::InstanceMetadata(_) => f.write_str("EC2 instance metadata"),
        }
    }
}

pub(crate) struct RoleCredentialsClient {
    source: RoleCredentialSource,
    http: SourceHttpClient,
}

/// One exchange at a time with a source of credentials.
struct SourceHttpClient(OutboundHttpClient<Full<Bytes>>);

impl RoleCredentialsClient {
    pub(crate) fn new(
        source: RoleCredentialSource,
        roots: RootCertStore,
    ) -> Result<Self, TlsSetupFailure> {
        let http = SourceHttpClient(OutboundHttpClient::new(CONNECT_TIMEOUT, roots)?);
        Ok(Self { source, http })
    }

    pub(crate) const fn source(&self) -> &RoleCredentialSource {
        &self.source
    }

    /// New credentials that are valid at `now`.
    pub(crate) async fn fetch(
        &self,
        now: Timestamp,
    ) -> Result<SessionCredentials, RoleCredentialFailure> {
        let (name, fetched) = match &self.source {
            RoleCredentialSource::WebIdentity(role) => {
                (web_identity::NAME, self.http.assume_role(role).await)
            }
            RoleCredentialSource::Container(endpoint) => {
                (container::NAME, self.http.fetch_from_agent(endpoint).await)
            }
            RoleCredentialSource::InstanceMetadata(endpoint) => (
                instance_metadata::NAME,
                self.http.fetch_from_instance(endpoint).await,
            ),
        };
        let checked = fetched?.check(now);
        checked.map_err(|why| RoleCredentialFailure::Unusable { at: name, why })
    }
}

impl SourceHttpClient {
    async fn exchange(
        &self,
        name: &'static str,
        request: Result<Request<Full<Bytes>>, http::Error>,
    ) -> Result<Response<Bytes>, RoleCredentialFailure> {
        let request = request.map_err(|_| RoleCredentialFailure::InvalidRequest(name))?;
        let exchange = self.0.exchange(request, EXCHANGE_TIMEOUT, MAX_ANSWER_BYTES);
        let answer = exchange.await;
        answer.map_err(|failure| RoleCredentialFailure::from_http(name, failure))
    }
}

/// A token, without the line break at its end.
async fn read_token(path: &Path) -> Result<String, RoleCredentialFailure> {
    let unreadable = |why: String| RoleCredentialFailure::TokenFile {
        path: path.display().to_string(),
        why,
    };
    let file = path.to_owned();
    let text = spawn_blocking(move || std::fs::read_to_string(file)).await;
    let text = text.map_err(|_| unreadable("the process is stopping".to_owned()))?;
    let text = text.map_err(|error| unreadable(error.kind().to_string()))?;
    let token = text.trim();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    if token.is_empty() || !is_plain || token.len() > MAX_TOKEN_FILE_BYTES {
        return Err(unreadable("it contains no token".to_owned()));
    }
    Ok(token.to_owned())
}
