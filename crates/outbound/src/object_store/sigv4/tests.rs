//! The examples that AWS publishes.

use super::*;

fn signer() -> SigV4Signer {
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    SigV4Signer::new(
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        secret,
        "us-east-1".to_owned(),
    )
    .unwrap()
}

fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(seconds, 0).unwrap()
}

fn read_request<'a>(
    query: &'a [(&'a str, &'a str)],
    headers: &'a [(&'a str, &'a str)],
) -> UnsignedRequest<'a> {
    UnsignedRequest {
        method: &Method::GET,
        host: "examplebucket.s3.amazonaws.com",
        path: "/test.txt",
        query,
        headers,
        expires: Duration::from_hours(24),
    }
}

#[test]
fn a_presigned_read_is_the_published_one() {
    let signed = signer().presign(read_request(&[], &[]), timestamp(1_369_353_600));
    insta::assert_snapshot!(signed, @"/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

/// The signature is that of botocore, the library of AWS for Python, for the same request.
#[test]
fn a_session_token_is_signed() {
    let token = "AQoEXAMPLEH4aoAH0gNCAPyJxz4BlCFFxWNE1OPTgk5TthT+FvwqnKwRcOIfrRh3c/L==";
    let signer = signer().with_session_token(token.to_owned());
    let presigned = signer.presign(read_request(&[], &[]), timestamp(1_369_353_600));
    assert!(presigned.contains(
        "&X-Amz-Security-Token=AQoEXAMPLEH4aoAH0gNCAPyJxz4BlCFFxWNE1OPTgk5TthT%2BFvwqnKwRcOIfrRh3c%2FL%3D%3D&"
    ));
    assert!(
        presigned.ends_with("=8da95444c7637c3b94024dcfbb33f13b0d89bf35441ef3eea09f66f0c9a9cf98")
    );
}

#[test]
fn headers_are_signed_with_it() {
    let headers = [
        ("x-amz-date", "20150830T123600Z"),
        (
            "content-type",
            "application/x-www-form-urlencoded; charset=utf-8",
        ),
    ];
    let signed = signer().presign(read_request(&[], &headers), timestamp(1_369_353_600));
    assert!(signed.contains("X-Amz-SignedHeaders=content-type%3Bhost%3Bx-amz-date&"));
    assert!(signed.ends_with("=e965ee011ab5dbe8aa2c04a1ff2db8503c0cc117f62ea9274415c0f593ea199f"));
}

#[test]
fn a_query_is_in_the_order_of_its_names() {
    let query = [
        ("prefix", "a b/+~"),
        ("a-b", "2"),
        ("a", "1"),
        ("uploads", ""),
    ];
    let signed = signer().presign(read_request(&query, &[]), timestamp(0));
    let (_, query) = signed.split_once('?').unwrap();
    assert!(query.contains("&a=1&a-b=2&prefix=a%20b%2F%2B~&uploads=&X-Amz-Signature="));
}

#[test]
fn a_policy_has_the_published_signature() {
    let policy = include_str!("policy.b64").trim();
    let signature = signer().signature(policy, timestamp(1_451_347_200));
    assert_eq!(
        signature,
        "8afdbf4008c03f22c2cd3cdb72e4afbb1f6a588f3255ac628749a66d7f09699e"
    );
}

#[test]
fn empty_credentials_are_refused() {
    for [access, secret, region] in [["", "s", "r"], ["a", "", "r"], ["a", "s", ""]] {
        let refused = SigV4Signer::new(access.to_owned(), secret, region.to_owned());
        assert!(matches!(refused, Err(ObjectStoreSetupFailure::Credentials)));
    }
}
