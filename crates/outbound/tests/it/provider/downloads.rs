//! Results on their way: whole, or not at all.

use std::time::Duration;

use outbound::provider::Job;
use outbound::provider::call::{CallFailure, Patience};
use outbound::provider::jobs::{Jobs as _, ResultFile};

use super::{PATIENCE, base, content, every, gemini, read_lines, spool};
use crate::support::{Receiver, Reply, plain};

fn file() -> ResultFile {
    ResultFile::Named("files/1".to_owned())
}

fn job() -> Job {
    Job("batches/1".to_owned())
}

#[tokio::test]
async fn results_are_added_line_by_line_however_they_end() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n6\r\n:1}\n{}\r\n0\r\n\r\n";
    let by_closing = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"a\":1}\n{}";
    for reply in [
        plain(200, "{\"a\":1}\n{}\n"),
        plain(200, "{\"a\":1}\n{}"),
        plain(200, "{\"a\":1}\n{}\n\n"),
        Reply::Send(chunked.into()),
        Reply::SendAndClose(by_closing.into()),
    ] {
        let receiver = Receiver::start([reply.clone()]).await;
        for provider in every(&base(&receiver), PATIENCE) {
            let mut spool = spool().await;
            spool.write(b"before\n").await.unwrap();
            for _ in 0..2 {
                provider.results(&job(), &file(), &mut spool).await.unwrap();
            }
            let lines = read_lines(&spool).await;
            assert_eq!(
                lines,
                ["before", "{\"a\":1}", "{}", "{\"a\":1}", "{}"],
                "{reply:?}"
            );
        }
    }
}

#[tokio::test]
async fn results_that_were_cut_off_leave_nothing() {
    let by_length = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":1}\n";
    let by_chunk = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{\"a\":1}\n\r\n";
    let by_line = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"a\":1}\n{\"b";
    for reply in [
        Reply::SendAndClose(by_length.into()),
        Reply::SendAndReset(by_length.into()),
        Reply::SendAndClose(by_chunk.into()),
        Reply::SendAndClose(by_line.into()),
        plain(500, "{}"),
    ] {
        let receiver = Receiver::start([reply.clone()]).await;
        for provider in every(&base(&receiver), PATIENCE) {
            let mut spool = spool().await;
            spool.write(b"before\n").await.unwrap();
            let fetched = provider.results(&job(), &file(), &mut spool).await;
            assert!(
                matches!(fetched, Err(CallFailure::Unavailable { .. })),
                "{reply:?} {fetched:?}"
            );
            assert_eq!(content(&spool).await, b"before\n");
        }
    }
}

#[tokio::test]
async fn results_that_stand_still_are_given_up() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":1}\n";
    let receiver = Receiver::start([Reply::Send(head.into())]).await;
    let hasty = Patience {
        chunk: Duration::from_millis(100),
        ..PATIENCE
    };
    for provider in every(&base(&receiver), hasty) {
        let mut spool = spool().await;
        let fetched = provider.results(&job(), &file(), &mut spool).await;
        let still = CallFailure::Unavailable {
            why: "the results stood still".to_owned(),
            retry_after: None,
        };
        assert_eq!(fetched, Err(still));
        assert_eq!(spool.length(), 0);
    }
}

#[tokio::test]
async fn results_that_are_gone_are_not_there() {
    let receiver = Receiver::start([plain(410, "")]).await;
    for provider in every(&base(&receiver), PATIENCE) {
        let fetched = provider.results(&job(), &file(), &mut spool().await).await;
        assert_eq!(fetched, Err(CallFailure::NotFound));
    }
}

#[tokio::test]
async fn results_of_many_blocks_come_through_as_they_are() {
    let body = "{\"a\":\"0123456789\"}\n".repeat(200_000);
    let receiver = Receiver::start([plain(200, &body)]).await;
    let mut spool = spool().await;
    let provider = gemini(&base(&receiver), PATIENCE);
    provider.results(&job(), &file(), &mut spool).await.unwrap();
    assert_eq!(content(&spool).await, body.as_bytes());
    let head = &receiver.received()[0].head;
    assert!(head.starts_with("GET /download/v1beta/files/1:download?alt=media HTTP/1.1\r\n"));
}

#[tokio::test]
async fn answers_that_stand_in_the_job_become_lines() {
    let body = "{\"response\":{\"inlinedResponses\":{\"inlinedResponses\":[{\n\"a\":1},{}]}}}";
    let receiver = Receiver::start([plain(200, body)]).await;
    let mut spool = spool().await;
    let provider = gemini(&base(&receiver), PATIENCE);
    let inside = ResultFile::OfJob;
    provider.results(&job(), &inside, &mut spool).await.unwrap();
    assert_eq!(read_lines(&spool).await, ["{ \"a\":1}", "{}"]);
}
