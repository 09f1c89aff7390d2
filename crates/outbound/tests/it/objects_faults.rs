//! A store that stumbles, lingers, cuts and babbles.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::file::MediaType;
use domain::id::Berth;
use domain::time::{Clock, Timestamp};
use futures::{StreamExt as _, TryStreamExt as _};
use outbound::objects::{
    Area, Copied, Failure, Finished, FinishedPart, Head, Objects, Options, Patience,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::rustls::RootCertStore;
use url::Url;

use crate::support::certificates::Authority;
use crate::support::store::{file, options};
use crate::support::{Receiver, Reply, plain};

const SHORT: Duration = Duration::from_millis(300);
/// For a busy machine; well short of for ever.
const MARGIN: Duration = Duration::from_secs(5);
const TAG: &str = "\"t\"";

/// Nobody here looks at the date.
#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn learn(&self, _told: Timestamp) {}
}

const PATIENT: Patience = Patience {
    connect: Duration::from_secs(5),
    call: Duration::from_secs(15),
    slow: Duration::from_secs(15),
    chunk: SHORT,
    ping: SHORT,
};

fn at(url: &str, roots: RootCertStore, patience: Patience) -> Objects {
    let url = Url::parse(url).unwrap();
    let options = Options {
        internal: url.clone(),
        public: url,
        patience,
        ..options()
    };
    Objects::trusting(options, Arc::new(Stopped), roots).unwrap()
}

fn of(receiver: &Receiver) -> Objects {
    let url = format!("http://127.0.0.1:{}", receiver.port());
    at(&url, RootCertStore::empty(), PATIENT)
}

fn hasty(receiver: &Receiver) -> Objects {
    let url = format!("http://127.0.0.1:{}", receiver.port());
    let hasty = Patience {
        call: SHORT,
        slow: SHORT,
        ..PATIENT
    };
    at(&url, RootCertStore::empty(), hasty)
}

fn head_of(size: u64) -> Reply {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\netag: {TAG}\r\n\r\n");
    Reply::Send(head.into_bytes())
}

fn error(status: u16, code: &str) -> Reply {
    let body = format!("<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code></Error>");
    plain(status, &body)
}

fn parts() -> [FinishedPart; 1] {
    [FinishedPart {
        number: 1,
        etag: "t".to_owned(),
        checksum: None,
    }]
}

