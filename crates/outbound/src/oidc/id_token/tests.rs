//! Valid and forged tokens of a test issuer.

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

use super::*;

struct TestIssuer {
    ec: EcdsaKeyPair,
    okp: Ed25519KeyPair,
    random: SystemRandom,
}

impl TestIssuer {
    fn new() -> Self {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let ec = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let okp = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            ec: EcdsaKeyPair::from_pkcs8(kind, ec.as_ref(), &random).unwrap(),
            okp: Ed25519KeyPair::from_pkcs8(okp.as_ref()).unwrap(),
            random,
        }
    }

    fn key_set(&self) -> JsonWebKeySet {
        let (x, y) = self.ec.public_key().as_ref()[1..].split_at(32);
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let okp = encode(self.okp.public_key().as_ref());
        let keys = json!({"keys": [
            {"kty": "oct", "kid": "no"},
            {"kty": "EC", "crv": "P-256", "kid": "one", "use": "sig", "x": encode(x), "y": encode(y)},
            {"kty": "OKP", "crv": "Ed25519", "kid": "two", "x": okp},
        ]});
        serde_json::from_value(keys).unwrap()
    }

    fn sign_token(&self, head: &Value, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(head), encode(claims));
        let signature = if head["kid"] == "two" {
            self.okp.sign(signed.as_bytes())
        } else {
            self.ec.sign(&self.random, signed.as_bytes()).unwrap()
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

fn valid_claims() -> Value {
    json!({"iss": "https://issuer.example", "sub": "42", "aud": "us", "exp": 1300, "iat": 1000,
        "nonce": "n", "email": "ada@issuer.example", "email_verified": true, "name": "Ada"})
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(seconds, 0).unwrap()
}

fn verify(issuer: &TestIssuer, token: &str) -> Result<ExternalIdentity, IdTokenError> {
    verify_fresh(issuer, token, None)
}

fn verify_fresh(
    issuer: &TestIssuer,
    token: &str,
    fresh_since: Option<Timestamp>,
) -> Result<ExternalIdentity, IdTokenError> {
    verify_id_token(token, &issuer.key_set(), &expected_claims(fresh_since))
}

fn expected_claims(fresh_since: Option<Timestamp>) -> ExpectedClaims<'static> {
    ExpectedClaims {
        issuer: "https://issuer.example",
        client_id: "us",
        nonce: "n",
        fresh_since,
        requires_auth_time: true,
        now: at(1000),
    }
}

fn verify_changed(change: impl FnOnce(&mut Value)) -> Result<ExternalIdentity, IdTokenError> {
    let issuer = TestIssuer::new();
    let mut claims = valid_claims();
    change(&mut claims);
    let token = issuer.sign_token(&json!({"alg": "ES256", "kid": "one"}), &claims);
    verify(&issuer, &token)
}

#[test]
fn a_good_token_names_its_subject() {
    let identity = verify_changed(|_| {}).unwrap();
    assert_eq!(identity.subject, "42");
    assert_eq!(identity.email.as_deref(), Some("ada@issuer.example"));
    // An unverified address is dropped.
    let unchecked = verify_changed(|claims| claims["email_verified"] = json!(false)).unwrap();
    assert_eq!(unchecked.email, None);
}

#[test]
fn a_token_with_an_ed25519_signature_is_accepted() {
    let issuer = TestIssuer::new();
    let token = issuer.sign_token(&json!({"alg": "EdDSA", "kid": "two"}), &valid_claims());
    assert_eq!(verify(&issuer, &token).unwrap().subject, "42");
    // The signature is good, but the token names the algorithm or the key of another one.
    for (alg, kid) in [("ES256", "two"), ("RS256", "two"), ("EdDSA", "one")] {
        let token = issuer.sign_token(&json!({"alg": alg, "kid": kid}), &valid_claims());
        assert_eq!(
            verify(&issuer, &token),
            Err(IdTokenError::Signature),
            "{alg} {kid}"
        );
    }
}

#[test]
fn only_a_missing_auth_time_is_accepted_if_it_is_optional() {
    let issuer = TestIssuer::new();
    for (auth_time, is_accepted) in [(Value::Null, true), (json!(839), false)] {
        let mut claims = valid_claims();
        claims["auth_time"] = auth_time;
        let token = issuer.sign_token(&json!({"alg": "ES256", "kid": "one"}), &claims);
        let expected = ExpectedClaims {
            requires_auth_time: false,
            ..expected_claims(Some(at(900)))
        };
        let verified = verify_id_token(&token, &issuer.key_set(), &expected);
        assert_eq!(verified.is_ok(), is_accepted);
    }
}

