//! Scanners that are away, slow, unclear or short of breath: nothing is ready without a clean.

use std::time::Duration;

use domain::file::MediaType;
use outbound::scanner::{Address, Scanner};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use workers::Files;

use crate::files_scan::world::{World, connect, scanner_at};
use crate::files_scan::{READY, samples};

const WAITING: &str = "validating - pending";
const TIMED_OUT: &str = "failed scan_timeout timeout";

/// A scanner of the test's own.
#[derive(Debug, Clone, Copy)]
struct Fake {
    /// To a ping; nothing is silence.
    pong: &'static [u8],
    /// To a whole stream; nothing is silence.
    verdict: &'static [u8],
}

impl Fake {
    /// Port 0 is any.
    async fn listen(self, at: &str) -> String {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((caller, _)) = listener.accept().await {
                tokio::spawn(self.serve(caller));
            }
        });
        address
    }

    async fn serve(self, mut caller: TcpStream) {
        let mut heard = Vec::new();
        // The end of a stream, or of a ping.
        while !heard.ends_with(b"\0\0\0\0") && !heard.ends_with(b"zPING\0") {
            if caller.read_buf(&mut heard).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let answer = if heard.ends_with(b"zPING\0") {
            self.pong
        } else {
            self.verdict
        };
        if answer.is_empty() {
            std::future::pending::<()>().await;
        }
        caller.write_all(answer).await.unwrap();
    }
}

async fn world_with(fake: Fake) -> World {
    let address = Address::Tcp(fake.listen("127.0.0.1:0").await);
    let scanner = Scanner::new(address, Duration::from_millis(300));
    World::with(|files| Files { scanner, ..files }).await
}

#[tokio::test]
async fn without_a_scanner_a_file_waits_and_then_becomes_ready() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let scanner = scanner_at(&address);
    let mut world = World::with(|files| Files { scanner, ..files }).await;
    let file = world.uploaded(&samples::text(100), MediaType::Text).await;
    for _ in 0..5 {
        world.scan().await;
        assert_eq!(world.status(&file).await, WAITING);
        world.clock.advance(Duration::from_mins(1));
    }
    let clean = Fake {
        pong: b"PONG\0",
        verdict: b"stream: OK\0",
    };
    clean.listen(&address).await;
    world.scan().await;
    assert_eq!(world.status(&file).await, READY);
}

#[tokio::test]
async fn a_file_is_not_looked_at_before_it_is_due() {
    let scanner = scanner_at("127.0.0.1:1");
    let mut world = World::with(|files| Files { scanner, ..files }).await;
    let file = world.uploaded(&samples::text(100), MediaType::Text).await;
    world.scan().await;
    let due = "select due_at > completed_at from shard.file";
    let due = sqlx::query_scalar::<_, bool>(due);
    assert!(due.fetch_one(&world.shard.pool).await.unwrap());
    world.clock.advance(Duration::from_hours(24));
    world.scan().await;
    assert_eq!(world.status(&file).await, TIMED_OUT);
    assert_eq!(world.stored().await, (0, 0));
}

#[tokio::test]
async fn a_scanner_that_never_answers_a_file_has_three_tries() {
    let mut world = world_with(Fake {
        pong: b"PONG\0",
        verdict: b"",
    })
    .await;
    let file = world.uploaded(&samples::text(100), MediaType::Text).await;
    for _ in 0..2 {
        world.scan().await;
        assert_eq!(world.status(&file).await, WAITING);
        world.clock.advance(Duration::from_mins(1));
    }
    world.scan().await;
    assert_eq!(world.status(&file).await, TIMED_OUT);
}

#[tokio::test]
async fn a_scanner_that_is_frozen_is_waited_for() {
    let mut world = world_with(Fake {
        pong: b"",
        verdict: b"",
    })
    .await;
    let file = world.uploaded(&samples::text(100), MediaType::Text).await;
    for _ in 0..4 {
        world.scan().await;
        assert_eq!(world.status(&file).await, WAITING);
        world.clock.advance(Duration::from_mins(1));
    }
}

#[tokio::test]
async fn nothing_but_an_explicit_clean_is_clean() {
    let answers: [&[u8]; 6] = [
        b"stream: O",
        b"stream: OK",
        b"stream: Can't allocate memory ERROR\0",
        b"OK\0",
        b"COMMAND READ TIMED OUT\0",
        b"\0",
    ];
    for verdict in answers {
        let mut world = world_with(Fake {
            pong: b"PONG\0",
            verdict,
        })
        .await;
        let file = world.uploaded(&samples::text(100), MediaType::Text).await;
        for _ in 0..3 {
            world.scan().await;
            world.clock.advance(Duration::from_mins(1));
        }
        let said = String::from_utf8_lossy(verdict);
        assert_eq!(world.status(&file).await, TIMED_OUT, "{said}");
        assert_eq!(world.stored().await, (0, 0), "{said}");
    }
}

#[tokio::test]
async fn what_the_scanner_does_not_look_at_whole_fails() {
    let answers: [&[u8]; 2] = [
        b"INSTREAM size limit exceeded. ERROR\0",
        b"stream: Heuristics.Limits.Exceeded.MaxScanSize FOUND\0",
    ];
    for verdict in answers {
        let mut world = world_with(Fake {
            pong: b"PONG\0",
            verdict,
        })
        .await;
        let file = world.uploaded(&samples::text(100), MediaType::Text).await;
        world.scan().await;
        assert_eq!(
            world.status(&file).await,
            "failed scan_limit_exceeded error"
        );
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_waited_for() {
    let mut world = World::new().await;
    let file = world.uploaded(&samples::text(100), MediaType::Text).await;
    let nowhere = "http://127.0.0.1:1/".parse().unwrap();
    let objects = connect(&world.options, &nowhere).await;
    let mut crew = world.another_crew(|files| Files { objects, ..files }).await;
    let now = world.now();
    crew.scan.settle(now).await.unwrap();
    assert_eq!(world.status(&file).await, WAITING);
    world.clock.advance(Duration::from_secs(1));
    world.scan().await;
    assert_eq!(world.status(&file).await, READY);
}

#[tokio::test]
async fn a_probe_that_cannot_be_started_is_our_failure() {
    let prober = outbound::probe::Prober::new("/nowhere/longshored".into());
    let mut world = World::with(|files| Files { prober, ..files }).await;
    let file = world.uploaded(&samples::text(100), MediaType::Text).await;
    for _ in 0..4 {
        world.scan().await;
        assert_eq!(world.status(&file).await, WAITING);
        world.clock.advance(Duration::from_mins(1));
    }
}
