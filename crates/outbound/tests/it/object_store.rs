//! A real object store: grants, reads, copies, listings and multipart uploads.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use domain::file::MediaType;
use domain::id::Berth;
use futures::TryStreamExt as _;
use outbound::object_store::{
    AddressingStyle, CopyResult, MultipartCompletion, ObjectArea, ObjectHead, ObjectKey,
    ObjectStore, ObjectStoreCredentials, ObjectStoreFailure, Options, UploadedPart,
};
use test_support::object_store::{
    RawResponse, declared, digest, file, file_in, object_store, object_store_with, options,
    post_form, send, static_keys,
};
use url::Url;

const BYTES: &[u8] = b"two pallets of oranges";

async fn read_object(objects: &ObjectStore, key: &ObjectKey) -> Vec<u8> {
    let head = objects.head(key).await.unwrap().unwrap();
    let chunks: Vec<Bytes> = objects
        .get(key, &head.etag)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    chunks.concat()
}

async fn upload_object(objects: &ObjectStore, bytes: &[u8]) -> ObjectKey {
    let file = file();
    let sent = post_form(&objects.post_grant(file, &declared(bytes)).unwrap(), bytes).await;
    assert_eq!(sent.status / 100, 2, "{sent:?}");
    objects.staging_key(file)
}

fn put_part<'a>(url: &'a str, bytes: &'a [u8]) -> impl Future<Output = RawResponse> + 'a {
    send("PUT", url, &[], bytes)
}

fn part(number: u32, etag: &str) -> UploadedPart {
    UploadedPart {
        number,
        etag: etag.to_owned(),
        checksum: None,
    }
}

#[tokio::test]
async fn a_grant_takes_its_bytes_and_no_others() {
    let (objects, file) = (object_store().await, file());
    let grant = objects.post_grant(file, &declared(BYTES)).unwrap();
    for wrong in [
        &b"two pallets of oranges!"[..],
        b"two pallets of orange",
        b"two pallets of lemons!",
        b"",
    ] {
        let sent = post_form(&grant, wrong).await;
        assert_eq!(sent.status / 100, 4, "{sent:?}");
    }
    let changed = [
        "key",
        "Content-Type",
        "x-amz-checksum-sha256",
        "x-amz-signature",
    ];
    for name in changed {
        let mut other = grant.clone();
        for (field, value) in &mut other.fields {
            if field == name {
                value.insert(0, 'a');
            }
        }
        let sent = post_form(&other, BYTES).await;
        assert_eq!(sent.status / 100, 4, "{name} {sent:?}");
    }
    assert_eq!(objects.head(&objects.staging_key(file)).await, Ok(None));
    let sent = post_form(&grant, BYTES).await;
    assert_eq!(sent.status / 100, 2, "{sent:?}");
    assert_eq!(
        read_object(&objects, &objects.staging_key(file)).await,
        BYTES
    );
}

#[tokio::test]
async fn a_grant_ends() {
    let short = Options {
        grant_lifetime: Duration::ZERO,
        ..options()
    };
    let objects = object_store_with(short).await;
    let file = file();
    let sent = post_form(&objects.post_grant(file, &declared(BYTES)).unwrap(), BYTES).await;
    assert_eq!(sent.status / 100, 4, "{sent:?}");
}

#[tokio::test]
async fn only_the_object_with_the_tag_is_read() {
    let objects = object_store().await;
    let key = upload_object(&objects, BYTES).await;
    let head = objects.head(&key).await.unwrap().unwrap();
    assert_eq!(head.size, BYTES.len() as u64);
    assert!(head.etag.starts_with('"') && head.etag.len() > 2);
    let other = "\"00000000000000000000000000000000\"";
    assert_eq!(
        objects.get(&key, other).await.unwrap_err(),
        ObjectStoreFailure::Changed
    );
    let absent = objects.staging_key(file());
    let missing = objects.get(&absent, &head.etag).await.unwrap_err();
    assert_eq!(missing, ObjectStoreFailure::Missing);
    assert!(!missing.is_unavailable());
    // A read without a signature is refused.
    let bare = format!(
        "{}{}/{}",
        options().internal,
        options().bucket,
        key.as_str()
    );
    assert_eq!(send("GET", &bare, &[], b"").await.status, 403);
}

#[tokio::test]
async fn a_copy_is_of_what_was_read_or_is_none() {
    let objects = object_store().await;
    let from = upload_object(&objects, BYTES).await;
    let to = objects.published_key(file());
    let ObjectHead { etag, .. } = objects.head(&from).await.unwrap().unwrap();
    let other = "\"00000000000000000000000000000000\"";
    assert_eq!(
        objects.copy(&from, &to, other).await,
        Ok(CopyResult::Changed)
    );
    assert_eq!(objects.head(&to).await, Ok(None));
    assert_eq!(objects.copy(&from, &to, &etag).await, Ok(CopyResult::Done));
    assert_eq!(read_object(&objects, &to).await, BYTES);
    // Again, as after a lost response.
    assert_eq!(objects.copy(&from, &to, &etag).await, Ok(CopyResult::Done));
    objects.delete(&from).await.unwrap();
    objects.delete(&from).await.unwrap();
    assert_eq!(objects.head(&from).await, Ok(None));
    assert_eq!(
        objects.copy(&from, &to, &etag).await,
        Ok(CopyResult::Missing)
    );
    assert_eq!(read_object(&objects, &to).await, BYTES);
}