#[test]
fn a_fresh_sign_in_needs_an_auth_time_after_the_request() {
    let issuer = TestIssuer::new();
    let verify_at = |auth_time: Value, fresh_since: Option<Timestamp>| {
        let mut claims = valid_claims();
        claims["auth_time"] = auth_time;
        let token = issuer.sign_token(&json!({"alg": "ES256", "kid": "one"}), &claims);
        verify_fresh(&issuer, &token, fresh_since).map(|identity| identity.authenticated_at)
    };
    let fresh_since = Some(at(900));
    assert_eq!(verify_at(json!(950), fresh_since), Ok(Some(at(950))));
    // The clocks of the two servers may differ.
    assert_eq!(verify_at(json!(840), fresh_since), Ok(Some(at(840))));
    for old in [json!(839), json!(-1), Value::Null] {
        assert_eq!(verify_at(old, fresh_since), Err(IdTokenError::AuthTime));
    }
    // An ordinary sign-in needs none, and says what it knows.
    assert_eq!(verify_at(Value::Null, None), Ok(None));
    assert_eq!(verify_at(json!(7), None), Ok(Some(at(7))));
    assert_eq!(verify_at(json!(-7), None), Ok(Some(at(0))));
    assert_eq!(verify_at(json!(1030), None), Ok(Some(at(1000))));
    assert_eq!(
        verify_at(json!("now"), fresh_since),
        Err(IdTokenError::Unreadable)
    );
}

#[test]
fn a_token_with_other_claims_is_refused() {
    type Change = fn(&mut Value);
    let cases: [(Change, IdTokenError); 9] = [
        (
            |c| c["iss"] = json!("https://other.example"),
            IdTokenError::Issuer,
        ),
        (|c| c["aud"] = json!("them"), IdTokenError::Audience),
        (|c| c["aud"] = json!(["us", "them"]), IdTokenError::Audience),
        (|c| c["nonce"] = json!("m"), IdTokenError::Nonce),
        (|c| c["nonce"] = Value::Null, IdTokenError::Nonce),
        (|c| c["exp"] = json!(940), IdTokenError::Expiry),
        (|c| c["iat"] = json!(1061), IdTokenError::Expiry),
        (|c| c["sub"] = json!(""), IdTokenError::Unreadable),
        (|c| c["exp"] = json!("soon"), IdTokenError::Unreadable),
    ];
    for (change, wanted) in cases {
        assert_eq!(verify_changed(change), Err(wanted));
    }
    let shared = verify_changed(|c| {
        c["aud"] = json!(["us", "them"]);
        c["azp"] = json!("us");
    });
    assert!(shared.is_ok());
}

#[test]
fn a_token_that_the_issuer_did_not_sign_is_refused() {
    let issuer = TestIssuer::new();
    let head = json!({"alg": "ES256", "kid": "one"});
    let good_one = issuer.sign_token(&head, &valid_claims());
    let other = TestIssuer::new().sign_token(&head, &valid_claims());
    assert_eq!(verify(&issuer, &other), Err(IdTokenError::Signature));
    for alg in ["none", "HS256", "RS384", "es256", ""] {
        let token = issuer.sign_token(&json!({"alg": alg}), &valid_claims());
        assert_eq!(
            verify(&issuer, &token),
            Err(IdTokenError::Algorithm),
            "{alg}"
        );
    }
    // The published key is not an RSA key, although the token says so.
    let token = issuer.sign_token(&json!({"alg": "RS256", "kid": "one"}), &valid_claims());
    assert_eq!(verify(&issuer, &token), Err(IdTokenError::Signature));
    let (signed, _) = good_one.rsplit_once('.').unwrap();
    for bad in [
        String::new(),
        "a.b".to_owned(),
        format!("{signed}."),
        signed.to_owned(),
    ] {
        assert!(verify(&issuer, &bad).is_err(), "{bad}");
    }
    let mut claims = valid_claims();
    claims["sub"] = json!("43");
    let forged = URL_SAFE_NO_PAD.encode(claims.to_string());
    let (head, rest) = good_one.split_once('.').unwrap();
    let forged = format!("{head}.{forged}.{}", rest.split_once('.').unwrap().1);
    assert_eq!(verify(&issuer, &forged), Err(IdTokenError::Signature));
}

#[test]
fn a_secret_is_escaped_as_in_forms() {
    // client%3A1:s+e%2Fc
    assert_eq!(
        basic_authorization("client:1", "s e/c"),
        "Basic Y2xpZW50JTNBMTpzK2UlMkZj"
    );
}

/// The example of RFC 7636, appendix B.
#[test]
fn a_challenge_is_the_verifiers_digest() {
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(
        code_challenge(verifier),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
}
