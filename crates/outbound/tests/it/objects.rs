//! The object store as it is: what a grant lets in, what is read, copied, listed and put together.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use domain::file::MediaType;
use domain::id::Berth;
use futures::TryStreamExt as _;
use outbound::objects::{
    Area, Copied, Failure, Finished, FinishedPart, Head, Key, Objects, Options, Style,
};
use url::Url;

use crate::support::store::{
    Answered, declared, digest, file, file_in, objects, objects_with, options, post, send,
};

const BYTES: &[u8] = b"two pallets of oranges";

async fn read(objects: &Objects, key: &Key) -> Vec<u8> {
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

async fn uploaded(objects: &Objects, bytes: &[u8]) -> Key {
    let file = file();
    let sent = post(&objects.post_grant(file, &declared(bytes)), bytes).await;
    assert_eq!(sent.status / 100, 2, "{sent:?}");
    objects.staging(file)
}

fn part_put<'a>(url: &'a str, bytes: &'a [u8]) -> impl Future<Output = Answered> + 'a {
    send("PUT", url, &[], bytes)
}

fn part(number: u32, etag: &str) -> FinishedPart {
    FinishedPart {
        number,
        etag: etag.to_owned(),
        checksum: None,
    }
}

#[tokio::test]
async fn a_grant_takes_its_bytes_and_no_others() {
    let (objects, file) = (objects().await, file());
    let grant = objects.post_grant(file, &declared(BYTES));
    for wrong in [
        &b"two pallets of oranges!"[..],
        b"two pallets of orange",
        b"two pallets of lemons!",
        b"",
    ] {
        let sent = post(&grant, wrong).await;
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
        let sent = post(&other, BYTES).await;
        assert_eq!(sent.status / 100, 4, "{name} {sent:?}");
    }
    assert_eq!(objects.head(&objects.staging(file)).await, Ok(None));
    let sent = post(&grant, BYTES).await;
    assert_eq!(sent.status / 100, 2, "{sent:?}");
    assert_eq!(read(&objects, &objects.staging(file)).await, BYTES);
}

#[tokio::test]
async fn a_grant_ends() {
    let short = Options {
        grant: Duration::ZERO,
        ..options()
    };
    let objects = objects_with(short).await;
    let file = file();
    let sent = post(&objects.post_grant(file, &declared(BYTES)), BYTES).await;
    assert_eq!(sent.status / 100, 4, "{sent:?}");
}

#[tokio::test]
async fn only_the_object_with_the_tag_is_read() {
    let objects = objects().await;
    let key = uploaded(&objects, BYTES).await;
    let head = objects.head(&key).await.unwrap().unwrap();
    assert_eq!(head.size, BYTES.len() as u64);
    assert!(head.etag.starts_with('"') && head.etag.len() > 2);
    let other = "\"00000000000000000000000000000000\"";
    assert_eq!(
        objects.get(&key, other).await.unwrap_err(),
        Failure::Changed
    );
    let absent = objects.staging(file());
    let missing = objects.get(&absent, &head.etag).await.unwrap_err();
    assert_eq!(missing, Failure::Missing);
    assert!(!missing.is_away());
    // Nobody reads without a signature.
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
    let objects = objects().await;
    let from = uploaded(&objects, BYTES).await;
    let to = objects.published(file());
    let Head { etag, .. } = objects.head(&from).await.unwrap().unwrap();
    let other = "\"00000000000000000000000000000000\"";
    assert_eq!(objects.copy(&from, &to, other).await, Ok(Copied::Changed));
    assert_eq!(objects.head(&to).await, Ok(None));
    assert_eq!(objects.copy(&from, &to, &etag).await, Ok(Copied::Done));
    assert_eq!(read(&objects, &to).await, BYTES);
    // Once more, as after an answer that was lost.
    assert_eq!(objects.copy(&from, &to, &etag).await, Ok(Copied::Done));
    objects.delete(&from).await.unwrap();
    objects.delete(&from).await.unwrap();
    assert_eq!(objects.head(&from).await, Ok(None));
    assert_eq!(objects.copy(&from, &to, &etag).await, Ok(Copied::Missing));
    assert_eq!(read(&objects, &to).await, BYTES);
}

#[tokio::test]
async fn a_link_saves_the_file_under_its_name() {
    let (objects, object) = (objects().await, file());
    let from = uploaded(&objects, BYTES).await;
    let head = objects.head(&from).await.unwrap().unwrap();
    let to = objects.published(object);
    objects.copy(&from, &to, &head.etag).await.unwrap();
    let name = "grüße \"aus\" dem\r\nHafen.csv";
    let (link, _) = objects.download(object, name, MediaType::Csv);
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
    let (objects, file) = (objects().await, file());
    let whole = vec![7_u8; (16 << 20) + 5];
    let upload = objects
        .begin_multipart(file, MediaType::Mp4, false)
        .await
        .unwrap();
    let size = whole.len() as u64;
    let grants = objects.part_grants(file, &upload, size, &[1, 2, 3], None);
    assert_eq!(grants.checksum_header, "x-object-checksum-sha256");
    let numbers: Vec<u32> = grants.parts.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(part_put(&grants.parts[1].1, &whole[..6]).await.status, 403);
    assert_eq!(part_put(&grants.parts[0].1, b"short").await.status, 403);
    let mut finished = Vec::new();
    let cuts = [&whole[..16 << 20], &whole[16 << 20..]];
    for ((number, url), bytes) in grants.parts.iter().zip(cuts) {
        let header = [("x-object-checksum-sha256", "whatever")];
        let sent = send("PUT", url, &header, bytes).await;
        assert_eq!(sent.status, 200, "{sent:?}");
        finished.push(part(*number, &sent.header("etag").unwrap()));
    }
    let stored = objects.parts(file, &upload).await.unwrap().unwrap();
    let sizes: Vec<_> = stored.iter().map(|part| (part.number, part.size)).collect();
    assert_eq!(sizes, [(1, 16 << 20), (2, 5)]);
    assert_eq!(stored[0].etag, finished[0].etag);
    let refused = [finished[0].clone(), part(2, "\"<&0>\"")];
    let refused = objects.finish_multipart(file, &upload, &refused).await;
    assert!(matches!(refused, Ok(Finished::Refused(_))), "{refused:?}");
    let done = objects.finish_multipart(file, &upload, &finished).await;
    assert_eq!(done, Ok(Finished::Done));
    assert!(read(&objects, &objects.staging(file)).await == whole);
    // The URLs are dead now, and so is the upload.
    assert_eq!(part_put(&grants.parts[1].1, b"12345").await.status, 404);
    assert_eq!(objects.parts(file, &upload).await, Ok(None));
    objects.abort_multipart(file, &upload).await.unwrap();
    objects.delete(&objects.staging(file)).await.unwrap();
    let again = objects.finish_multipart(file, &upload, &finished).await;
    assert_eq!(again, Ok(Finished::NoSuchUpload));
}

#[tokio::test]
async fn declared_parts_are_checked_by_the_store_itself() {
    let (objects, file) = (objects().await, file());
    let upload = objects.begin_multipart(file, MediaType::Mp4, true).await;
    let upload = upload.unwrap();
    let sha256 = digest(BYTES);
    let size = BYTES.len() as u64;
    let grants = objects.part_grants(file, &upload, size, &[1], Some(&[sha256]));
    assert_eq!(grants.checksum_header, "x-amz-checksum-sha256");
    let url = &grants.parts[0].1;
    let told = BASE64.encode(sha256.0);
    let header = [("x-amz-checksum-sha256", told.as_str())];
    let wrong = send("PUT", url, &header, b"two pallets of lemons!").await;
    assert_eq!(wrong.status, 400, "{wrong:?}");
    let without = part_put(url, BYTES).await;
    assert_eq!(without.status / 100, 4, "{without:?}");
    let right = send("PUT", url, &header, BYTES).await;
    assert_eq!(right.status, 200, "{right:?}");
    let parts = [FinishedPart {
        checksum: Some(sha256),
        ..part(1, &right.header("etag").unwrap())
    }];
    let done = objects.finish_multipart(file, &upload, &parts).await;
    assert_eq!(done, Ok(Finished::Done));
    assert_eq!(read(&objects, &objects.staging(file)).await, BYTES);
}

#[tokio::test]
async fn an_upload_that_is_given_up_is_gone() {
    let berth = Berth::new(0x3ff).unwrap();
    let (objects, file) = (objects().await, file_in(berth));
    let upload = objects.begin_multipart(file, MediaType::Webm, false).await;
    let upload = upload.unwrap();
    let grants = objects.part_grants(file, &upload, 5, &[1], None);
    assert_eq!(part_put(&grants.parts[0].1, b"12345").await.status, 200);
    let open = objects.list_uploads(berth).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].id, &open[0].upload), (Some(file), &upload));
    assert_eq!(open[0].key, objects.staging(file));
    let other = objects.list_uploads(Berth::new(1).unwrap()).await.unwrap();
    assert!(other.is_empty());
    objects.abort_multipart(file, &upload).await.unwrap();
    objects.abort_multipart(file, &upload).await.unwrap();
    assert_eq!(objects.list_uploads(berth).await, Ok(Vec::new()));
    assert_eq!(objects.parts(file, &upload).await, Ok(None));
    assert_eq!(part_put(&grants.parts[0].1, b"12345").await.status, 404);
}

