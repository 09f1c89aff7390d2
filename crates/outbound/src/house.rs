//! Another house that knows people: `OpenID` Connect, by authorization code with PKCE.
//!
//! Signing in is rare: what the house says about itself is asked for each time, and
//! nothing is kept that could grow old.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use domain::house::{Stranger, Visit};
use domain::time::Timestamp;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tokio_rustls::rustls::RootCertStore;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::callback;
use crate::connection::Dialer;

mod token;

pub use token::NotProved;

/// For each of the three calls, connecting included.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_READ: usize = 1 << 20;

/// Where the house is, and who we are there.
#[derive(Clone)]
pub struct Options {
    pub issuer: Url,
    pub client: String,
    /// A public client has none.
    pub secret: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum HouseFailure {
    #[error("the house does not answer: {0}")]
    Away(String),
    #[error("the house said no: {0}")]
    Refused(String),
    #[error("the house's proof is not good: {0}")]
    NotProved(#[from] NotProved),
}

pub struct House {
    options: Options,
    client: Client<Dialer, Full<Bytes>>,
}

impl fmt::Debug for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("House")
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

/// What a house says about itself.
#[derive(Debug, Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct Given {
    id_token: String,
}

impl House {
    pub fn new(options: Options, roots: RootCertStore) -> Result<Self, callback::SetupFailure> {
        let dialer = Dialer::new(callback::tls(roots)?, PATIENCE);
        let client = Client::builder(TokioExecutor::new()).build(dialer);
        Ok(Self { options, client })
    }

    /// Where the browser goes to sign in.
    pub async fn door(&self, visit: &Visit) -> Result<String, HouseFailure> {
        let document = self.document().await?;
        let mut door = Url::parse(&document.authorization_endpoint)
            .map_err(|_| HouseFailure::Refused("its door has no address".to_owned()))?;
        door.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("scope", "openid email profile")
            .append_pair("client_id", &self.options.client)
            .append_pair("redirect_uri", &visit.back)
            .append_pair("state", &visit.state)
            .append_pair("nonce", &visit.nonce)
            .append_pair("code_challenge", &token::challenge(&visit.verifier))
            .append_pair("code_challenge_method", "S256");
        Ok(door.into())
    }

    /// Who came back with this code.
    pub async fn who(
        &self,
        code: &str,
        visit: &Visit,
        now: Timestamp,
    ) -> Result<Stranger, HouseFailure> {
        let document = self.document().await?;
        let form = self.form(code, visit);
        let given: Given = self
            .ask(Method::POST, &document.token_endpoint, form)
            .await?;
        let keys: token::Keys = self
            .ask(Method::GET, &document.jwks_uri, String::new())
            .await?;
        let meant = token::Meant {
            issuer: &document.issuer,
            client: &self.options.client,
            nonce: &visit.nonce,
            now,
        };
        Ok(token::read(&given.id_token, &keys, &meant)?)
    }

    fn form(&self, code: &str, visit: &Visit) -> String {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &visit.back)
            .append_pair("client_id", &self.options.client)
            .append_pair("code_verifier", &visit.verifier);
        form.finish()
    }

    async fn document(&self) -> Result<Document, HouseFailure> {
        let issuer = self.options.issuer.as_str().trim_end_matches('/');
        let at = format!("{issuer}/.well-known/openid-configuration");
        let document: Document = self.ask(Method::GET, &at, String::new()).await?;
        // Another house's word counts for nothing here.
        if document.issuer.trim_end_matches('/') != issuer {
            return Err(HouseFailure::Refused(
                "it calls itself otherwise".to_owned(),
            ));
        }
        Ok(document)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        at: &str,
        form: String,
    ) -> Result<T, HouseFailure> {
        let away = |why: &str| HouseFailure::Away(why.to_owned());
        let uri: Uri = at.parse().map_err(|_| away("it names no address"))?;
        // What came over https goes on over https.
        if self.options.issuer.scheme() == "https" && uri.scheme_str() != Some("https") {
            return Err(HouseFailure::Refused("it leaves https".to_owned()));
        }
        let mut request = Request::new(Full::new(Bytes::from(form)));
        if let Some(secret) = self
            .options
            .secret
            .as_ref()
            .filter(|_| method == Method::POST)
        {
            let mut value = HeaderValue::from_str(&token::basic(&self.options.client, secret))
                .map_err(|_| away("our secret cannot be sent"))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form);
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(ACCEPT, json);
        let exchange = async {
            let response = self.client.request(request).await;
            let response = response.map_err(|_| away("no connection"))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MOST_READ)
                .collect()
                .await;
            let body = body.map_err(|_| away("its answer was cut off"))?.to_bytes();
            if !status.is_success() {
                return Err(HouseFailure::Refused(format!("status {}", status.as_u16())));
            }
            serde_json::from_slice(&body)
                .map_err(|_| HouseFailure::Refused("its answer cannot be read".to_owned()))
        };
        let ended = timeout(PATIENCE, exchange).await;
        ended.unwrap_or_else(|_| Err(away("no answer in time")))
    }
}
