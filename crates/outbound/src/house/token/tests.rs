//! Tokens good and forged, by a house of our own.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::*;

struct House {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl House {
    fn new() -> Self {
        let random = SystemRandom::new();
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Self {
            pair: pair.unwrap(),
            random,
        }
    }

    fn keys(&self) -> Keys {
        let point = self.pair.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let keys = json!({"keys": [
            {"kty": "oct", "kid": "no"},
            {"kty": "EC", "crv": "P-256", "kid": "one", "use": "sig", "x": encode(x), "y": encode(y)},
        ]});
        serde_json::from_value(keys).unwrap()
    }

    fn token(&self, head: &Value, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(head), encode(claims));
        let signature = self.pair.sign(&self.random, signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

fn good() -> Value {
    json!({"iss": "https://house.example", "sub": "42", "aud": "us", "exp": 1300, "iat": 1000,
        "nonce": "n", "email": "ada@house.example", "email_verified": true, "name": "Ada"})
}

fn ask(house: &House, token: &str) -> Result<Stranger, NotProved> {
    let meant = Meant {
        issuer: "https://house.example",
        client: "us",
        nonce: "n",
        now: Timestamp::from_timestamp(1000, 0).unwrap(),
    };
    read(token, &house.keys(), &meant)
}

fn said(change: impl FnOnce(&mut Value)) -> Result<Stranger, NotProved> {
    let house = House::new();
    let mut claims = good();
    change(&mut claims);
    let token = house.token(&json!({"alg": "ES256", "kid": "one"}), &claims);
    ask(&house, &token)
}

#[test]
fn a_good_token_names_somebody() {
    let stranger = said(|_| {}).unwrap();
    assert_eq!(stranger.subject, "42");
    assert_eq!(stranger.email.as_deref(), Some("ada@house.example"));
    // An address that nobody has checked is nobody's.
    let unchecked = said(|claims| claims["email_verified"] = json!(false)).unwrap();
    assert_eq!(unchecked.email, None);
}

#[test]
fn a_token_for_somebody_else_is_refused() {
    type Change = fn(&mut Value);
    let cases: [(Change, NotProved); 9] = [
        (
            |c| c["iss"] = json!("https://other.example"),
            NotProved::Issuer,
        ),
        (|c| c["aud"] = json!("them"), NotProved::Audience),
        (|c| c["aud"] = json!(["us", "them"]), NotProved::Audience),
        (|c| c["nonce"] = json!("m"), NotProved::Nonce),
        (|c| c["nonce"] = Value::Null, NotProved::Nonce),
        (|c| c["exp"] = json!(940), NotProved::Time),
        (|c| c["iat"] = json!(1061), NotProved::Time),
        (|c| c["sub"] = json!(""), NotProved::Unreadable),
        (|c| c["exp"] = json!("soon"), NotProved::Unreadable),
    ];
    for (change, wanted) in cases {
        assert_eq!(said(change), Err(wanted));
    }
    let shared = said(|c| {
        c["aud"] = json!(["us", "them"]);
        c["azp"] = json!("us");
    });
    assert!(shared.is_ok());
}

#[test]
fn a_token_that_the_house_did_not_sign_is_refused() {
    let house = House::new();
    let head = json!({"alg": "ES256", "kid": "one"});
    let good_one = house.token(&head, &good());
    let other = House::new().token(&head, &good());
    assert_eq!(ask(&house, &other), Err(NotProved::Signature));
    for alg in ["none", "HS256", "RS384", "es256", ""] {
        let token = house.token(&json!({"alg": alg}), &good());
        assert_eq!(ask(&house, &token), Err(NotProved::Algorithm), "{alg}");
    }
    // The house's key is no RSA key, whatever the token says.
    let token = house.token(&json!({"alg": "RS256", "kid": "one"}), &good());
    assert_eq!(ask(&house, &token), Err(NotProved::Signature));
    let (signed, _) = good_one.rsplit_once('.').unwrap();
    for bad in [
        String::new(),
        "a.b".to_owned(),
        format!("{signed}."),
        signed.to_owned(),
    ] {
        assert!(ask(&house, &bad).is_err(), "{bad}");
    }
    let mut claims = good();
    claims["sub"] = json!("43");
    let forged = URL_SAFE_NO_PAD.encode(claims.to_string());
    let (head, rest) = good_one.split_once('.').unwrap();
    let forged = format!("{head}.{forged}.{}", rest.split_once('.').unwrap().1);
    assert_eq!(ask(&house, &forged), Err(NotProved::Signature));
}

/// Signed once by openssl(1) with a key that was then thrown away.
#[test]
fn an_rsa_signature_is_read() {
    let key = json!({"kty": "RSA", "e": "AQAB", "n": "tGHWUxIxYrFN47jbusaWhJAKThkiC111fNT0W1WFd45LHNtfqhbik8IfdsfoyQnH-tG6ACBsUjcJoxkMgKSchWPwVqlxrI5r_LF6eFQ8zq39IgFbzV13svbJp3MWuuavvT0qVpEHnrWdaSLRaB89I9NsI88TlHhYrj0oY-3vjSCt9IstDzDkF_9Xobr-6rfxplGT7Fw3V7IcG7rR72OrGrogP-30Re7WivuW037cuOsL7PQxQzgIaNr5lBFkvtUj7YCswIDViUhNKKAIfSXJ0uYTS1aT-zJXuEMLU-1vfUh4nn_54IFCsVC-ygPlhlVb9PXmDfJa_QgdYEueYR18NQ"});
    let key: Key = serde_json::from_value(key).unwrap();
    let signature = bytes(
        "V25XQWKYFJr6iDeh5D2scpEyaf9pQkn9esb-wPIaoY2owx-YliSa4xDyoZFvjKuXdp7cky18uLPD2FwEuLrKwh6d7q67TYkSiOZ4gYQoy7ZC_gp0S7lJ3HKLMmIDWxfk6VZ0hbUELqjBhJOIUtpfShXmOMdQhjTjeWGGK-PyoH0sE6uUb75kP3l0nrXJ-03iVzC1XK3d-yEKJrjK6KCAVATnBOpcnwAXejAHHQLFX77QHrdtBrtMpiTeqt4XATpmtlo_U0SYW9gRO0_XDmzf8EPph9UYSabkAW28kbwljOJD_km6VZgR7LM2egFL82V1L8PndhzaJYKfToPofJrxeg",
    );
    let signature = signature.unwrap();
    assert!(key.has_signed(b"head.claims", &signature));
    assert!(!key.has_signed(b"something else", &signature));
}

#[test]
fn a_secret_is_escaped_as_in_forms() {
    // client%3A1:s+e%2Fc
    assert_eq!(basic("client:1", "s e/c"), "Basic Y2xpZW50JTNBMTpzK2UlMkZj");
}

/// The example of RFC 7636, appendix B.
#[test]
fn a_challenge_is_the_verifiers_digest() {
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(
        challenge(verifier),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
}
