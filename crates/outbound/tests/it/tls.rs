//! Secured callbacks: who is trusted, under which name, and what is told when not.

use std::sync::Arc;

use outbound::callback::{Callbacks, Options, Surroundings};
use tokio_rustls::TlsAcceptor;

use crate::support::certificates::Authority;
use crate::support::{AMPLE, Names, OPENED, Receiver, Reply, error, plain, post};

fn trusting(authority: &Authority) -> Callbacks {
    let resolver = Arc::new(Names::answering(&[&["127.0.0.1"]]));
    let surroundings = Surroundings {
        resolver,
        roots: authority.roots(),
    };
    let options = Options {
        timeout: AMPLE,
        allow: vec![OPENED.parse().unwrap()],
    };
    Callbacks::within(options, surroundings).unwrap()
}

async fn secured(acceptor: TlsAcceptor, reply: Reply) -> Receiver {
    Receiver::listen("127.0.0.1", Some(acceptor), [reply]).await
}

#[tokio::test]
async fn a_trusted_receiver_is_called_by_its_name_over_http_1() {
    let authority = Authority::new();
    let receiver = secured(authority.acceptor(&["receiver.test"]), plain(200, "ok")).await;
    let client = trusting(&authority);
    for host in ["receiver.test", "RECEIVER.test", "receiver.test"] {
        let attempt = post(&client, &format!("https://{host}:{}/x", receiver.port())).await;
        assert!(attempt.is_success(), "{attempt:?}");
    }
    let request = &receiver.received()[0];
    assert!(request.head.starts_with("POST /x HTTP/1.1\r\n"));
    assert_eq!(request.server_name.as_deref(), Some("receiver.test"));
    assert_eq!((receiver.connections(), receiver.received().len()), (1, 3));
}

#[tokio::test]
async fn the_dot_of_the_root_is_not_part_of_the_name() {
    let authority = Authority::new();
    let receiver = secured(authority.acceptor(&["receiver.test"]), plain(200, "")).await;
    let url = format!("https://receiver.test.:{}/", receiver.port());
    let attempt = post(&trusting(&authority), &url).await;
    assert!(attempt.is_success(), "{attempt:?}");
}

#[tokio::test]
async fn an_address_needs_a_certificate_of_its_own() {
    let authority = Authority::new();
    let client = trusting(&authority);
    let receiver = secured(authority.acceptor(&["127.0.0.1"]), plain(200, "")).await;
    let attempt = post(&client, &format!("https://127.0.0.1:{}/", receiver.port())).await;
    assert!(attempt.is_success(), "{attempt:?}");
    let named = secured(authority.acceptor(&["receiver.test"]), plain(200, "")).await;
    let attempt = post(&client, &format!("https://127.0.0.1:{}/", named.port())).await;
    assert_eq!(
        error(&attempt),
        "TLS failed: certificate is for another name"
    );
}

#[tokio::test]
async fn who_is_not_trusted_gets_nothing() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let client = trusting(&authority);
    for (acceptor, text) in [
        (
            stranger.acceptor(&["receiver.test"]),
            "TLS failed: certificate is not trusted",
        ),
        (
            authority.expired(&["receiver.test"]),
            "TLS failed: certificate has expired",
        ),
        (
            authority.acceptor(&["other.test"]),
            "TLS failed: certificate is for another name",
        ),
    ] {
        let receiver = secured(acceptor, plain(200, "")).await;
        let url = format!("https://receiver.test:{}/", receiver.port());
        let attempt = post(&client, &url).await;
        assert_eq!((error(&attempt), attempt.status), (text, None));
        assert!(receiver.received().is_empty());
    }
}

#[tokio::test]
async fn a_receiver_that_speaks_no_tls_is_told_as_such() {
    let client = trusting(&Authority::new());
    let plain_talker = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "https://receiver.test:{}/",
        plain_talker.local_addr().unwrap().port()
    );
    let talk = async {
        use tokio::io::AsyncWriteExt as _;
        let (mut tcp, _) = plain_talker.accept().await.unwrap();
        tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        tcp
    };
    let (attempt, _open) = tokio::join!(post(&client, &url), talk);
    insta::assert_snapshot!(error(&attempt), @"TLS failed: received corrupt message of type InvalidContentType");
    let hang_up = async { drop(plain_talker.accept().await.unwrap()) };
    let (attempt, ()) = tokio::join!(post(&client, &url), hang_up);
    insta::assert_snapshot!(error(&attempt), @"TLS failed: connection closed");
}

#[tokio::test]
async fn a_server_may_leave_tls_without_a_word() {
    let authority = Authority::new();
    let answer = b"HTTP/1.1 200 OK\r\n\r\nwhole".to_vec();
    let acceptor = authority.acceptor(&["receiver.test"]);
    let receiver = secured(acceptor, Reply::SendAndClose(answer)).await;
    let url = format!("https://receiver.test:{}/", receiver.port());
    let attempt = post(&trusting(&authority), &url).await;
    assert!(attempt.is_success(), "{attempt:?}");
    assert_eq!(attempt.answer.as_ref(), b"whole");
}
