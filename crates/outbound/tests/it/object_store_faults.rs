//! A store that fails, hangs, closes connections and sends nonsense.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::file::MediaType;
use domain::id::Berth;
use futures::{StreamExt as _, TryStreamExt as _};
use outbound::object_store::{
    CopyResult, MultipartCompletion, ObjectArea, ObjectHead, ObjectStore, ObjectStoreFailure,
    ObjectStoreTimeouts, Options, UploadedPart,
};
use test_support::certificates::TestAuthority;
use test_support::clock::ManualClock;
use test_support::object_store::{file, options};
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::rustls::RootCertStore;
use url::Url;

const SHORT_TIMEOUT: Duration = Duration::from_millis(300);
/// For a busy machine.
const MARGIN: Duration = Duration::from_secs(12);
const TAG: &str = "\"t\"";

const TEST_TIMEOUTS: ObjectStoreTimeouts = ObjectStoreTimeouts {
    connect: Duration::from_secs(5),
    call: Duration::from_secs(15),
    slow: Duration::from_secs(15),
    chunk: SHORT_TIMEOUT,
    ping: SHORT_TIMEOUT,
};

fn store_at(url: &str, roots: RootCertStore, patience: ObjectStoreTimeouts) -> ObjectStore {
    let url = Url::parse(url).unwrap();
    let options = Options {
        internal: url.clone(),
        public: url,
        timeouts: patience,
        ..options()
    };
    // The scripted store does not check signatures.
    let clock = Arc::new(ManualClock::default());
    ObjectStore::with_roots(options, clock, roots).unwrap()
}

fn store_of(receiver: &ScriptedReceiver) -> ObjectStore {
    let url = format!("http://127.0.0.1:{}", receiver.port());
    store_at(&url, RootCertStore::empty(), TEST_TIMEOUTS)
}

fn hasty_store(receiver: &ScriptedReceiver) -> ObjectStore {
    let url = format!("http://127.0.0.1:{}", receiver.port());
    let hasty = ObjectStoreTimeouts {
        call: SHORT_TIMEOUT,
        slow: SHORT_TIMEOUT,
        ..TEST_TIMEOUTS
    };
    store_at(&url, RootCertStore::empty(), hasty)
}

fn head_of(size: u64) -> ScriptedReply {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\netag: {TAG}\r\n\r\n");
    ScriptedReply::Send(head.into_bytes())
}

fn error(status: u16, code: &str) -> ScriptedReply {
    let body = format!("<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code></Error>");
    plain_reply(status, &body)
}

fn parts() -> [UploadedPart; 1] {
    [UploadedPart {
        number: 1,
        etag: "t".to_owned(),
        checksum: None,
    }]
}