#[tokio::test]
async fn a_store_that_stumbles_is_asked_again() {
    let script = [plain(500, ""), error(503, "SlowDown"), head_of(5)];
    let receiver = Receiver::start(script).await;
    let objects = of(&receiver);
    let head = objects.head(&objects.staging(file())).await.unwrap();
    let etag = TAG.to_owned();
    assert_eq!(head, Some(Head { size: 5, etag }));
    let cut = Receiver::start([Reply::SendAndReset(Vec::new()), head_of(5)]).await;
    let objects = of(&cut);
    assert!(
        objects
            .head(&objects.staging(file()))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn a_store_that_goes_on_stumbling_is_away() {
    let receiver = Receiver::start([error(503, "ServiceUnavailable")]).await;
    let objects = of(&receiver);
    let failure = objects.delete(&objects.staging(file())).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the object store failed with status 503 (ServiceUnavailable)");
    assert!(failure.is_away());
    assert_eq!(receiver.received().len(), 5);
    // A refusal is one at once.
    let receiver = Receiver::start([error(403, "AccessDenied")]).await;
    let objects = of(&receiver);
    let failure = objects.delete(&objects.staging(file())).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the object store refused to delete an object: status 403 (AccessDenied)");
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_store_that_hangs_is_left_in_time() {
    let receiver = Receiver::start([Reply::Silence]).await;
    let objects = hasty(&receiver);
    let (key, started) = (objects.staging(file()), Instant::now());
    let late = Failure::TimedOut(SHORT);
    assert_eq!(objects.head(&key).await, Err(late.clone()));
    assert_eq!(objects.get(&key, TAG).await.unwrap_err(), late);
    assert_eq!(objects.copy(&key, &key, TAG).await, Err(late.clone()));
    let upload = objects.begin_multipart(file(), MediaType::Mp4, false).await;
    assert_eq!(upload, Err(late.clone()));
    insta::assert_snapshot!(late, @"the object store did not answer within 300 ms");
    assert_eq!(of(&receiver).ping().await, Err(late));
    assert!(started.elapsed() < SHORT * 5 + MARGIN);
}

#[tokio::test]
async fn a_download_that_is_cut_or_stalls_fails_where_it_does() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf".to_vec();
    for (reply, failure) in [
        (Reply::SendAndClose(half.clone()), Failure::Cut),
        (Reply::SendAndReset(half.clone()), Failure::Cut),
        (Reply::Send(half), Failure::TimedOut(SHORT)),
    ] {
        let receiver = Receiver::start([reply]).await;
        let objects = of(&receiver);
        let mut download = objects.get(&objects.staging(file()), TAG).await.unwrap();
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
async fn a_download_that_nobody_reads_waits_in_the_store() {
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
    let objects = at(
        &format!("http://{address}"),
        RootCertStore::empty(),
        PATIENT,
    );
    let download = objects.get(&objects.staging(file()), TAG).await.unwrap();
    let waited = tokio::time::timeout(SHORT, &mut sending).await;
    assert!(waited.is_err(), "a quarter of a gigabyte went somewhere");
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
    let receiver = Receiver::start([plain(200, late), plain(200, "<R/>")]).await;
    let objects = of(&receiver);
    let done = objects.finish_multipart(file(), "u", &parts()).await;
    assert_eq!(done, Ok(Finished::Done));
    assert_eq!(receiver.received().len(), 2);
    let sent = String::from_utf8(receiver.received()[0].body.clone()).unwrap();
    insta::assert_snapshot!(sent, @r#"<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Part><PartNumber>1</PartNumber><ETag>&quot;t&quot;</ETag></Part></CompleteMultipartUpload>"#);
    let receiver = Receiver::start([error(200, "InvalidPart")]).await;
    let refused = of(&receiver).finish_multipart(file(), "u", &parts()).await;
    assert_eq!(refused, Ok(Finished::Refused("InvalidPart".to_owned())));
    // A region that is not the store's is no fault of the parts.
    let receiver = Receiver::start([error(400, "AuthorizationQueryParametersError")]).await;
    let refused = of(&receiver).finish_multipart(file(), "u", &parts()).await;
    assert!(refused.is_err_and(|failure| failure.is_away()));
    let receiver = Receiver::start([error(200, "InternalError"), plain(200, "<R/>")]).await;
    let objects = of(&receiver);
    let (from, to) = (objects.staging(file()), objects.published(file()));
    assert_eq!(objects.copy(&from, &to, TAG).await, Ok(Copied::Done));
    let receiver = Receiver::start([error(200, "SlowDown")]).await;
    let failure = of(&receiver).copy(&from, &to, TAG).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the object store failed with status 200 (SlowDown)");
}

#[tokio::test]
async fn an_end_whose_answer_was_lost_finds_no_upload() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n<?xml".to_vec();
    let script = [Reply::SendAndClose(cut), error(404, "NoSuchUpload")];
    let receiver = Receiver::start(script).await;
    let finished = of(&receiver).finish_multipart(file(), "u", &parts()).await;
    assert_eq!(finished, Ok(Finished::NoSuchUpload));
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn pages_are_read_one_after_the_other() {
    let berth = Berth::new(1).unwrap();
    let id = "0198c0de00007000801000000000002a";
    // Without a namespace, as some stores write.
    let uploads = format!(
        "<R><IsTruncated>true</IsTruncated><NextKeyMarker>k&amp;1</NextKeyMarker>\
         <NextUploadIdMarker>u1</NextUploadIdMarker><Upload><Key>elsewhere/{id}</Key></Upload></R>"
    );
    let receiver = Receiver::start([plain(200, &uploads)]).await;
    assert_eq!(of(&receiver).list_uploads(berth).await, Ok(Vec::new()));
    // The second page led to itself: there was no third.
    let asked = receiver.received();
    assert_eq!(asked.len(), 2);
    assert!(asked[1].head.contains("key-marker=k%261&"));
    assert!(asked[1].head.contains("upload-id-marker=u1&"));
    // Some stores tell no key, and none must be told to them.
    let keyless = uploads.replace("NextKeyMarker", "Other");
    let receiver = Receiver::start([plain(200, &keyless), plain(200, "<R/>")]).await;
    assert_eq!(of(&receiver).list_uploads(berth).await, Ok(Vec::new()));
    let asked = receiver.received();
    assert!(asked[1].head.contains("upload-id-marker=u1&"));
    assert!(!asked[1].head.contains("key-marker="));
    let listing = "<R><IsTruncated>true</IsTruncated>\
                   <NextContinuationToken>n=1</NextContinuationToken></R>";
    let receiver = Receiver::start([plain(200, listing)]).await;
    let page = of(&receiver).list(Area::Staging, berth, Some("m/0")).await;
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
    let receiver = Receiver::start([plain(200, parts), plain(200, rest)]).await;
    let parts = of(&receiver).parts(file(), "u").await.unwrap().unwrap();
    let sizes: Vec<u64> = parts.iter().map(|part| part.size).collect();
    assert_eq!(sizes, [5, 6]);
}

#[tokio::test]
async fn what_cannot_be_read_is_not_guessed() {
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><x>&b;</x>";
    for body in ["", "not XML", "<R>", bomb, "<R><Contents><Key/></Contents>"] {
        let receiver = Receiver::start([plain(200, body)]).await;
        let objects = of(&receiver);
        let listed = objects.list(Area::Staging, Berth::new(1).unwrap(), None);
        let unreadable = Failure::Unreadable("list objects");
        assert_eq!(listed.await, Err(unreadable), "{body}");
    }
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n".to_vec();
    let receiver = Receiver::start([Reply::Send(head)]).await;
    let objects = of(&receiver);
    let failure = objects.head(&objects.staging(file())).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the object store answered what cannot be read, asked to look at an object");
    let flood = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let receiver = Receiver::start([Reply::Flood(flood, vec![b' '; 1 << 20])]).await;
    let objects = hasty(&receiver);
    let listed = objects.list(Area::Staging, Berth::new(1).unwrap(), None);
    assert!(listed.await.unwrap_err().is_away());
}

#[tokio::test]
async fn a_store_that_is_not_there_is_away() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let objects = at(
        &format!("http://{address}"),
        RootCertStore::empty(),
        PATIENT,
    );
    let failure = objects.head(&objects.staging(file())).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the object store cannot be reached: connection refused");
    assert!(failure.is_away());
}

#[tokio::test]
async fn a_store_behind_tls_shows_a_certificate_that_is_trusted() {
    let authority = Authority::new();
    let acceptor = authority.acceptor(&["127.0.0.1"]);
    let receiver = Receiver::listen("127.0.0.1", Some(acceptor), [head_of(7)]).await;
    let url = format!("https://127.0.0.1:{}", receiver.port());
    let objects = at(&url, authority.roots(), PATIENT);
    let head = objects.head(&objects.staging(file())).await.unwrap();
    assert_eq!(head.unwrap().size, 7);
    let stranger = at(&url, Authority::new().roots(), PATIENT);
    let failure = stranger.head(&objects.staging(file())).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the object store cannot be reached: TLS failed");
}
