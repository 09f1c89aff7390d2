//! Callbacks over TLS: trusted certificates, names, and the errors that callers see.

use std::sync::Arc;

use domain::callback_url::AllowedSchemes;
use outbound::callback::{CallbackDeps, HttpCallbackClient, Options};
use test_support::certificates::TestAuthority;
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};
use tokio_rustls::TlsAcceptor;

use crate::support::{ALLOWED_RANGE, LONG_TIMEOUT, ScriptedResolver, attempt_error, post};

fn client_trusting(authority: &TestAuthority) -> HttpCallbackClient {
    let resolver = Arc::new(ScriptedResolver::answering(&[&["127.0.0.1"]]));
    let deps = CallbackDeps {
        resolver,
        roots: authority.roots(),
    };
    let options = Options {
        timeout: LONG_TIMEOUT,
        allowed_ranges: vec![ALLOWED_RANGE.parse().unwrap()],
        schemes: AllowedSchemes::HttpsOnly,
        rules: <_>::default(),
    };
    HttpCallbackClient::with_deps(options, deps).unwrap()
}

async fn tls_receiver(acceptor: TlsAcceptor, reply: ScriptedReply) -> ScriptedReceiver {
    ScriptedReceiver::listen("127.0.0.1", Some(acceptor), [reply]).await
}

#[tokio::test]
async fn a_trusted_receiver_is_called_by_its_name_over_http_1() {
    let authority = TestAuthority::generate();
    let receiver = tls_receiver(
        authority.acceptor(&["receiver.test"]),
        plain_reply(200, "ok"),
    )
    .await;
    let client = client_trusting(&authority);
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
async fn plain_http_is_not_called_where_only_https_is_allowed() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let client = client_trusting(&TestAuthority::generate());
    for url in [
        receiver.url(),
        format!("HTTP://receiver.test:{}/", receiver.port()),
    ] {
        let attempt = post(&client, &url).await;
        assert_eq!(
            attempt_error(&attempt),
            "not sent: plain http callbacks are not delivered in production; \
             load again with an https callback_url"
        );
        assert_eq!(attempt.status, None);
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn the_dot_of_the_root_is_not_part_of_the_name() {
    let authority = TestAuthority::generate();
    let receiver = tls_receiver(authority.acceptor(&["receiver.test"]), plain_reply(200, "")).await;
    let url = format!("https://receiver.test.:{}/", receiver.port());
    let attempt = post(&client_trusting(&authority), &url).await;
    assert!(attempt.is_success(), "{attempt:?}");
}

#[tokio::test]
async fn an_address_needs_a_certificate_of_its_own() {
    let authority = TestAuthority::generate();
    let client = client_trusting(&authority);
    let receiver = tls_receiver(authority.acceptor(&["127.0.0.1"]), plain_reply(200, "")).await;
    let attempt = post(&client, &format!("https://127.0.0.1:{}/", receiver.port())).await;
    assert!(attempt.is_success(), "{attempt:?}");
    let named = tls_receiver(authority.acceptor(&["receiver.test"]), plain_reply(200, "")).await;
    let attempt = post(&client, &format!("https://127.0.0.1:{}/", named.port())).await;
    assert_eq!(
        attempt_error(&attempt),
        "TLS failed: certificate is for another name"
    );
}

#[tokio::test]
async fn an_untrusted_receiver_gets_nothing() {
    let (authority, untrusted) = (TestAuthority::generate(), TestAuthority::generate());
    let client = client_trusting(&authority);
    for (acceptor, text) in [
        (
            untrusted.acceptor(&["receiver.test"]),
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
        let receiver = tls_receiver(acceptor, plain_reply(200, "")).await;
        let url = format!("https://receiver.test:{}/", receiver.port());
        let attempt = post(&client, &url).await;
        assert_eq!((attempt_error(&attempt), attempt.status), (text, None));
        assert!(receiver.received().is_empty());
    }
}

#[tokio::test]
async fn a_receiver_without_tls_is_reported() {
    let client = client_trusting(&TestAuthority::generate());
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
    insta::assert_snapshot!(attempt_error(&attempt), @"TLS failed: received corrupt message of type InvalidContentType");
    let hang_up = async { drop(plain_talker.accept().await.unwrap()) };
    let (attempt, ()) = tokio::join!(post(&client, &url), hang_up);
    insta::assert_snapshot!(attempt_error(&attempt), @"TLS failed: connection closed");
}

#[tokio::test]
async fn a_server_may_leave_tls_without_a_word() {
    let authority = TestAuthority::generate();
    let answer = b"HTTP/1.1 200 OK\r\n\r\nwhole".to_vec();
    let acceptor = authority.acceptor(&["receiver.test"]);
    let receiver = tls_receiver(acceptor, ScriptedReply::SendAndClose(answer)).await;
    let url = format!("https://receiver.test:{}/", receiver.port());
    let attempt = post(&client_trusting(&authority), &url).await;
    assert!(attempt.is_success(), "{attempt:?}");
    assert_eq!(attempt.response_excerpt.as_ref(), b"whole");
}
