//! An OIDC provider for tests: it answers over HTTP and signs its ID tokens.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Form, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dashboard::IdentityProvider;
use domain::oidc::{ExternalIdentity, LoginAttempt};
use domain::time::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::dashboard::browser::Browser;
use crate::support::TestService;

/// An OIDC provider: the claims of its next ID token, and the last code challenge.
#[derive(Debug)]
pub(super) struct OidcServer {
    url: String,
    key_pair: EcdsaKeyPair,
    random: SystemRandom,
    pub(super) claims: Mutex<Value>,
    challenge: Mutex<String>,
    /// How often the discovery document was fetched.
    pub(super) discoveries: AtomicUsize,
}

#[derive(Debug, Deserialize)]
struct TokenRequest {
    code: String,
    code_verifier: String,
}

impl OidcServer {
    pub(super) async fn start() -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let provider = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            key_pair: EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap(),
            random,
            claims: Mutex::new(Value::Null),
            challenge: Mutex::default(),
            discoveries: AtomicUsize::new(0),
        });
        let routes = Router::new()
            .route("/.well-known/openid-configuration", get(discovery_document))
            .route("/token", post(token_endpoint))
            .route("/keys", get(jwks))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        provider
    }

    /// Signs `email` in at the authorization URL, and returns the path of the callback.
    pub(super) fn complete_login(
        &self,
        authorization_url: &str,
        subject: &str,
        email: &str,
        now: Timestamp,
    ) -> String {
        let authorization_url = Url::parse(authorization_url).unwrap();
        let parameter = |name: &str| {
            let found = authorization_url.query_pairs().find(|(key, _)| key == name);
            found.unwrap().1.into_owned()
        };
        assert_eq!(parameter("client_id"), "longshore");
        assert_eq!(
            parameter("redirect_uri"),
            "https://dash.example/dashboard/oidc/callback"
        );
        assert_eq!(parameter("code_challenge_method"), "S256");
        *self.challenge.lock().unwrap() = parameter("code_challenge");
        *self.claims.lock().unwrap() = json!({"iss": self.url, "sub": subject, "aud": "longshore",
            "exp": now.timestamp() + 300, "iat": now.timestamp(), "nonce": parameter("nonce"),
            "auth_time": now.timestamp(), "email": email, "email_verified": true, "name": "Grace"});
        format!(
            "/dashboard/oidc/callback?code=good&state={}",
            parameter("state")
        )
    }
}

async fn discovery_document(State(provider): State<Arc<OidcServer>>) -> Json<Value> {
    provider.discoveries.fetch_add(1, Ordering::Relaxed);
    let endpoint = |path: &str| format!("{}{path}", provider.url);
    Json(
        json!({"issuer": provider.url, "authorization_endpoint": endpoint("/authorize"),
        "token_endpoint": endpoint("/token"),
        "jwks_uri": endpoint("/keys")}),
    )
}

async fn jwks(State(provider): State<Arc<OidcServer>>) -> Json<Value> {
    let (x, y) = provider.key_pair.public_key().as_ref()[1..].split_at(32);
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    Json(json!({"keys": [{"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)}]}))
}

async fn token_endpoint(
    State(provider): State<Arc<OidcServer>>,
    Form(exchange): Form<TokenRequest>,
) -> Result<Json<Value>, http::StatusCode> {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(exchange.code_verifier.as_bytes()));
    if exchange.code != "good" || challenge != *provider.challenge.lock().unwrap() {
        return Err(http::StatusCode::BAD_REQUEST);
    }
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = encode(&provider.claims.lock().unwrap());
    let signed = format!("{}.{claims}", encode(&json!({"alg": "ES256"})));
    let signature = provider
        .key_pair
        .sign(&provider.random, signed.as_bytes())
        .unwrap();
    let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
    Ok(Json(
        json!({"id_token": format!("{signed}.{signature}"), "token_type": "Bearer"}),
    ))
}

/// Connects the OIDC client to the dashboard, as the server does.
#[derive(Debug)]
struct OidcClientAdapter(outbound::oidc::OidcClient);

#[async_trait::async_trait]
impl IdentityProvider for OidcClientAdapter {
    async fn authorization_url(&self, attempt: &LoginAttempt) -> Result<String, String> {
        self.0
            .authorization_url(attempt)
            .await
            .map_err(|failure| failure.to_string())
    }

    async fn exchange_code(
        &self,
        code: &str,
        attempt: &LoginAttempt,
        now: Timestamp,
    ) -> Result<ExternalIdentity, String> {
        let identity = self.0.exchange_code(code, attempt, now).await;
        identity.map_err(|failure| failure.to_string())
    }
}

pub(super) fn browser_with_oidc(service: &TestService, provider: &OidcServer) -> Browser {
    let options = outbound::oidc::Options {
        issuer: Url::parse(&provider.url).unwrap(),
        client_id: "longshore".to_owned(),
        client_secret: Some("a secret".to_owned()),
        requires_auth_time: true,
    };
    let roots = outbound::tls::native_roots();
    let client = outbound::oidc::OidcClient::new(options, roots).unwrap();
    Browser::with_identity_provider(service, Arc::new(OidcClientAdapter(client)))
}
