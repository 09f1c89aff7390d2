//! One key of each type, and tokens that name another algorithm than theirs.

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

use super::SignatureAlgorithm::{EdDsa, Es256, Ps256, Rs256};
use super::*;

const MESSAGE: &[u8] = b"head.claims";
/// An RSA key, and its signatures of the message with either padding. They were made once by
/// openssl(1), because ring makes no RSA keys; the private key was then deleted.
const MODULUS: &str = "yLoomRWoDD4GVHmfv1DEQI3OqznxGcx3qptyHSH3M4OznVU0_6BUpOD0yfC8nhhPsMhS8LhfBOT0DP_MwthZzL9Uh9MsTx7yrzAWREEGx-RdD9yUff-Lp-2T514GeLw2hdR7LXTCXE6Xxyl-LxNX3hMx1YVehnXNUXCuFrH7mUdOvvjjzBljtXt54o5m1dlUMJBDgXn7usNq_43fCpf5xxMa8Iqv7haiEqLCKWdb55JGv4nxvqh8mITqn44NSyibhlp7vSeKkrHLMw4bkswXXDQf7YOU6ZT2WZjHvn-sV57IcV8oRiexeQkrLvbjCMbydRLxY2BNV1s-yBRGbFxGtw";
const RS256_SIGNATURE: &str = "j2PcBKV1egcuepXDEWAoYcezCB1Cp8HVb23Rdstfb6SofG36WrVNhiI7H7BH4bR-AOdAThtnBIe3amUaJbEL9766Qc1aF3izQ6sSoV5MZo5-zG1wSPNnLt0MpnMQVGRl471HkcS3gT6h5dDn2ptI5y7d7gNZLvlmNy2JnfzD1h2zgONdIUTJZ14saEnLkiasNSeC__O2KPDmO80brZAzhDI2KlA8g5Bvdj_HhR52q-a895Hf_vJSwNEGAPn41kbYIT0zMtJ_YXAqcK7Xr4Su5vXhF0rhBBoWeg9n_5RK74-dPztO3kLE5o082XT3ipWusausFAZXu2JyBrwqnu7o4g";
const PS256_SIGNATURE: &str = "G8WWU9cGwjzxYRILShmxHZvPMiRKoqvbLwwRXvh3AhvaJz4Dd7rj6Rzrze-XLz0vk6i7qD6Mep4h7Bp-PVXWBPG-3oqf8cJP266407235xja8yOegYzapvC2sLgPep63M-3sytPoIUai7A-uNMkrD_qE9gjcXGdUQatoihxCWdfBVXVu_38SjKwHKQd1NPPMQbi2re3_44gBIPLt3767JtwBhOkGPtz7az4MHyUh8P8aIHmKUzTIlYrz5oZYqKNiIgt7SMoY8pnwqUKEdDPIFnAT-6Mw49xQsJRHnqdFX-0UWkesfbEhDLOebaCLJsTrCJY0opxwzYAiLYYITxuFKw";

fn key_set(keys: &Value) -> JsonWebKeySet {
    serde_json::from_value(json!({"keys": keys})).unwrap()
}

fn rsa_key() -> Value {
    json!({"kty": "RSA", "kid": "rsa", "use": "sig", "n": MODULUS, "e": "AQAB"})
}

/// A new P-256 key, and its signature of the message.
fn ec_key() -> (Value, Vec<u8>) {
    let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
    let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let key = json!({"kty": "EC", "crv": "P-256", "kid": "ec", "x": encode(x), "y": encode(y)});
    let signature = pair.sign(&random, MESSAGE).unwrap();
    (key, signature.as_ref().to_vec())
}

/// A new Ed25519 key, and its signature of the message.
fn okp_key() -> (Value, Vec<u8>) {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
    let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "okp", "x": x});
    (key, pair.sign(MESSAGE).as_ref().to_vec())
}

#[test]
fn each_algorithm_verifies_its_own_signatures_alone() {
    let ((ec, es256), (okp, eddsa)) = (ec_key(), okp_key());
    let keys = key_set(&json!([{"kty": "oct", "k": "AAAA"}, rsa_key(), ec, okp]));
    let signatures = [
        (Rs256, decode(RS256_SIGNATURE)),
        (Ps256, decode(PS256_SIGNATURE)),
        (Es256, es256),
        (EdDsa, eddsa),
    ];
    for (signer, signature) in &signatures {
        for algorithm in [Rs256, Ps256, Es256, EdDsa] {
            let is_signed = keys.has_signed(algorithm, None, MESSAGE, signature);
            assert_eq!(is_signed, algorithm == *signer, "{signer:?} {algorithm:?}");
        }
        assert!(!keys.has_signed(*signer, None, b"head.other", signature));
        assert!(!keys.has_signed(*signer, None, MESSAGE, b""));
    }
}

#[test]
fn a_key_is_selected_by_its_id_its_use_and_its_algorithm() {
    let signature = decode(RS256_SIGNATURE);
    let verify = |change: &[(&str, &str)], kid: Option<&str>| {
        let mut key = rsa_key();
        for (name, value) in change {
            key[*name] = json!(value);
        }
        key_set(&json!([key])).has_signed(Rs256, kid, MESSAGE, &signature)
    };
    assert!(verify(&[], None) && verify(&[], Some("rsa")));
    assert!(!verify(&[], Some("other")));
    assert!(verify(&[("alg", "RS256")], None));
    assert!(!verify(&[("alg", "PS256")], None));
    assert!(!verify(&[("alg", "RSA-OAEP")], None));
    assert!(!verify(&[("use", "enc")], None));
    assert!(!verify(&[("kty", "EC")], None));
    assert!(!verify(&[("n", "not base64!")], None));
}

#[test]
fn a_key_of_another_curve_is_not_used() {
    let ((mut ec, es256), (mut okp, eddsa)) = (ec_key(), okp_key());
    ec["crv"] = json!("secp256k1");
    okp["crv"] = json!("X25519");
    let keys = key_set(&json!([ec, okp]));
    assert!(!keys.has_signed(Es256, None, MESSAGE, &es256));
    assert!(!keys.has_signed(EdDsa, None, MESSAGE, &eddsa));
}

#[test]
fn only_four_algorithms_are_accepted() {
    for alg in [
        "none", "HS256", "RS384", "ES384", "es256", "ES256K", "Ed448", "",
    ] {
        assert_eq!(SignatureAlgorithm::parse(alg), None, "{alg}");
    }
    let names = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"];
    let parsed = names.map(|alg| SignatureAlgorithm::parse(alg).unwrap());
    assert_eq!(parsed, [Rs256, Ps256, Es256, EdDsa, EdDsa]);
}
