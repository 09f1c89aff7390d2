//! Bodies count for the budget as long as they are in memory, and never stand still.

use super::super::*;
use super::slow_clients::{SHORT_TIMEOUT, read_to_end, start, strict};

fn post(path: &str, length: usize) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    head.into_bytes()
}

#[tokio::test]
async fn a_body_that_stands_still_ends() {
    let edge = start(Options {
        body_idle_timeout: SHORT_TIMEOUT,
        ..strict()
    });
    let mut request = post("/length", 10 << 20);
    // Much of it came fast, so its deadline is far.
    request.resize(request.len() + (1 << 20), b'x');
    let answer = read_to_end(edge.send(&request).await).await;
    assert!(answer.contains("TimedOut"), "{answer}");
}

#[tokio::test]
async fn a_large_buffered_body_counts_in_full() {
    let edge = start(Options {
        body_budget: 33 << 20,
        ..strict()
    });
    let mut request = post("/length", 36 << 20);
    request.resize(request.len() + (36 << 20), b'x');
    let answer = read_to_end(edge.send(&request).await).await;
    assert!(answer.contains("QuotaExceeded"), "{answer}");
}

#[tokio::test]
async fn a_streamed_body_counts_only_while_it_is_in_memory() {
    let edge = start(Options {
        body_budget: 1 << 20,
        ..strict()
    });
    for (path, expected) in [
        ("/length", "QuotaExceeded"),
        ("/stream", "received 8388608"),
    ] {
        let mut request = post(path, 8 << 20);
        request.resize(request.len() + (8 << 20), b'x');
        let answer = read_to_end(edge.send(&request).await).await;
        assert!(answer.contains(expected), "{path}: {answer}");
    }
    edge.until(|it| it.body_budget.used() == 0).await;
}