#[tokio::test]
async fn a_call_that_failed_briefly_is_retried() {
    let script = [plain_reply(500, ""), error(503, "SlowDown"), head_of(5)];
    let receiver = ScriptedReceiver::start(script).await;
    let objects = store_of(&receiver);
    let head = objects.head(&objects.staging_key(file())).await.unwrap();
    let etag = TAG.to_owned();
    assert_eq!(head, Some(ObjectHead { size: 5, etag }));
    let cut = ScriptedReceiver::start([ScriptedReply::SendAndReset(Vec::new()), head_of(5)]).await;
    let objects = store_of(&cut);
    assert!(
        objects
            .head(&objects.staging_key(file()))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn a_store_that_keeps_failing_is_unavailable() {
    let receiver = ScriptedReceiver::start([error(503, "ServiceUnavailable")]).await;
    let objects = store_of(&receiver);
    let failure = objects
        .delete(&objects.staging_key(file()))
        .await
        .unwrap_err();
    insta::assert_snapshot!(failure, @"the object store failed with status 503 (ServiceUnavailable)");
    assert!(failure.is_unavailable());
    assert_eq!(receiver.received().len(), 5);
    // A refusal is not retried.
    let receiver = ScriptedReceiver::start([error(403, "AccessDenied")]).await;
    let objects = store_of(&receiver);
    let failure = objects
        .delete(&objects.staging_key(file()))
        .await
        .unwrap_err();
    insta::assert_snapshot!(failure, @"the object store refused to delete an object: status 403 (AccessDenied)");
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_store_that_hangs_times_out() {
    let receiver = ScriptedReceiver::start([ScriptedReply::Silence]).await;
    let objects = hasty_store(&receiver);
    let (key, started) = (objects.staging_key(file()), Instant::now());
    let late = ObjectStoreFailure::TimedOut(SHORT_TIMEOUT);
    assert_eq!(objects.head(&key).await, Err(late.clone()));
    assert_eq!(objects.get(&key, TAG).await.unwrap_err(), late);
    assert_eq!(objects.copy(&key, &key, TAG).await, Err(late.clone()));
    let upload = objects.begin_multipart(file(), MediaType::Mp4, false).await;
    assert_eq!(upload, Err(late.clone()));
    insta::assert_snapshot!(late, @"the object store did not answer within 300 ms");
    assert_eq!(store_of(&receiver).ping().await, Err(late));
    assert!(started.elapsed() < SHORT_TIMEOUT * 5 + MARGIN);
}

#[tokio::test]
async fn a_download_that_is_cut_or_stalls_fails_where_it_does() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf".to_vec();
    for (reply, failure) in [
        (
            ScriptedReply::SendAndClose(half.clone()),
            ObjectStoreFailure::ConnectionClosed,
        ),
        (
            ScriptedReply::SendAndReset(half.clone()),
            ObjectStoreFailure::ConnectionClosed,
        ),
        (
            ScriptedReply::Send(half),
            ObjectStoreFailure::TimedOut(SHORT_TIMEOUT),
        ),
    ] {
        let receiver = ScriptedReceiver::start([reply]).await;
        let objects = store_of(&receiver);
        let mut download = objects
            .get(&objects.staging_key(file()), TAG)
            .await
            .unwrap();
        let mut read = Vec::new();
        let ended = loop {
            match download.next().await.unwrap() {
                Ok(bytes) => read.extend_from_slice(&bytes),
                Err(failure) => break failure,
            }
        };
        assert_eq!(ended, failure);
        assert!(b"half".starts_with(&read));
    }
}

#[tokio::test]
async fn an_unread_download_waits_in_the_store() {
    const WHOLE: usize = 256 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut sending = tokio::spawn(async move {
        let (mut tcp, _) = listener.accept().await.unwrap();
        let _ = tcp.read(&mut [0; 4096]).await.unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {WHOLE}\r\n\r\n");
        tcp.write_all(head.as_bytes()).await.unwrap();
        let chunk = vec![0; 1 << 20];
        for _ in 0..WHOLE >> 20 {
            tcp.write_all(&chunk).await.unwrap();
        }
    });
    let objects = store_at(
        &format!("http://{address}"),
        RootCertStore::empty(),
        TEST_TIMEOUTS,
    );
    let download = objects
        .get(&objects.staging_key(file()), TAG)
        .await
        .unwrap();
    let waited = tokio::time::timeout(SHORT_TIMEOUT, &mut sending).await;
    assert!(waited.is_err(), "a quarter of a gigabyte was buffered");
    let (total, largest) = download
        .try_fold((0, 0), async |(total, largest), bytes: Bytes| {
            Ok((total + bytes.len(), bytes.len().max(largest)))
        })
        .await
        .unwrap();
    assert_eq!(total, WHOLE);
    assert!(largest <= 1 << 20, "{largest}");
    sending.await.unwrap();
}

#[tokio::test]
async fn a_success_that_turns_out_a_failure_is_one() {
    let late = "  \n<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code></Error>";
    let receiver =
        ScriptedReceiver::start([plain_reply(200, late), plain_reply(200, "<R/>")]).await;
    let objects = store_of(&receiver);
    let done = objects.complete_multipart(file(), "u", &parts()).await;
    assert_eq!(done, Ok(MultipartCompletion::Done));
    assert_eq!(receiver.received().len(), 2);
    let sent = String::from_utf8(receiver.received()[0].body.clone()).unwrap();
    insta::assert_snapshot!(sent, @r#"<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Part><PartNumber>1</PartNumber><ETag>&quot;t&quot;</ETag></Part></CompleteMultipartUpload>"#);
    let receiver = ScriptedReceiver::start([error(200, "InvalidPart")]).await;
    let refused = store_of(&receiver)
        .complete_multipart(file(), "u", &parts())
        .await;
    assert_eq!(
        refused,
        Ok(MultipartCompletion::Refused("InvalidPart".to_owned()))
    );
    // A wrong region is not the caller's fault.
    let receiver = ScriptedReceiver::start([error(400, "AuthorizationQueryParametersError")]).await;
    let refused = store_of(&receiver)
        .complete_multipart(file(), "u", &parts())
        .await;
    assert!(refused.is_err_and(|failure| failure.is_unavailable()));
    let receiver =
        ScriptedReceiver::start([error(200, "InternalError"), plain_reply(200, "<R/>")]).await;
    let objects = store_of(&receiver);
    let (from, to) = (objects.staging_key(file()), objects.published_key(file()));
    assert_eq!(objects.copy(&from, &to, TAG).await, Ok(CopyResult::Done));
    let receiver = ScriptedReceiver::start([error(200, "SlowDown")]).await;
    let failure = store_of(&receiver).copy(&from, &to, TAG).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the object store failed with status 200 (SlowDown)");
}

#[tokio::test]
async fn an_end_whose_answer_was_lost_finds_no_upload() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n<?xml".to_vec();
    let script = [ScriptedReply::SendAndClose(cut), error(404, "NoSuchUpload")];
    let receiver = ScriptedReceiver::start(script).await;
    let finished = store_of(&receiver)
        .complete_multipart(file(), "u", &parts())
        .await;
    assert_eq!(finished, Ok(MultipartCompletion::NoSuchUpload));
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn pages_are_read_one_after_the_other() {
    let berth = Berth::new(1).unwrap();
    let id = "0198c0de00007000801000000000002a";
    // Without a namespace, as some stores send it.
    let uploads = format!(
        "<R><IsTruncated>true</IsTruncated><NextKeyMarker>k&amp;1</NextKeyMarker>\
         <NextUploadIdMarker>u1</NextUploadIdMarker><Upload><Key>elsewhere/{id}</Key></Upload></R>"
    );
    let receiver = ScriptedReceiver::start([plain_reply(200, &uploads)]).await;
    assert_eq!(
        store_of(&receiver).list_multipart_uploads(berth).await,
        Ok(Vec::new())
    );
    // The second page pointed to itself, so no third was requested.
    let requests = receiver.received();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].head.contains("key-marker=k%261&"));
    assert!(requests[1].head.contains("upload-id-marker=u1&"));
    // Some stores send no key marker; then none is sent back.
    let keyless = uploads.replace("NextKeyMarker", "Other");
    let receiver =
        ScriptedReceiver::start([plain_reply(200, &keyless), plain_reply(200, "<R/>")]).await;
    assert_eq!(
        store_of(&receiver).list_multipart_uploads(berth).await,
        Ok(Vec::new())
    );
    let requests = receiver.received();
    assert!(requests[1].head.contains("upload-id-marker=u1&"));
    assert!(!requests[1].head.contains("key-marker="));
    let listing = "<R><IsTruncated>true</IsTruncated>\
                   <NextContinuationToken>n=1</NextContinuationToken></R>";
    let receiver = ScriptedReceiver::start([plain_reply(200, listing)]).await;
    let page = store_of(&receiver)
        .list_objects(ObjectArea::Staging, berth, Some("m/0"))
        .await;
    assert_eq!(page.unwrap().next.as_deref(), Some("n=1"));
    assert!(
        receiver.received()[0]
            .head
            .contains("continuation-token=m%2F0&")
    );
    let parts = "<R><IsTruncated>true</IsTruncated><NextPartNumberMarker>1</NextPartNumberMarker>\
                 <Part><PartNumber>1</PartNumber><ETag>t</ETag><Size>5</Size></Part></R>";
    let rest = "<R><IsTruncated>false</IsTruncated>\
                <Part><PartNumber>2</PartNumber><ETag>t</ETag><Size>6</Size></Part></R>";
    let receiver = ScriptedReceiver::start([plain_reply(200, parts), plain_reply(200, rest)]).await;
    let parts = store_of(&receiver)
        .list_parts(file(), "u")
        .await
        .unwrap()
        .unwrap();
    let sizes: Vec<u64> = parts.iter().map(|part| part.size).collect();
    assert_eq!(sizes, [5, 6]);
}

#[tokio::test]
async fn what_cannot_be_read_is_not_guessed() {
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><x>&b;</x>";
    for body in ["", "not XML", "<R>", bomb, "<R><Contents><Key/></Contents>"] {
        let receiver = ScriptedReceiver::start([plain_reply(200, body)]).await;
        let objects = store_of(&receiver);
        let listed = objects.list_objects(ObjectArea::Staging, Berth::new(1).unwrap(), None);
        let unreadable = ObjectStoreFailure::Unreadable("list objects");
        assert_eq!(listed.await, Err(unreadable), "{body}");
    }
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n".to_vec();
    let receiver = ScriptedReceiver::start([ScriptedReply::Send(head)]).await;
    let objects = store_of(&receiver);
    let failure = objects
        .head(&objects.staging_key(file()))
        .await
        .unwrap_err();
    insta::assert_snapshot!(failure, @"the object store sent an unreadable response to the request to inspect an object");
    let flood = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let receiver =
        ScriptedReceiver::start([ScriptedReply::Flood(flood, vec![b' '; 1 << 20])]).await;
    let objects = hasty_store(&receiver);
    let listed = objects.list_objects(ObjectArea::Staging, Berth::new(1).unwrap(), None);
    assert!(listed.await.unwrap_err().is_unavailable());
}

#[tokio::test]
async fn a_store_that_is_not_there_is_unavailable() {
    let closed = "http://127.0.0.1:1";
    let objects = store_at(closed, RootCertStore::empty(), TEST_TIMEOUTS);
    let failure = objects
        .head(&objects.staging_key(file()))
        .await
        .unwrap_err();
    insta::assert_snapshot!(failure, @"the object store cannot be reached: connection refused");
    assert!(failure.is_unavailable());
}

#[tokio::test]
async fn a_store_behind_tls_shows_a_certificate_that_is_trusted() {
    let authority = TestAuthority::generate();
    let acceptor = authority.acceptor(&["127.0.0.1"]);
    let receiver = ScriptedReceiver::listen("127.0.0.1", Some(acceptor), [head_of(7)]).await;
    let url = format!("https://127.0.0.1:{}", receiver.port());
    let objects = store_at(&url, authority.roots(), TEST_TIMEOUTS);
    let head = objects.head(&objects.staging_key(file())).await.unwrap();
    assert_eq!(head.unwrap().size, 7);
    let untrusting = store_at(&url, TestAuthority::generate().roots(), TEST_TIMEOUTS);
    let failure = untrusting
        .head(&objects.staging_key(file()))
        .await
        .unwrap_err();
    insta::assert_snapshot!(failure, @"the object store cannot be reached: TLS failed");
}