#[tokio::test]
async fn a_link_saves_the_file_under_its_name() {
    let (objects, object) = (object_store().await, file());
    let from = upload_object(&objects, BYTES).await;
    let head = objects.head(&from).await.unwrap().unwrap();
    let to = objects.published_key(object);
    objects.copy(&from, &to, &head.etag).await.unwrap();
    let name = "grüße \"aus\" dem\r\nHafen.csv";
    let (link, _) = objects
        .presign_download(object, name, MediaType::Csv)
        .unwrap();
    let answer = send("GET", &link, &[], b"").await;
    assert_eq!((answer.status, answer.body.as_slice()), (200, BYTES));
    insta::assert_snapshot!(answer.header("content-disposition").unwrap(), @r#"attachment; filename="gr__e _aus_ dem  Hafen.csv"; filename*=UTF-8''gr%C3%BC%C3%9Fe%20%22aus%22%20dem%20%20Hafen.csv"#);
    assert_eq!(answer.header("content-type").as_deref(), Some("text/csv"));
    let shown = link.replace("attachment", "inline");
    assert_eq!(send("GET", &shown, &[], b"").await.status, 403);
    let elsewhere = link.replace(&object.uuid().simple().to_string(), "0");
    assert_eq!(send("GET", &elsewhere, &[], b"").await.status, 403);
}

#[tokio::test]
async fn parts_have_their_length_and_become_one() {
    let (objects, file) = (object_store().await, file());
    let whole = vec![7_u8; (16 << 20) + 5];
    let upload = objects
        .begin_multipart(file, MediaType::Mp4, false)
        .await
        .unwrap();
    let size = whole.len() as u64;
    let grants = objects
        .part_grants(file, &upload, size, &[1, 2, 3], None)
        .unwrap();
    assert_eq!(grants.checksum_header, "x-object-checksum-sha256");
    let numbers: Vec<u32> = grants.parts.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(put_part(&grants.parts[1].1, &whole[..6]).await.status, 403);
    assert_eq!(put_part(&grants.parts[0].1, b"short").await.status, 403);
    let mut finished = Vec::new();
    let cuts = [&whole[..16 << 20], &whole[16 << 20..]];
    for ((number, url), bytes) in grants.parts.iter().zip(cuts) {
        let header = [("x-object-checksum-sha256", "unchecked")];
        let sent = send("PUT", url, &header, bytes).await;
        assert_eq!(sent.status, 200, "{sent:?}");
        finished.push(part(*number, &sent.header("etag").unwrap()));
    }
    let stored = objects.list_parts(file, &upload).await.unwrap().unwrap();
    let sizes: Vec<_> = stored.iter().map(|part| (part.number, part.size)).collect();
    assert_eq!(sizes, [(1, 16 << 20), (2, 5)]);
    assert_eq!(stored[0].etag, finished[0].etag);
    let refused = [finished[0].clone(), part(2, "\"<&0>\"")];
    let refused = objects.complete_multipart(file, &upload, &refused).await;
    assert!(
        matches!(refused, Ok(MultipartCompletion::Refused(_))),
        "{refused:?}"
    );
    let done = objects.complete_multipart(file, &upload, &finished).await;
    assert_eq!(done, Ok(MultipartCompletion::Done));
    assert!(read_object(&objects, &objects.staging_key(file)).await == whole);
    // The upload and its URLs no longer work.
    assert_eq!(put_part(&grants.parts[1].1, b"12345").await.status, 404);
    assert_eq!(objects.list_parts(file, &upload).await, Ok(None));
    objects.abort_multipart(file, &upload).await.unwrap();
    objects.delete(&objects.staging_key(file)).await.unwrap();
    let again = objects.complete_multipart(file, &upload, &finished).await;
    assert_eq!(again, Ok(MultipartCompletion::NoSuchUpload));
}

#[tokio::test]
async fn declared_parts_are_checked_by_the_store_itself() {
    let (objects, file) = (object_store().await, file());
    let upload = objects.begin_multipart(file, MediaType::Mp4, true).await;
    let upload = upload.unwrap();
    let sha256 = digest(BYTES);
    let size = BYTES.len() as u64;
    let grants = objects
        .part_grants(file, &upload, size, &[1], Some(&[sha256]))
        .unwrap();
    assert_eq!(grants.checksum_header, "x-amz-checksum-sha256");
    let url = &grants.parts[0].1;
    let encoded = BASE64.encode(sha256.0);
    let header = [("x-amz-checksum-sha256", encoded.as_str())];
    let wrong = send("PUT", url, &header, b"two pallets of lemons!").await;
    assert_eq!(wrong.status, 400, "{wrong:?}");
    let without = put_part(url, BYTES).await;
    assert_eq!(without.status / 100, 4, "{without:?}");
    let right = send("PUT", url, &header, BYTES).await;
    assert_eq!(right.status, 200, "{right:?}");
    let parts = [UploadedPart {
        checksum: Some(sha256),
        ..part(1, &right.header("etag").unwrap())
    }];
    let done = objects.complete_multipart(file, &upload, &parts).await;
    assert_eq!(done, Ok(MultipartCompletion::Done));
    assert_eq!(
        read_object(&objects, &objects.staging_key(file)).await,
        BYTES
    );
}

#[tokio::test]
async fn an_upload_that_is_given_up_is_gone() {
    let berth = Berth::new(0x3ff).unwrap();
    let (objects, file) = (object_store().await, file_in(berth));
    let upload = objects.begin_multipart(file, MediaType::Webm, false).await;
    let upload = upload.unwrap();
    let grants = objects.part_grants(file, &upload, 5, &[1], None).unwrap();
    assert_eq!(put_part(&grants.parts[0].1, b"12345").await.status, 200);
    let open = objects.list_multipart_uploads(berth).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].file_id, &open[0].upload_id), (Some(file), &upload));
    assert_eq!(open[0].key, objects.staging_key(file));
    let other = objects
        .list_multipart_uploads(Berth::new(1).unwrap())
        .await
        .unwrap();
    assert!(other.is_empty());
    objects.abort_multipart(file, &upload).await.unwrap();
    objects.abort_multipart(file, &upload).await.unwrap();
    assert_eq!(objects.list_multipart_uploads(berth).await, Ok(Vec::new()));
    assert_eq!(objects.list_parts(file, &upload).await, Ok(None));
    assert_eq!(put_part(&grants.parts[0].1, b"12345").await.status, 404);
}

