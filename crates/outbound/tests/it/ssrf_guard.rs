//! The SSRF guard: no connection is opened to a forbidden address.

use std::sync::Arc;

use domain::ssrf_guard::DestinationRules;
use outbound::callback::SystemResolver;
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};

use crate::support::{
    ALLOWED_RANGE, LONG_TIMEOUT, ScriptedResolver, attempt_error, client, client_with,
    client_with_rules, post,
};

/// Spellings of one listener outside the allowed range.
const FORBIDDEN_HOSTS: [&str; 10] = [
    "127.9.9.9",
    "[::ffff:127.9.9.9]",
    "2131298569",
    "0x7f.9.9.9",
    "0177.011.011.011",
    "127.592137",
    "127.9.9.9.",
    "１２７.９.９.９",
    "%31%32%37.9.9.9",
    "[::ffff:7f09:909]",
];

#[tokio::test]
async fn a_forbidden_address_is_never_called_in_any_spelling() {
    let receiver = ScriptedReceiver::listen("127.9.9.9", None, [plain_reply(200, "")]).await;
    let client = client();
    for host in FORBIDDEN_HOSTS {
        for scheme in ["http", "https"] {
            let attempt = post(&client, &format!("{scheme}://{host}:{}/", receiver.port())).await;
            assert_eq!(
                (attempt_error(&attempt), attempt.status),
                ("address is not allowed", None),
                "{host}"
            );
        }
    }
    assert_eq!(receiver.connections(), 0);
    // With a wider range the same spellings reach the listener.
    let opened = client_with(
        LONG_TIMEOUT,
        &["127.0.0.0/8"],
        Arc::new(ScriptedResolver::empty()),
    );
    for host in FORBIDDEN_HOSTS {
        let attempt = post(&opened, &format!("http://{host}:{}/", receiver.port())).await;
        assert!(attempt.is_success(), "{host}: {attempt:?}");
    }
    // The pool sees two hosts: the IPv4 spellings are one, the IPv6 spellings another.
    assert_eq!((receiver.connections(), receiver.received().len()), (2, 10));
}

#[tokio::test]
async fn without_an_opened_range_loopback_is_not_called() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let closed = client_with(LONG_TIMEOUT, &[], Arc::new(SystemResolver::default()));
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "0",
        "0.0.0.0",
        "[::]",
    ] {
        let attempt = post(&closed, &format!("http://{host}:{}/", receiver.port())).await;
        assert_eq!(attempt_error(&attempt), "address is not allowed", "{host}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_name_with_an_allowed_and_a_refused_address_is_not_called_at_all() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    for answer in [
        &["127.0.0.1", "10.0.0.1"][..],
        &["10.0.0.1", "127.0.0.1"],
        &["127.0.0.1", "127.0.0.1", "::1"],
        &["127.0.0.1", "::ffff:127.9.9.9"],
        &["127.0.0.1", "8.8.8.8", "169.254.169.254"],
    ] {
        let names = Arc::new(ScriptedResolver::answering(&[answer]));
        let client = client_with(LONG_TIMEOUT, &[ALLOWED_RANGE], names);
        let attempt = post(&client, &format!("http://mixed.test:{}/", receiver.port())).await;
        assert_eq!(
            attempt_error(&attempt),
            "address is not allowed",
            "{answer:?}"
        );
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_name_whose_address_changes_is_vetted_at_every_connection() {
    let receiver = ScriptedReceiver::listen("127.9.9.9", None, [plain_reply(200, "")]).await;
    let close = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec();
    let allowed = ScriptedReceiver::start([ScriptedReply::Send(close)]).await;
    let names = Arc::new(ScriptedResolver::answering(
        &[&["127.0.0.1"][..], &["127.9.9.9"]].repeat(100),
    ));
    let client = client_with(LONG_TIMEOUT, &[ALLOWED_RANGE], Arc::clone(&names) as _);
    for round in 0..100 {
        let url = format!("http://rebinding.test:{}/", allowed.port());
        assert!(post(&client, &url).await.is_success(), "{round}");
        let attempt = post(&client, &url).await;
        assert_eq!(attempt_error(&attempt), "address is not allowed", "{round}");
    }
    assert_eq!((names.lookups(), receiver.connections()), (200, 0));
}

#[tokio::test]
async fn a_kept_connection_leads_where_it_was_vetted_to() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let names = Arc::new(ScriptedResolver::answering(&[
        &["127.0.0.1"],
        &["10.0.0.1"],
    ]));
    let client = client_with(LONG_TIMEOUT, &[ALLOWED_RANGE], Arc::clone(&names) as _);
    for _ in 0..10 {
        let url = format!("http://moving.test:{}/", receiver.port());
        assert!(post(&client, &url).await.is_success());
    }
    assert_eq!((names.lookups(), receiver.connections()), (1, 1));
}

#[tokio::test]
async fn a_name_without_addresses_is_reported() {
    let attempt = post(&client(), "http://nowhere.test/").await;
    assert_eq!(
        (attempt_error(&attempt), attempt.status),
        ("could not resolve host", None)
    );
}

#[tokio::test]
async fn the_system_resolves_names() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let client = client_with(
        LONG_TIMEOUT,
        &["127.0.0.0/8", "::1/128"],
        Arc::new(SystemResolver::default()),
    );
    let url = format!("http://localhost:{}/", receiver.port());
    let posts = futures::future::join_all((0..20).map(|_| post(&client, &url))).await;
    assert!(
        posts
            .iter()
            .all(outbound::callback::CallbackAttempt::is_success),
        "{posts:?}"
    );
}

#[tokio::test]
async fn low_the_operator_denies_addresses_hosts_and_ports() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "")]).await;
    let port = receiver.port();
    let post_under = async |rules: DestinationRules, host: &str| {
        let resolver = ScriptedResolver::answering(&[&["127.0.0.1"]]);
        let client = client_with_rules(LONG_TIMEOUT, &[ALLOWED_RANGE], Arc::new(resolver), rules);
        post(&client, &format!("http://{host}:{port}/")).await
    };
    let addresses = || DestinationRules {
        denied_ranges: vec!["127.0.0.1/32".parse().unwrap()],
        ..DestinationRules::default()
    };
    let hosts = || DestinationRules {
        denied_hosts: vec!["corp.example".to_owned()],
        ..DestinationRules::default()
    };
    let ports = |port| DestinationRules {
        allowed_ports: vec![port..=port],
        ..DestinationRules::default()
    };
    for (rules, host, error) in [
        (addresses(), "127.0.0.1", "address is not allowed"),
        (addresses(), "a.corp.example", "address is not allowed"),
        (hosts(), "a.corp.example", "host is not allowed"),
        (hosts(), "A.CORP.example.", "host is not allowed"),
        (ports(1), "127.0.0.1", "port is not allowed"),
    ] {
        let attempt = post_under(rules, host).await;
        assert_eq!(attempt_error(&attempt), error, "{host}");
    }
    assert_eq!(receiver.connections(), 0);
    for (rules, host) in [(hosts(), "127.0.0.1"), (ports(port), "a.corp.example")] {
        let attempt = post_under(rules, host).await;
        assert!(attempt.is_success(), "{host}: {attempt:?}");
    }
}
