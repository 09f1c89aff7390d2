//! `OpenID` Connect client: authorization code flow with PKCE.
//!
//! The client keeps the discovery document for ten minutes. It fetches the keys at each sign-in,
//! because they change.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::oidc::{ExternalIdentity, LoginAttempt};
use domain::time::Timestamp;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::Full;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio_rustls::rustls::RootCertStore;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::http_exchange::OutboundHttpClient;
use crate::oidc::discovery_cache::DiscoveryCache;
use crate::tls::TlsSetupFailure;

mod discovery_cache;

mod id_token;

mod json_web_key;

pub use id_token::IdTokenError;

/// For each of the three calls, including connecting.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 1 << 20;

#[derive(Clone)]
pub struct Options {
    pub issuer: Url,
    pub client_id: String,
    /// A public client has none.
    pub client_secret: Option<String>,
    /// Refuse a fresh sign-in without `auth_time`.
    pub requires_auth_time: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum OidcFailure {
    #[error("the OIDC provider does not answer: {0}")]
    Unreachable(String),
    #[error("the OIDC provider gave no usable answer: {0}")]
    Refused(String),
    #[error("the ID token is not valid: {0}")]
    InvalidIdToken(#[from] IdTokenError),
}

pub struct OidcClient {
    options: Options,
    client: OutboundHttpClient<Full<Bytes>>,
    discovery: DiscoveryCache<DiscoveryDocument>,
}

impl fmt::Debug for OidcClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OidcClient")
            .field("issuer", &self.options.issuer.as_str())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("issuer", &self.issuer.as_str())
            .finish_non_exhaustive()
    }
}

/// The provider's `/.well-known/openid-configuration`.
#[derive(Debug, Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct TokenResponse {
    id_token: String,
}

impl OidcClient {
    pub fn new(options: Options, roots: RootCertStore) -> Result<Self, TlsSetupFailure> {
        let client = OutboundHttpClient::new(CALL_TIMEOUT, roots)?;
        Ok(Self {
            options,
            client,
            discovery: DiscoveryCache::default(),
        })
    }

    /// The URL to which the browser is sent to sign in.
    pub async fn authorization_url(&self, attempt: &LoginAttempt) -> Result<String, OidcFailure> {
        let document = self.discover().await?;
        let mut url = Url::parse(&document.authorization_endpoint).map_err(|_| {
            OidcFailure::Refused("its authorization_endpoint is not a URL".to_owned())
        })?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("scope", "openid email profile")
            .append_pair("client_id", &self.options.client_id)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("state", &attempt.state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair(
                "code_challenge",
                &id_token::code_challenge(&attempt.code_verifier),
            )
            .append_pair("code_challenge_method", "S256");
        if attempt.fresh_since.is_some() {
            // With max_age, the ID token must say when the person signed in.
            url.query_pairs_mut()
                .append_pair("prompt", "login")
                .append_pair("max_age", "0");
        }
        Ok(url.into())
    }

    /// Exchanges the authorization code for an ID token and verifies it.
    pub async fn exchange_code(
        &self,
        code: &str,
        attempt: &LoginAttempt,
        now: Timestamp,
    ) -> Result<ExternalIdentity, OidcFailure> {
        let document = self.discover().await?;
        let form = self.token_request_form(code, attempt);
        let response: TokenResponse = self
            .request_json(Method::POST, &document.token_endpoint, form)
            .await?;
        let keys: json_web_key::JsonWebKeySet = self
            .request_json(Method::GET, &document.jwks_uri, String::new())
            .await?;
        let expected = id_token::ExpectedClaims {
            issuer: &document.issuer,
            client_id: &self.options.client_id,
            nonce: &attempt.nonce,
            fresh_since: attempt.fresh_since,
            requires_auth_time: self.options.requires_auth_time,
            now,
        };
        Ok(id_token::verify_id_token(
            &response.id_token,
            &keys,
            &expected,
        )?)
    }

    fn token_request_form(&self, code: &str, attempt: &LoginAttempt) -> String {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("client_id", &self.options.client_id)
            .append_pair("code_verifier", &attempt.code_verifier);
        form.finish()
    }

    async fn discover(&self) -> Result<Arc<DiscoveryDocument>, OidcFailure> {
        let fetch = self.fetch_discovery_document();
        self.discovery.get(Instant::now(), fetch).await
    }

    async fn fetch_discovery_document(&self) -> Result<DiscoveryDocument, OidcFailure> {
        let issuer = self.options.issuer.as_str().trim_end_matches('/');
        let at = format!("{issuer}/.well-known/openid-configuration");
        let document: DiscoveryDocument =
            self.request_json(Method::GET, &at, String::new()).await?;
        // OpenID Connect Discovery 4.3: a document of another issuer must not be used.
        if document.issuer.trim_end_matches('/') != issuer {
            return Err(OidcFailure::Refused(
                "its discovery document names another issuer".to_owned(),
            ));
        }
        Ok(document)
    }

    async fn request_json<T: DeserializeOwned>(
        &self,
        method: Method,
        at: &str,
        form: String,
    ) -> Result<T, OidcFailure> {
        let unreachable = |why: &str| OidcFailure::Unreachable(why.to_owned());
        let uri: Uri = at
            .parse()
            .map_err(|_| unreachable("an endpoint is not a URL"))?;
        // An https issuer must not lead to a plain http endpoint.
        if self.options.issuer.scheme() == "https" && uri.scheme_str() != Some("https") {
            return Err(OidcFailure::Refused(
                "an endpoint does not use https".to_owned(),
            ));
        }
        let mut request = Request::new(Full::new(Bytes::from(form)));
        if let Some(secret) = self
            .options
            .client_secret
            .as_ref()
            .filter(|_| method == Method::POST)
        {
            let mut value = HeaderValue::from_str(&id_token::basic_authorization(
                &self.options.client_id,
                secret,
            ))
            .map_err(|_| unreachable("the client secret cannot be sent in a header"))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form);
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(ACCEPT, json);
        let exchange = self
            .client
            .exchange(request, CALL_TIMEOUT, MAX_RESPONSE_BYTES);
        let response = exchange.await;
        let response = response.map_err(|failure| unreachable(&failure.to_string()))?;
        let status = response.status();
        if !status.is_success() {
            return Err(OidcFailure::Refused(format!("status {}", status.as_u16())));
        }
        serde_json::from_slice(response.body())
            .map_err(|_| OidcFailure::Refused("the response is not the expected JSON".to_owned()))
    }
}
