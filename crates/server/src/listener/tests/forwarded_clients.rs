//! Clients behind a trusted proxy: their requests count for their own address.

use super::super::*;
use super::slow_clients::{read_to_end, start, strict};

/// The peer of these tests is a trusted proxy, and one client may have two requests in progress.
fn behind_proxy() -> Options {
    Options {
        max_connections_per_address: 2,
        trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()],
        ..strict()
    }
}

fn request(path: &str, forwarded: &[&str]) -> Vec<u8> {
    let mut request = format!("GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n");
    for line in forwarded {
        request.extend(["x-forwarded-for: ", line, "\r\n"]);
    }
    (request + "\r\n").into_bytes()
}

#[tokio::test]
async fn h6_one_client_behind_a_proxy_has_its_share_of_requests() {
    let edge = start(behind_proxy());
    // The client invents the first address and a line of its own; the proxy adds the last one.
    let busy = [
        edge.send(&request("/wait", &["192.0.2.7"])).await,
        edge.send(&request(
            "/wait",
            &["198.51.100.1", "203.0.113.9, 192.0.2.7"],
        ))
        .await,
    ];
    edge.until_busy(2).await;
    edge.until(|it| it.forwarded_requests.running() == 2).await;
    let refused = edge.send(&request("/", &["127.9.9.9, 192.0.2.7"])).await;
    let refused = read_to_end(refused).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("retry-after: 1\r\n"), "{refused}");
    assert!(refused.contains("from your address"), "{refused}");
    // Other clients of the same proxy, and the proxy's own health checks, are answered.
    for other in [&["192.0.2.8"][..], &["192.0.2.7, 192.0.2.8"], &[]] {
        let answer = read_to_end(edge.send(&request("/", other)).await).await;
        assert!(answer.ends_with("quick"), "{other:?}: {answer}");
    }
    edge.gate.add_permits(2);
    for busy in busy {
        assert!(read_to_end(busy).await.ends_with("waited"));
    }
    edge.until(|it| it.forwarded_requests.running() == 0).await;
    let answer = edge.send(&request("/", &["192.0.2.7"])).await;
    assert!(read_to_end(answer).await.ends_with("quick"));
}

#[tokio::test]
async fn h6_an_untrusted_peer_cannot_use_up_the_share_of_another_client() {
    let edge = start(Options {
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        ..behind_proxy()
    });
    let busy = edge.send(&request("/wait", &["192.0.2.7"])).await;
    edge.until_busy(1).await;
    assert_eq!(edge.served.context.forwarded_requests.running(), 0);
    edge.gate.add_permits(1);
    assert!(read_to_end(busy).await.ends_with("waited"));
}

#[tokio::test]
async fn m5_a_client_cannot_choose_its_address() {
    let (behind_proxy, direct) = (start(behind_proxy()), start(strict()));
    let invented = ["203.0.113.9", "203.0.113.9, 192.0.2.7, 127.0.0.2"];
    for (edge, forwarded, expected) in [
        (&behind_proxy, &invented[..], "192.0.2.7"),
        (&behind_proxy, &[], "127.0.0.1"),
        (&direct, &["192.0.2.7"], "127.0.0.1"),
    ] {
        let answer = edge.send(&request("/address", forwarded)).await;
        let answer = read_to_end(answer).await;
        let expected = format!("\r\n\r\n{expected}");
        assert!(answer.ends_with(&expected), "{forwarded:?}: {answer}");
    }
}

#[tokio::test]
async fn only_a_trusted_peer_is_a_proxy() {
    let elsewhere = Options {
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        ..behind_proxy()
    };
    for (edge, expected) in [
        (start(behind_proxy()), "proxied: true"),
        (start(elsewhere), "proxied: false"),
    ] {
        let answer = read_to_end(edge.send(&request("/proxied", &["10.0.0.1"])).await).await;
        assert!(answer.ends_with(expected), "{answer}");
    }
}
