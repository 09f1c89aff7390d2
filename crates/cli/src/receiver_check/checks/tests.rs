//! Tests of the checks for slow and unexpected callbacks.

use client::transport::Transport;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Reads one request to its end, and answers by its body.
async fn answer(mut connection: TcpStream, decide: fn(&str) -> u16) -> Option<()> {
    let mut text = String::new();
    loop {
        let mut piece = [0; 4096];
        let count = connection.read(&mut piece).await.ok()?;
        text.push_str(std::str::from_utf8(piece.get(..count)?).ok()?);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.parse::<usize>().ok()).flatten()
        });
        if length.is_some_and(|length| body.len() >= length) {
            let status = decide(body);
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
            connection.write_all(head.as_bytes()).await.ok()?;
            text.clear();
        }
        if count == 0 {
            return Some(());
        }
    }
}

/// The rows of the checks for slow and unexpected callbacks.
async fn check(decide: fn(&str) -> u16) -> Vec<(String, CheckOutcome)> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(answer(connection, decide));
        }
    });
    let probe = ReceiverProbe {
        transport: Transport::new().unwrap(),
        url: url.parse().unwrap(),
        secret: None,
        now: 1_763_240_000,
        slow_pause: Duration::ZERO,
    };
    let mut checks = ReceiverChecks::new(probe, None);
    checks.check_slow().await;
    checks.check_not_expected().await;
    let rows = checks.rows.into_iter();
    rows.map(|row| (row.name, row.outcome)).collect()
}

fn named(outcomes: [CheckOutcome; 3]) -> Vec<(String, CheckOutcome)> {
    let names = ["slow", "unknown cargo_id", "completed group"].map(str::to_owned);
    names.into_iter().zip(outcomes).collect()
}

#[tokio::test]
async fn a_receiver_may_refuse_what_it_does_not_know() {
    let rows = check(|body| {
        if body.contains("crg_ffff") || body.contains("group.completed") {
            404
        } else {
            204
        }
    });
    assert_eq!(rows.await, named([CheckOutcome::Passed; 3]));
}

#[tokio::test]
async fn a_receiver_that_breaks_on_them_is_found() {
    let rows = check(|body| if body.contains("slow") { 400 } else { 500 });
    assert_eq!(rows.await, named([CheckOutcome::Failed; 3]));
}