#[tokio::test]
async fn a_berth_lists_its_own_objects() {
    let objects = objects().await;
    let berth = Berth::new(0x0a1).unwrap();
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(uploaded(&objects, BYTES).await);
    }
    keys.sort();
    let listing = objects.list(Area::Staging, berth, None).await.unwrap();
    let mut listed: Vec<Key> = listing.objects.iter().map(|it| it.key.clone()).collect();
    listed.sort();
    assert_eq!((listed, listing.next), (keys, None));
    assert!(listing.objects.iter().all(|it| it.id.is_some()));
    for (area, berth) in [(Area::Published, 0x0a1), (Area::Staging, 0x0a)] {
        let berth = Berth::new(berth).unwrap();
        let other = objects.list(area, berth, None).await.unwrap();
        assert_eq!(other.objects, []);
    }
}

#[tokio::test]
async fn calls_may_be_made_from_any_task() {
    let objects = objects().await;
    let key = objects.staging(file());
    let head = tokio::spawn(async move { objects.head(&key).await });
    assert_eq!(head.await.unwrap(), Ok(None));
}

#[tokio::test]
async fn nothing_tells_the_secret() {
    let options = options();
    let secret = options.secret_key.clone();
    let told = format!("{options:?}");
    let wrong = Options {
        secret_key: "wrong".repeat(4),
        ..options
    };
    let objects = objects_with(wrong).await;
    let failure = objects.head(&objects.staging(file())).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the object store refused to look at an object: status 403");
    assert!(failure.is_away());
    let listed = objects
        .list(Area::Staging, Berth::new(1).unwrap(), None)
        .await;
    insta::assert_snapshot!(listed.unwrap_err(), @"the object store refused to list objects: status 403 (SignatureDoesNotMatch)");
    let grant = objects.post_grant(file(), &declared(BYTES));
    let told = format!("{told} {objects:?} {failure:?} {grant:?}");
    for hidden in [secret.as_str(), "wrongwrong", "ignature=", "svcdevkey"] {
        assert!(!told.contains(hidden), "{told}");
    }
}

#[tokio::test]
async fn grants_name_the_public_address() {
    let apart = Options {
        public: Url::parse("https://files.example").unwrap(),
        style: Style::Virtual,
        bucket: "longshore-test".to_owned(),
        ..options()
    };
    let objects = objects_with(apart).await;
    let grant = objects.post_grant(file(), &declared(BYTES));
    assert_eq!(grant.url, "https://longshore-test.files.example/");
    let (link, _) = objects.download(file(), "x", MediaType::Png);
    let parts = objects.part_grants(file(), "u/1", 5, &[1], None).parts;
    for url in [&link, &parts[0].1] {
        assert!(
            url.starts_with("https://longshore-test.files.example/outbound/"),
            "{url}"
        );
    }
    assert!(parts[0].1.contains("uploadId=u%2F1") && parts[0].1.contains("content-length%3Bhost"));
}
