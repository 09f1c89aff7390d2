//! Valid and invalid bodies and queries.

use domain::file::{MediaType, Sha256};
use domain::upload::UploadMethod;
use http::Uri;
use serde_json::{Value, json};
use store::shard::file::FileChange;

use super::*;

fn declaration() -> Value {
    json!({
        "filename": "crane.png", "media_type": "image/png", "size_bytes": 67,
        "sha256": "AB".repeat(32),
    })
}

fn error_text(refused: Result<impl std::fmt::Debug, FileApiError>) -> String {
    let problem = refused.unwrap_err();
    let status = problem.status().as_u16();
    let refusal = problem.into_body();
    format!("{status} {} {}", refusal.error, refusal.message)
}

fn create_error(change: impl FnOnce(&mut Value)) -> String {
    let mut body = declaration();
    change(&mut body);
    error_text(parse_create(body.to_string().as_bytes()))
}

#[test]
fn a_session_is_asked_for() {
    let session = parse_create(declaration().to_string().as_bytes()).unwrap();
    assert_eq!(session.declared.media_type, MediaType::Png);
    assert_eq!(session.declared.sha256, Sha256([0xab; 32]));
    assert_eq!(session.ttl_seconds, 2_592_000);
    assert_eq!((session.metadata, session.part_checksums), (None, None));
}

#[test]
fn unknown_fields_and_nulls_are_nothing() {
    let mut body = declaration();
    body["colour"] = json!({"deep": [{}]});
    body["ttl_seconds"] = Value::Null;
    body["metadata"] = Value::Null;
    assert!(parse_create(body.to_string().as_bytes()).is_ok());
}

