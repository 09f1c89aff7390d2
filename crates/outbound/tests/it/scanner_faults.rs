//! A scanner that is absent, hangs up early, or says what nobody understands.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use outbound::scanner::{Address, ScanFailure, Scanner, Verdict};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const AMPLE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

fn at(address: SocketAddr, timeout: Duration) -> Scanner {
    Scanner::new(Address::Tcp(address.to_string()), timeout)
}

/// When a scanner of a test's own says its words.
#[derive(Debug, Clone, Copy)]
enum Says {
    /// When the stream has ended.
    AtTheEnd,
    /// After the first bytes, and hangs up with the rest unread.
    Early,
}

/// Answers one connection so, then no other.
async fn saying(words: &'static [u8], when: Says) -> Scanner {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut tcp, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        loop {
            let read = tcp.read_buf(&mut heard).await.unwrap();
            let enough = match when {
                Says::AtTheEnd => heard.ends_with(&[0; 4]),
                Says::Early => heard.len() > 100,
            };
            if enough || read == 0 {
                break;
            }
        }
        let _ = tcp.write_all(words).await;
    });
    at(address, AMPLE)
}

async fn scan(scanner: &Scanner) -> Result<Verdict, ScanFailure> {
    let mut scanning = scanner.begin().await?;
    scanning.feed(Bytes::from_static(b"oranges")).await?;
    scanning.verdict().await
}

/// Far more than a socket holds.
async fn scan_much(scanner: &Scanner) -> Result<Verdict, ScanFailure> {
    let mut scanning = scanner.begin().await?;
    for _ in 0..64 {
        scanning.feed(vec![0; 1 << 20].into()).await?;
    }
    assert!(scanning.is_answered());
    scanning.verdict().await
}

fn unclear(words: &str) -> Result<Verdict, ScanFailure> {
    Err(ScanFailure::Unclear(words.to_owned()))
}

#[tokio::test]
async fn a_scanner_that_is_not_there_is_away() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let scanner = at(address, AMPLE);
    let away = ScanFailure::Away("connection refused");
    assert_eq!(scan(&scanner).await, Err(away.clone()));
    assert_eq!(scanner.ping().await, Err(away));
    let failure = scanner.probe().await.unwrap_err();
    assert!(failure.away);
    insta::assert_snapshot!(failure, @"the scanner must answer: the scanner cannot be reached: connection refused");
    let nowhere = Scanner::new(Address::Unix("/nowhere/clamd.sock".into()), AMPLE);
    let away = ScanFailure::Away("no such socket");
    assert_eq!(scan(&nowhere).await, Err(away));
}

#[tokio::test]
async fn a_scanner_that_never_takes_a_connection_up_is_left_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let scanner = at(listener.local_addr().unwrap(), SHORT);
    let late = ScanFailure::Timeout(SHORT);
    assert_eq!(scan(&scanner).await, Err(late.clone()));
    assert_eq!(scanner.ping().await, Err(late));
}

#[tokio::test]
async fn half_a_line_is_no_verdict() {
    let broken = unclear("it broke off the connection");
    for words in [&b""[..], b"stream: O", b"stream: OK", b"stream: OK\n"] {
        let scanner = saying(words, Says::AtTheEnd).await;
        assert_eq!(scan(&scanner).await, broken, "{words:?}");
    }
    let whole = saying(b"stream: OK\0", Says::AtTheEnd).await;
    assert_eq!(scan(&whole).await, Ok(Verdict::Clean));
}

#[tokio::test]
async fn words_that_are_no_verdict_are_none() {
    let scanner = saying(b"stream: Can't open file ERROR\0", Says::AtTheEnd).await;
    let told = unclear("stream: Can't open file ERROR");
    assert_eq!(scan(&scanner).await, told);
    let scanner = saying(&[b'x'; 10_000], Says::AtTheEnd).await;
    assert_eq!(scan(&scanner).await, unclear("it broke off the connection"));
    let scanner = saying(b"PANG\0", Says::Early).await;
    assert!(scan_much(&scanner).await.is_err());
}

#[tokio::test]
async fn what_is_said_before_the_end_is_heard() {
    let scanner = saying(b"stream: Bad.Orange FOUND\0", Says::Early).await;
    let found = Verdict::Infected("Bad.Orange".to_owned());
    assert_eq!(scan_much(&scanner).await, Ok(found));
    let scanner = saying(b"INSTREAM size limit exceeded. ERROR\0", Says::Early).await;
    assert_eq!(scan_much(&scanner).await, Ok(Verdict::LimitExceeded));
    let limit = b"stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND\0";
    let scanner = saying(limit, Says::Early).await;
    assert_eq!(scan_much(&scanner).await, Ok(Verdict::LimitExceeded));
}

#[tokio::test]
async fn nothing_is_clean_before_its_end_was_seen() {
    let scanner = saying(b"stream: OK\0", Says::Early).await;
    assert_eq!(scan_much(&scanner).await, unclear("clean before the end"));
}

#[tokio::test]
async fn a_scanner_that_hangs_up_without_a_word_gives_no_verdict() {
    let scanner = saying(b"", Says::Early).await;
    let mut scanning = scanner.begin().await.unwrap();
    let fed = async {
        loop {
            if let Err(failure) = scanning.feed(vec![0; 1 << 20].into()).await {
                break failure;
            }
        }
    };
    let broken = ScanFailure::Unclear("it broke off the connection".to_owned());
    assert_eq!(fed.await, broken);
}
