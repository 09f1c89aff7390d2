//! Sign-in with OIDC: the test's provider answers over HTTP and signs its ID tokens.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Form, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dashboard::IdentityProvider;
use domain::oidc::{ExternalIdentity, LoginAttempt};
use domain::person::Role;
use domain::time::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::dashboard::browser::Browser;
use crate::dashboard::people::PASSWORD;
use crate::support::TestService;

/// An OIDC provider: the claims of its next ID token, and the last code challenge.
#[derive(Debug)]
struct OidcServer {
    url: String,
    key_pair: EcdsaKeyPair,
    random: SystemRandom,
    claims: Mutex<Value>,
    challenge: Mutex<String>,
    /// How often the discovery document was fetched.
    discoveries: AtomicUsize,
}

#[derive(Debug, Deserialize)]
struct TokenRequest {
    code: String,
    code_verifier: String,
}

impl OidcServer {
    async fn start() -> Arc<Self> {
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
    fn complete_login(
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
            "email": email, "email_verified": true, "name": "Grace"});
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

fn browser_with_oidc(service: &TestService, provider: &OidcServer) -> Browser {
    let options = outbound::oidc::Options {
        issuer: Url::parse(&provider.url).unwrap(),
        client_id: "longshore".to_owned(),
        client_secret: Some("a secret".to_owned()),
    };
    let roots = outbound::tls::native_roots();
    let client = outbound::oidc::OidcClient::new(options, roots).unwrap();
    Browser::with_identity_provider(service, Arc::new(OidcClientAdapter(client)))
}

#[tokio::test]
async fn an_invited_person_signs_in_with_oidc_and_again_later() {
    let service = TestService::new().await;
    let (provider, customer) = (OidcServer::start().await, service.create_customer().await);
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let members = format!("/dashboard/organization/{}/members", customer.organization);
    let invite = [("email", "Grace@idp.example"), ("role", "developer")];
    let page = owner
        .post_form(&format!("{members}/invite"), &invite)
        .await
        .html;
    let at = page.find("invitation?pass=").unwrap() + "invitation?pass=".len();
    let pass = page[at..at + 64].to_owned();

    // Without an invitation the sign-in fails.
    let mut grace = browser_with_oidc(&service, &provider);
    let url = grace.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "7", "grace@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.status, 422);

    // It also fails with an invitation for another address.
    let url = grace
        .get(&format!("/dashboard/oidc?pass={pass}"))
        .await
        .location;
    let callback = provider.complete_login(&url, "8", "mallory@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.status, 422);

    let url = grace
        .get(&format!("/dashboard/oidc?pass={pass}"))
        .await
        .location;
    let callback = provider.complete_login(&url, "7", "grace@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.location, "/dashboard");
    assert_eq!(grace.get(&members).await.status, 200);

    // From now on she is known by her subject, even with another address.
    let mut again = browser_with_oidc(&service, &provider);
    let url = again.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "7", "grace.new@idp.example", service.now());
    assert_eq!(again.get(&callback).await.location, "/dashboard");
    assert_eq!(again.get(&members).await.status, 200);
}

#[tokio::test]
async fn m2_the_first_single_sign_on_removes_a_password_that_an_inviter_set() {
    let service = TestService::new().await;
    let (provider, customer) = (OidcServer::start().await, service.create_customer().await);
    let mut mallory = Browser::member(&service, &customer, Role::Owner).await;
    let members = format!("/dashboard/organization/{}/members", customer.organization);
    let invite = [("email", "grace@idp.example"), ("role", "viewer")];
    let page = mallory
        .post_form(&format!("{members}/invite"), &invite)
        .await
        .html;
    let at = page.find("invitation?pass=").unwrap() + "invitation?pass=".len();
    let pass = &page[at..at + 64];
    // The inviter keeps the link and chooses the password of an address that is not theirs.
    let mut planted = Browser::new(&service);
    let account = [("pass", pass), ("name", "Grace"), ("password", PASSWORD)];
    planted.post_form("/dashboard/invitation", &account).await;
    let known = [("email", "grace@idp.example"), ("password", PASSWORD)];
    let seen = planted.post_form("/dashboard/sign-in", &known).await;
    assert_eq!(seen.status, 303);

    let mut grace = browser_with_oidc(&service, &provider);
    let url = grace.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "7", "grace@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.location, "/dashboard");
    assert_eq!(grace.get("/dashboard/account").await.status, 200);
    assert_eq!(planted.get("/dashboard/account").await.status, 303);
    let seen = planted.post_form("/dashboard/sign-in", &known).await;
    assert_eq!(seen.status, 401);
    let log = Browser::operator(&service)
        .await
        .get("/dashboard/operations/audit")
        .await;
    assert!(log.html.contains("person.password_removed"));

    // A password that she sets afterwards is hers: the next sign-in keeps it.
    let own = [("password", "another long one")];
    let seen = grace.post_form("/dashboard/account/password", &own).await;
    assert_eq!(seen.status, 200);
    let url = grace.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "7", "grace@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.location, "/dashboard");
    let known = [
        ("email", "grace@idp.example"),
        ("password", "another long one"),
    ];
    let seen = planted.post_form("/dashboard/sign-in", &known).await;
    assert_eq!(seen.status, 303);
}

#[tokio::test]
async fn low_anonymous_visits_do_not_call_the_identity_provider() {
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let mut browser = browser_with_oidc(&service, &provider);
    for _ in 0..20 {
        assert_eq!(browser.get("/dashboard/oidc").await.status, 303);
    }
    assert_eq!(provider.discoveries.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn low_another_host_of_the_domain_cannot_plant_a_login_attempt() {
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let mut attacker = browser_with_oidc(&service, &provider);
    let url = attacker.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "1", "mallory@idp.example", service.now());
    // Any host of the domain can set a cookie without the prefix.
    let mut victim = browser_with_oidc(&service, &provider);
    let page = victim.get_with_planted_attempt(&callback, &attacker).await;
    assert!(
        page.html.contains("was started in another browser"),
        "{}",
        page.html
    );
}

#[tokio::test]
async fn a_sign_in_is_completed_at_the_callback_path_of_earlier_versions() {
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let mut browser = browser_with_oidc(&service, &provider);
    let url = browser.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "1", "mallory@idp.example", service.now());
    let callback = callback.replace("/oidc/callback", "/elsewhere/back");
    let page = browser.get(&callback).await;
    // The sign-in itself is complete; this person was not invited.
    assert!(
        page.html.contains("No active user has your e-mail address"),
        "{}",
        page.html
    );
}

#[tokio::test]
async fn an_oidc_callback_needs_the_login_attempt_of_its_browser() {
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let mut victim = browser_with_oidc(&service, &provider);
    let mut attacker = browser_with_oidc(&service, &provider);
    let url = attacker.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "1", "mallory@idp.example", service.now());
    // The attacker's callback in the victim's browser: without a login attempt, and with another.
    assert_eq!(victim.get(&callback).await.status, 422);
    victim.get("/dashboard/oidc").await;
    assert_eq!(victim.get(&callback).await.status, 422);
    // A code that the provider does not know.
    let url = victim.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "1", "mallory@idp.example", service.now());
    let page = victim.get(&callback.replace("code=good", "code=bad")).await;
    assert_eq!(page.status, 422);
    assert!(victim.token.is_none());
}