#[test]
fn tags_are_kept_as_given() {
    let body = declaration().to_string();
    let tags = r#"{"b":1e2, "a" : 12345678901234567890123}"#;
    let body = format!(r#"{{"metadata":{tags},{}"#, body.trim_start_matches('{'));
    let session = parse_create(body.as_bytes()).unwrap();
    assert_eq!(session.metadata.as_deref(), Some(tags.as_bytes()));
}

#[test]
fn every_error_is_reported_at_once() {
    insta::assert_snapshot!(error_text(parse_create(b"{}")), @"422 invalid_request filename is required; media_type is required; size_bytes is required; sha256 is required.");
    let all = create_error(|body| {
        body["filename"] = json!("x".repeat(513));
        body["media_type"] = json!(5);
        body["size_bytes"] = json!(1.5);
        body["sha256"] = json!("g".repeat(64));
        body["ttl_seconds"] = json!(3599);
        body["metadata"] = json!(["tag"]);
        body["part_checksums"] = json!("all");
    });
    insta::assert_snapshot!(all, @"422 invalid_request filename should have at most 512 characters; media_type should be a string; size_bytes should be a whole number of bytes, at least 1; sha256 should be the SHA-256 of the bytes: 64 hexadecimal digits; ttl_seconds should be a whole number of seconds from 3600 to 31536000; metadata should be an object; part_checksums should be an array.");
}

#[test]
fn what_is_no_object_is_refused_in_the_same_shape() {
    insta::assert_snapshot!(error_text(parse_create(b"{\"filename\": }")), @"422 invalid_request The body is not JSON: expected value at line 1 column 14.");
    insta::assert_snapshot!(error_text(parse_create(b"[]")), @"422 invalid_request The body should be a JSON object.");
    insta::assert_snapshot!(error_text(parse_create(b"null")), @"422 invalid_request The body should be a JSON object.");
}

#[test]
fn a_size_is_a_positive_whole_number() {
    for wrong in [json!(0), json!(-1), json!("67"), json!(1e30), json!([])] {
        let text = create_error(|body| body["size_bytes"] = wrong.clone());
        assert!(
            text.starts_with("422 invalid_request size_bytes should be"),
            "{wrong} {text}"
        );
    }
    let huge = declaration().to_string().replace("67", &"9".repeat(40));
    insta::assert_snapshot!(error_text(parse_create(huge.as_bytes())), @"413 file_too_large A file of kind image has at most 20971520 bytes (20 MB). Make it smaller, or split it.");
}

#[test]
fn the_media_type_comes_before_the_size_and_after_the_fields() {
    let zip = |body: &mut Value| {
        body["media_type"] = json!("application/zip");
        body["size_bytes"] = json!(1_u64 << 40);
    };
    insta::assert_snapshot!(create_error(zip), @"415 unsupported_media_type This media type is not supported. Supported media types: image/jpeg, image/png, image/gif, image/webp, application/pdf, text/plain, text/csv, text/markdown, video/mp4, video/quicktime, video/webm, video/x-matroska.");
    insta::assert_snapshot!(create_error(|body| { zip(body); body["ttl_seconds"] = json!(1); }), @"422 invalid_request ttl_seconds should be a whole number of seconds from 3600 to 31536000.");
}

#[test]
fn names_and_tags_have_their_bounds() {
    let mut body = declaration();
    body["filename"] = json!("ü".repeat(512));
    body["metadata"] = json!({"note": "x".repeat(4096 - 11)});
    assert!(parse_create(body.to_string().as_bytes()).is_ok());
    insta::assert_snapshot!(create_error(|body| body["metadata"] = json!({"note": "x".repeat(4096 - 10)})), @"422 invalid_request metadata should be at most 4096 bytes of JSON.");
    insta::assert_snapshot!(create_error(|body| body["filename"] = json!("a\u{0}b")), @"422 invalid_request filename should not be empty or contain a NUL character.");
}

#[test]
fn part_checksums_are_one_for_each_part() {
    let checksum = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    let large = |checksums: Value| {
        let mut body = declaration();
        body["size_bytes"] = json!(17 << 20);
        body["part_checksums"] = checksums;
        parse_create(body.to_string().as_bytes())
    };
    let session = large(json!([checksum, checksum])).unwrap();
    assert_eq!(session.part_checksums.map(|all| all.len()), Some(2));
    insta::assert_snapshot!(error_text(large(json!([checksum]))), @"422 invalid_request part_checksums should have one checksum for each of the 2 parts.");
    insta::assert_snapshot!(error_text(large(json!([checksum, "AAAA"]))), @"422 invalid_request part_checksums should be the base64 SHA-256 of each part, in order.");
    insta::assert_snapshot!(create_error(|body| body["part_checksums"] = json!([checksum])), @"422 invalid_request part_checksums is only for files of more than 8 MB, which are uploaded in parts.");
}

const TWO_PARTS: UploadMethod = UploadMethod::Multipart { parts: 2 };

fn part(number: impl Into<Value>) -> Value {
    let number: Value = number.into();
    json!({
        "part_number": number, "etag": "\"a\"",
        "checksum_sha256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    })
}

fn complete_error(body: &Value) -> String {
    error_text(parse_complete(body.to_string().as_bytes(), TWO_PARTS))
}

#[test]
fn every_part_is_listed_once_in_any_order() {
    let mut second = part(2);
    second["etag"] = json!("\"b\"");
    let body = json!({"parts": [second, part(1)]}).to_string();
    let parts = parse_complete(body.as_bytes(), TWO_PARTS).unwrap().unwrap();
    let etags: Vec<_> = parts.iter().map(|part| part.etag.as_str()).collect();
    assert_eq!(etags, ["\"a\"", "\"b\""]);
    insta::assert_snapshot!(complete_error(&json!({})), @"422 invalid_request parts is required.");
    insta::assert_snapshot!(complete_error(&json!({"parts": "all"})), @"422 invalid_request parts should be an array.");
    insta::assert_snapshot!(complete_error(&json!({"parts": []})), @"422 invalid_request parts should list all 2 parts; missing: 1, 2.");
    insta::assert_snapshot!(complete_error(&json!({"parts": [part(2)]})), @"422 invalid_request parts should list all 2 parts; missing: 1.");
    insta::assert_snapshot!(complete_error(&json!({"parts": [part(1), part(1)]})), @"422 invalid_request parts lists part 1 twice.");
    let mut unsummed = part(1);
    unsummed["checksum_sha256"] = json!("AAAA");
    let mut untagged = part(2);
    untagged["etag"] = json!("a\nb");
    insta::assert_snapshot!(complete_error(&json!({"parts": [unsummed, untagged, {}, 7, part(3)]})), @"422 invalid_request parts[0].checksum_sha256 should be the base64 SHA-256 of the part; parts[1].etag should be the ETag that the object store returned; parts[2].part_number should be a whole number from 1 to 2; parts[3] should be an object; parts[4].part_number should be a whole number from 1 to 2.");
}

#[test]
fn one_post_is_completed_with_nothing() {
    for body in ["", "{}", r#"{"parts":"all"}"#] {
        assert_eq!(
            parse_complete(body.as_bytes(), UploadMethod::SingleShot).unwrap(),
            None
        );
    }
}

#[test]
fn parts_are_refreshed_by_number_or_all() {
    let numbers = |body: &str| parse_refresh(body.as_bytes(), UploadMethod::Multipart { parts: 3 });
    assert_eq!(numbers("").unwrap(), [1, 2, 3]);
    assert_eq!(numbers("{}").unwrap(), [1, 2, 3]);
    assert_eq!(numbers(r#"{"part_numbers":[3,1,3]}"#).unwrap(), [1, 3]);
    for wrong in ["[0]", "[4]", "[-1]", "[\"1\"]", "\"all\"", "[]", "[1.5]"] {
        let text = error_text(numbers(&format!(r#"{{"part_numbers":{wrong}}}"#)));
        assert!(
            text.starts_with("422 invalid_request part_numbers should be"),
            "{text}"
        );
    }
}

#[test]
fn a_change_names_what_it_changes() {
    let whole = parse_change(br#"{"ttl_seconds":3600,"metadata":{},"pinned":true}"#).unwrap();
    assert_eq!((whole.ttl_seconds, whole.pinned), (Some(3600), Some(true)));
    assert_eq!(whole.metadata.as_deref(), Some(&b"{}"[..]));
    assert_eq!(parse_change(b"{}").unwrap(), FileChange::default());
    insta::assert_snapshot!(error_text(parse_change(br#"{"pinned":"perhaps","ttl_seconds":"long"}"#)), @"422 invalid_request ttl_seconds should be a whole number of seconds from 3600 to 31536000; pinned should be true or false.");
}

#[test]
fn every_error_of_a_query_is_reported() {
    let uri = |query: &str| format!("/files?{query}").parse::<Uri>().unwrap();
    let page = parse_list_query(&uri("status=ready&kind=image&limit=200&x=y")).unwrap();
    assert_eq!(page.limit, 200);
    assert_eq!(parse_list_query(&uri("")).unwrap().limit, 50);
    insta::assert_snapshot!(error_text(parse_list_query(&uri("status=READY&kind=audio&limit=0&cursor=x"))), @"422 invalid_request status should be one of uploading, validating, ready, failed, expired; kind should be one of image, document, video; limit should be a whole number from 1 to 200; cursor should be an unchanged next_cursor of an earlier response.");
    insta::assert_snapshot!(error_text(parse_force(&uri("force=perhaps"))), @"422 invalid_request force should be true or false.");
}

#[test]
fn a_flag_is_read_as_clients_write_it() {
    let force = |value: &str| {
        let uri = format!("/files/x?force={value}").parse::<Uri>().unwrap();
        parse_force(&uri).ok()
    };
    for yes in ["true", "True", "TRUE", "1", "yes", "Yes", "on", "ON"] {
        assert_eq!(force(yes), Some(true), "{yes}");
    }
    for no in ["false", "False", "0", "no", "No", "off", "OFF"] {
        assert_eq!(force(no), Some(false), "{no}");
    }
    for other in ["", "2", "y", "t", "+true", "true%20", "null"] {
        assert_eq!(force(other), None, "{other}");
    }
}

#[test]
fn an_empty_cursor_is_the_first_page() {
    let uri = |query: &str| format!("/files?{query}").parse::<Uri>().unwrap();
    let first = parse_list_query(&uri("")).unwrap();
    assert_eq!(parse_list_query(&uri("cursor=")).unwrap(), first);
    assert_eq!(parse_list_query(&uri("cursor")).unwrap(), first);
}