#[tokio::test]
async fn a_berth_lists_its_own_objects() {
    let objects = object_store().await;
    let berth = Berth::new(0x0a1).unwrap();
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(upload_object(&objects, BYTES).await);
    }
    keys.sort();
    let listing = objects
        .list_objects(ObjectArea::Staging, berth, None)
        .await
        .unwrap();
    let mut listed: Vec<ObjectKey> = listing.objects.iter().map(|it| it.key.clone()).collect();
    listed.sort();
    assert_eq!((listed, listing.next), (keys, None));
    assert!(listing.objects.iter().all(|it| it.file_id.is_some()));
    for (area, berth) in [(ObjectArea::Published, 0x0a1), (ObjectArea::Staging, 0x0a)] {
        let berth = Berth::new(berth).unwrap();
        let other = objects.list_objects(area, berth, None).await.unwrap();
        assert_eq!(other.objects, []);
    }
}

#[tokio::test]
async fn calls_may_be_made_from_any_task() {
    let objects = object_store().await;
    let key = objects.staging_key(file());
    let head = tokio::spawn(async move { objects.head(&key).await });
    assert_eq!(head.await.unwrap(), Ok(None));
}

#[tokio::test]
async fn nothing_shows_the_secret() {
    let options = options();
    let keys = static_keys();
    let secret = keys.secret_key;
    let debug = format!("{options:?}");
    let wrong = Options {
        credentials: ObjectStoreCredentials::Static {
            access_key: keys.access_key,
            secret_key: "wrong".repeat(4),
        },
        ..options
    };
    let objects = object_store_with(wrong).await;
    let failure = objects
        .head(&objects.staging_key(file()))
        .await
        .unwrap_err();
    insta::assert_snapshot!(failure, @"the object store refused to inspect an object: status 403");
    assert!(failure.is_unavailable());
    let listed = objects
        .list_objects(ObjectArea::Staging, Berth::new(1).unwrap(), None)
        .await;
    insta::assert_snapshot!(listed.unwrap_err(), @"the object store refused to list objects: status 403 (SignatureDoesNotMatch)");
    let grant = objects.post_grant(file(), &declared(BYTES)).unwrap();
    let debug = format!("{debug} {objects:?} {failure:?} {grant:?}");
    for hidden in [secret.as_str(), "wrongwrong", "ignature=", "svcdevkey"] {
        assert!(!debug.contains(hidden), "{debug}");
    }
}

#[tokio::test]
async fn grants_name_the_public_address() {
    let apart = Options {
        public: Url::parse("https://files.example").unwrap(),
        style: AddressingStyle::Virtual,
        bucket: "longshore-test".to_owned(),
        ..options()
    };
    let objects = object_store_with(apart).await;
    let grant = objects.post_grant(file(), &declared(BYTES)).unwrap();
    assert_eq!(grant.url, "https://longshore-test.files.example/");
    let (link, _) = objects
        .presign_download(file(), "x", MediaType::Png)
        .unwrap();
    let parts = objects
        .part_grants(file(), "u/1", 5, &[1], None)
        .unwrap()
        .parts;
    for url in [&link, &parts[0].1] {
        assert!(
            url.starts_with("https://longshore-test.files.example/outbound/"),
            "{url}"
        );
    }
    assert!(parts[0].1.contains("uploadId=u%2F1") && parts[0].1.contains("content-length%3Bhost"));
}
