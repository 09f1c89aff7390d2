//! Upload sessions and presigned grants, as the contract defines them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use test_support::{object_store, sample_files};
use url::Url;

use crate::support::TestService;
use crate::support::files::{
    checksum, create_file_request, create_file_request_of_size, post_upload, put_part, upload,
};

const MB: usize = 1 << 20;

#[tokio::test]
async fn a_small_file_is_sent_in_one_post() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let answer = service
        .post_file(&customer, &create_file_request_of_size(8 * MB))
        .await;
    assert_eq!(answer.status, 201);
    let session = &answer.body;
    assert_eq!(session["status"], "uploading");
    assert_eq!(session["deduplicated"], false);
    assert_eq!(session["upload"]["type"], "post");
    let fields = session["upload"]["fields"].as_object().unwrap();
    assert!(fields.values().all(Value::is_string), "{fields:?}");
    let staging = fields["key"].as_str().unwrap();
    let id = session["id"]
        .as_str()
        .unwrap()
        .strip_prefix("file_")
        .unwrap();
    assert!(staging.ends_with(&format!("staging/000/{id}")), "{staging}");
}

#[tokio::test]
async fn a_byte_more_is_sent_in_parts() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    for (size, parts) in [
        (8 * MB + 1, 1),
        (16 * MB, 1),
        (16 * MB + 1, 2),
        (48 * MB, 3),
    ] {
        let answer = service
            .post_file(&customer, &create_file_request_of_size(size))
            .await;
        let upload = &answer.body["upload"];
        assert_eq!(upload["type"], "multipart", "{}", answer.body);
        assert_eq!(upload["part_size_bytes"], 16_777_216);
        assert_eq!(upload["checksum_header"], "x-object-checksum-sha256");
        let listed = upload["parts"].as_array().unwrap();
        let numbers: Vec<_> = listed
            .iter()
            .map(|part| part["part_number"].as_u64())
            .collect();
        assert_eq!(numbers, (1..=parts).map(Some).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn with_declared_checksums_the_store_refuses_other_bytes() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let bytes = sample_files::text(9 * MB);
    let mut body = create_file_request(&bytes, "text/plain");
    body["part_checksums"] = json!([checksum(&bytes)]);
    let upload = service.post_file(&customer, &body).await.body["upload"].clone();
    assert_eq!(upload["checksum_header"], "x-amz-checksum-sha256");
    let part = &upload["parts"][0];
    let (_, refused) = put_part(&upload, part, &sample_files::text(9 * MB)).await;
    assert_eq!(refused.status / 100, 4, "{refused:?}");
    let (_, accepted) = put_part(&upload, part, &bytes).await;
    assert_eq!(accepted.status, 200, "{accepted:?}");
}

#[tokio::test]
async fn a_new_record_has_every_field() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let mut body = create_file_request(b"ahoy", "text/plain");
    body["metadata"] = json!({"ship": "Ever Given", "decks": ["a\u{0}b"]});
    body["ttl_seconds"] = json!(7200);
    let session = service.post_file(&customer, &body).await.body;
    let record = service
        .get_file(&customer, session["id"].as_str().unwrap())
        .await;
    insta::assert_json_snapshot!(record, {".id" => "[file]", ".sha256" => "[hex]"}, @r#"
    {
      "id": "[file]",
      "status": "uploading",
      "kind": "document",
      "filename": "sample.bin",
      "media_type": "text/plain",
      "size_bytes": 4,
      "sha256": "[hex]",
      "scan_status": "pending",
      "failure_reason": null,
      "ttl_seconds": 7200,
      "expires_at": "2026-01-01T02:15:00.000000Z",
      "pinned": false,
      "active_ref_count": 0,
      "metadata": {
        "ship": "Ever Given",
        "decks": [
          "a\u0000b"
        ]
      },
      "created_at": "2026-01-01T00:00:00.000000Z"
    }
    "#);
    // Until the file is ready, its expiry follows its TTL.
    let path = format!("/files/{}", session["id"].as_str().unwrap());
    let longer = json!({"ttl_seconds": 10_800});
    let changed = service.send_json(&customer, "PATCH", &path, &longer).await;
    assert_eq!(changed.body["expires_at"], "2026-01-01T03:15:00.000000Z");
}

#[tokio::test]
async fn an_invalid_declaration_is_refused_with_every_error() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    insta::assert_snapshot!(service.post_file(&customer, &json!({"ttl_seconds": 1})).await, @r#"
    422 {
      "error": "invalid_request",
      "message": "filename is required; media_type is required; size_bytes is required; sha256 is required; ttl_seconds should be a whole number of seconds from 3600 to 31536000.",
      "detail": {
        "error": "invalid_request",
        "message": "filename is required; media_type is required; size_bytes is required; sha256 is required; ttl_seconds should be a whole number of seconds from 3600 to 31536000."
      }
    }
    "#);
    insta::assert_snapshot!(service.post_file(&customer, &create_file_request(b"PK", "application/zip")).await, @r#"
    415 {
      "error": "unsupported_media_type",
      "message": "This media type is not supported. Supported media types: image/jpeg, image/png, image/gif, image/webp, application/pdf, text/plain, text/csv, text/markdown, video/mp4, video/quicktime, video/webm, video/x-matroska.",
      "detail": {
        "error": "unsupported_media_type",
        "message": "This media type is not supported. Supported media types: image/jpeg, image/png, image/gif, image/webp, application/pdf, text/plain, text/csv, text/markdown, video/mp4, video/quicktime, video/webm, video/x-matroska."
      }
    }
    "#);
    let mut large = create_file_request_of_size(50 * MB + 1);
    insta::assert_snapshot!(service.post_file(&customer, &large).await, @r#"
    413 {
      "error": "file_too_large",
      "message": "A file of kind document has at most 52428800 bytes (50 MB). Make it smaller, or split it.",
      "detail": {
        "error": "file_too_large",
        "message": "A file of kind document has at most 52428800 bytes (50 MB). Make it smaller, or split it."
      }
    }
    "#);
    large["size_bytes"] = json!(50 * MB);
    assert_eq!(service.post_file(&customer, &large).await.status, 201);
}

#[tokio::test]
async fn grants_are_refreshed_while_the_session_is_open() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let bytes = sample_files::text(100);
    let session = service
        .create_upload_session(&customer, &bytes, "text/plain")
        .await;
    let path = format!("/files/{}/parts", session["id"].as_str().unwrap());
    // An empty body is an empty object.
    let fresh = service
        .send_json(&customer, "POST", &path, &Value::Null)
        .await;
    assert_eq!((fresh.status, &fresh.body["id"]), (200, &session["id"]));
    assert_eq!(fresh.body["status"], "uploading");
    upload(&fresh.body["upload"], &bytes).await;

    let large = service
        .post_file(&customer, &create_file_request_of_size(48 * MB))
        .await
        .body;
    let large = format!("/files/{}/parts", large["id"].as_str().unwrap());
    let some = json!({"part_numbers": [3, 1]});
    let some = service.send_json(&customer, "POST", &large, &some).await;
    let numbers = some.body["upload"]["parts"].as_array().unwrap().iter();
    let numbers: Vec<_> = numbers
        .map(|part| part["part_number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 3]);
    let none = json!({"part_numbers": [4]});
    insta::assert_snapshot!(service.send_json(&customer, "POST", &large, &none).await, @r#"
    422 {
      "error": "invalid_request",
      "message": "part_numbers should be an array of whole numbers from 1 to 3; omit it for all parts.",
      "detail": {
        "error": "invalid_request",
        "message": "part_numbers should be an array of whole numbers from 1 to 3; omit it for all parts."
      }
    }
    "#);

    let id = session["id"].as_str().unwrap();
    assert_eq!(
        service
            .complete_upload(&customer, id, &json!({}))
            .await
            .status,
        200
    );
    insta::assert_snapshot!(service.send_json(&customer, "POST", &path, &json!({})).await, @r#"
    409 {
      "error": "invalid_state",
      "message": "The file's status is ready. Grants can be refreshed only while the status is uploading.",
      "detail": {
        "error": "invalid_state",
        "message": "The file's status is ready. Grants can be refreshed only while the status is uploading."
      }
    }
    "#);
}

#[tokio::test]
async fn known_bytes_are_not_sent_again() {
    let mut service = TestService::with_files().await;
    let (customer, other) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let sibling = service.create_sibling_project(&customer).await;
    let bytes = sample_files::text(100);
    let first = service
        .upload_ready_file(&customer, &bytes, "text/plain")
        .await;
    let mut again = create_file_request(&bytes, "text/plain");
    again["filename"] = json!("another name");
    let second = service.post_file(&customer, &again).await;
    assert_eq!(second.status, 200);
    insta::assert_json_snapshot!(second.body, {".id" => "[file]"}, @r#"
    {
      "id": "[file]",
      "status": "ready",
      "deduplicated": true,
      "upload": null
    }
    "#);
    let second = second.body["id"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    let record = service.get_file(&customer, &second).await;
    assert_eq!(
        (&record["filename"], &record["scan_status"]),
        (&json!("another name"), &json!("clean"))
    );
    // There is no deduplication across media types, projects or organizations.
    for (customer, media_type) in [
        (&customer, "text/csv"),
        (&sibling, "text/plain"),
        (&other, "text/plain"),
    ] {
        service
            .create_upload_session(customer, &bytes, media_type)
            .await;
    }
    // The bytes stay as long as one of the files does.
    for (id, is_kept) in [(&first, true), (&second, false)] {
        let link = service
            .get(&customer, &format!("/files/{second}/content"))
            .await
            .body;
        let link = link["download_url"].as_str().unwrap().to_owned();
        let gone = service
            .send_json(&customer, "DELETE", &format!("/files/{id}"), &Value::Null)
            .await;
        assert_eq!(
            (gone.status, &gone.body["status"]),
            (200, &json!("expired"))
        );
        let response = object_store::send("GET", &link, &[], b"").await;
        assert_eq!(response.status == 200, is_kept, "{response:?}");
    }
    service
        .create_upload_session(&customer, &bytes, "text/plain")
        .await;
    service.check_file_invariants().await;
}

/// The conditions of a POST policy that do not depend on the time of its signature.
fn policy_conditions(upload: &Value) -> Vec<Value> {
    let policy = upload["fields"]["policy"].as_str().unwrap();
    let policy: Value = serde_json::from_slice(&BASE64.decode(policy).unwrap()).unwrap();
    let conditions = policy["conditions"].as_array().unwrap().iter();
    let signed_at = [json!("$x-amz-credential"), json!("$x-amz-date")];
    conditions
        .filter(|condition| !signed_at.contains(&condition[1]))
        .cloned()
        .collect()
}

/// What the URL of a part permits, without the time and the value of its signature.
fn part_conditions(upload: &Value) -> Vec<(String, Vec<(String, String)>)> {
    let parts = upload["parts"].as_array().unwrap().iter();
    let conditions = |part: &Value| {
        let url = Url::parse(part["url"].as_str().unwrap()).unwrap();
        let signature = ["X-Amz-Credential", "X-Amz-Date", "X-Amz-Signature"];
        let query = url.query_pairs().into_owned();
        let query = query.filter(|(name, _)| !signature.contains(&name.as_str()));
        (url.path().to_owned(), query.collect())
    };
    parts.map(conditions).collect()
}

#[tokio::test]
async fn a_refreshed_grant_has_the_same_conditions() {
    let service = TestService::with_files().await;
    let customer = service.create_customer().await;
    let refresh = async |session: &Value| {
        let path = format!("/files/{}/parts", session["id"].as_str().unwrap());
        let fresh = service
            .send_json(&customer, "POST", &path, &json!({}))
            .await;
        assert_eq!(fresh.status, 200, "{fresh}");
        fresh.body["upload"].clone()
    };
    let bytes = sample_files::text(100);
    let session = service
        .create_upload_session(&customer, &bytes, "text/plain")
        .await;
    let fresh = refresh(&session).await;
    let conditions = policy_conditions(&session["upload"]);
    assert!(conditions.contains(&json!(["content-length-range", 100, 100])));
    assert_eq!(policy_conditions(&fresh), conditions);
    // So the store still refuses other bytes, of the same size or another.
    for other in [sample_files::text(100), sample_files::text(99)] {
        let refused = post_upload(&fresh, &other).await;
        assert_eq!(refused.status / 100, 4, "{refused:?}");
    }
    upload(&fresh, &bytes).await;

    let mut large = create_file_request_of_size(17 * MB);
    large["part_checksums"] = json!([checksum(b"first"), checksum(b"second")]);
    let session = service.post_file(&customer, &large).await.body;
    let (first, fresh) = (&session["upload"], refresh(&session).await);
    assert_eq!(part_conditions(first).len(), 2);
    assert_eq!(part_conditions(&fresh), part_conditions(first));
    assert_eq!(fresh["checksum_header"], first["checksum_header"]);
}
