//! Signing in at another house, which is a real one here: it answers over HTTP and signs what it says.

use std::sync::{Arc, Mutex};

use axum::extract::{Form, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dashboard::House;
use domain::house::{Stranger, Visit};
use domain::person::Role;
use domain::time::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::dashboard::browser::Browser;
use crate::support::Service;

/// What the house knows: whom it lets in next, and what it was asked.
#[derive(Debug)]
struct Lodge {
    url: String,
    pair: EcdsaKeyPair,
    random: SystemRandom,
    claims: Mutex<Value>,
    challenge: Mutex<String>,
}

#[derive(Debug, Deserialize)]
struct Exchange {
    code: String,
    code_verifier: String,
}

impl Lodge {
    async fn start() -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let lodge = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            pair: EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap(),
            random,
            claims: Mutex::new(Value::Null),
            challenge: Mutex::default(),
        });
        let routes = Router::new()
            .route("/.well-known/openid-configuration", get(about))
            .route("/token", post(token))
            .route("/keys", get(keys))
            .with_state(lodge.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        lodge
    }

    /// Follows the browser through the door, and sends it back as `email`.
    fn let_in(&self, door: &str, subject: &str, email: &str, now: Timestamp) -> String {
        let door = Url::parse(door).unwrap();
        let asked = |name: &str| {
            let found = door.query_pairs().find(|(key, _)| key == name);
            found.unwrap().1.into_owned()
        };
        assert_eq!(asked("client_id"), "longshore");
        assert_eq!(
            asked("redirect_uri"),
            "https://dash.example/dashboard/elsewhere/back"
        );
        assert_eq!(asked("code_challenge_method"), "S256");
        *self.challenge.lock().unwrap() = asked("code_challenge");
        *self.claims.lock().unwrap() = json!({"iss": self.url, "sub": subject, "aud": "longshore",
            "exp": now.timestamp() + 300, "iat": now.timestamp(), "nonce": asked("nonce"),
            "email": email, "email_verified": true, "name": "Grace"});
        format!(
            "/dashboard/elsewhere/back?code=good&state={}",
            asked("state")
        )
    }
}

async fn about(State(lodge): State<Arc<Lodge>>) -> Json<Value> {
    let at = |path: &str| format!("{}{path}", lodge.url);
    Json(
        json!({"issuer": lodge.url, "authorization_endpoint": at("/door"),
        "token_endpoint": at("/token"), "jwks_uri": at("/keys")}),
    )
}

async fn keys(State(lodge): State<Arc<Lodge>>) -> Json<Value> {
    let (x, y) = lodge.pair.public_key().as_ref()[1..].split_at(32);
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    Json(json!({"keys": [{"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)}]}))
}

async fn token(
    State(lodge): State<Arc<Lodge>>,
    Form(exchange): Form<Exchange>,
) -> Result<Json<Value>, http::StatusCode> {
    let shown = URL_SAFE_NO_PAD.encode(Sha256::digest(exchange.code_verifier.as_bytes()));
    if exchange.code != "good" || shown != *lodge.challenge.lock().unwrap() {
        return Err(http::StatusCode::BAD_REQUEST);
    }
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = encode(&lodge.claims.lock().unwrap());
    let signed = format!("{}.{claims}", encode(&json!({"alg": "ES256"})));
    let signature = lodge.pair.sign(&lodge.random, signed.as_bytes()).unwrap();
    let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
    Ok(Json(
        json!({"id_token": format!("{signed}.{signature}"), "token_type": "Bearer"}),
    ))
}

/// The client of the house, as the server wires it.
#[derive(Debug)]
struct Wired(outbound::house::House);

#[async_trait::async_trait]
impl House for Wired {
    async fn door(&self, visit: &Visit) -> Result<String, String> {
        self.0
            .door(visit)
            .await
            .map_err(|failure| failure.to_string())
    }

    async fn who(&self, code: &str, visit: &Visit, now: Timestamp) -> Result<Stranger, String> {
        let who = self.0.who(code, visit, now).await;
        who.map_err(|failure| failure.to_string())
    }
}

fn browser(service: &Service, lodge: &Lodge) -> Browser {
    let options = outbound::house::Options {
        issuer: Url::parse(&lodge.url).unwrap(),
        client: "longshore".to_owned(),
        secret: Some("a secret".to_owned()),
    };
    let roots = outbound::callback::native_roots();
    let house = outbound::house::House::new(options, roots).unwrap();
    Browser::with_house(service, Arc::new(Wired(house)))
}

#[tokio::test]
async fn somebody_invited_comes_in_by_another_house_and_comes_again() {
    let service = Service::new().await;
    let (lodge, customer) = (Lodge::start().await, service.customer().await);
    let mut owner = Browser::of(&service, &customer, Role::Owner).await;
    let members = format!("/dashboard/organization/{}/members", customer.organization);
    let invite = [("email", "Grace@house.example"), ("role", "developer")];
    let page = owner.send(&format!("{members}/invite"), &invite).await.html;
    let at = page.find("invitation?pass=").unwrap() + "invitation?pass=".len();
    let pass = page[at..at + 64].to_owned();

    // Whom nobody invited stays out.
    let mut grace = browser(&service, &lodge);
    let door = grace.see("/dashboard/elsewhere").await.to;
    let back = lodge.let_in(&door, "7", "grace@house.example", service.now());
    assert_eq!(grace.see(&back).await.status, 422);

    // An invitation for another address is no use either.
    let door = grace
        .see(&format!("/dashboard/elsewhere?pass={pass}"))
        .await
        .to;
    let back = lodge.let_in(&door, "8", "mallory@house.example", service.now());
    assert_eq!(grace.see(&back).await.status, 422);

    let door = grace
        .see(&format!("/dashboard/elsewhere?pass={pass}"))
        .await
        .to;
    let back = lodge.let_in(&door, "7", "grace@house.example", service.now());
    assert_eq!(grace.see(&back).await.to, "/dashboard");
    assert_eq!(grace.see(&members).await.status, 200);

    // Known by subject from now on, whatever her address is then.
    let mut again = browser(&service, &lodge);
    let door = again.see("/dashboard/elsewhere").await.to;
    let back = lodge.let_in(&door, "7", "grace.new@house.example", service.now());
    assert_eq!(again.see(&back).await.to, "/dashboard");
    assert_eq!(again.see(&members).await.status, 200);
}

#[tokio::test]
async fn nobody_comes_back_from_a_visit_that_was_not_theirs() {
    let service = Service::new().await;
    let lodge = Lodge::start().await;
    let mut victim = browser(&service, &lodge);
    let mut attacker = browser(&service, &lodge);
    let door = attacker.see("/dashboard/elsewhere").await.to;
    let back = lodge.let_in(&door, "1", "mallory@house.example", service.now());
    // The attacker's way back in the victim's browser: with no visit of its own, and with another.
    assert_eq!(victim.see(&back).await.status, 422);
    victim.see("/dashboard/elsewhere").await;
    assert_eq!(victim.see(&back).await.status, 422);
    // A code that the house does not know.
    let door = victim.see("/dashboard/elsewhere").await.to;
    let back = lodge.let_in(&door, "1", "mallory@house.example", service.now());
    let seen = victim.see(&back.replace("code=good", "code=bad")).await;
    assert_eq!(seen.status, 422);
    assert!(victim.token.is_none());
}
