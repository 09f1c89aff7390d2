//! Result downloads: complete, or not at all.

use std::time::Duration;

use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{BatchProvider as _, ResultLocation};
use outbound::provider::client::{ProviderCallFailure, ProviderTimeouts};
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};

use super::{TIMEOUTS, base, batch_providers, gemini, read_all, read_lines, spool};

fn file() -> ResultLocation {
    ResultLocation::File("files/1".to_owned())
}

fn job() -> ProviderJobId {
    ProviderJobId("batches/1".to_owned())
}

#[tokio::test]
async fn results_are_added_line_by_line_however_they_end() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n6\r\n:1}\n{}\r\n0\r\n\r\n";
    let by_closing = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"a\":1}\n{}";
    for reply in [
        plain_reply(200, "{\"a\":1}\n{}\n"),
        plain_reply(200, "{\"a\":1}\n{}"),
        plain_reply(200, "{\"a\":1}\n{}\n\n"),
        ScriptedReply::Send(chunked.into()),
        ScriptedReply::SendAndClose(by_closing.into()),
    ] {
        let receiver = ScriptedReceiver::start([reply.clone()]).await;
        for provider in batch_providers(&base(&receiver), TIMEOUTS) {
            let mut spool = spool().await;
            spool.write(b"before\n").await.unwrap();
            for _ in 0..2 {
                provider
                    .download_results(&job(), &file(), &mut spool)
                    .await
                    .unwrap();
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
        ScriptedReply::SendAndClose(by_length.into()),
        ScriptedReply::SendAndReset(by_length.into()),
        ScriptedReply::SendAndClose(by_chunk.into()),
        ScriptedReply::SendAndClose(by_line.into()),
        plain_reply(500, "{}"),
    ] {
        let receiver = ScriptedReceiver::start([reply.clone()]).await;
        for provider in batch_providers(&base(&receiver), TIMEOUTS) {
            let mut spool = spool().await;
            spool.write(b"before\n").await.unwrap();
            let fetched = provider.download_results(&job(), &file(), &mut spool).await;
            assert!(
                matches!(fetched, Err(ProviderCallFailure::Unavailable { .. })),
                "{reply:?} {fetched:?}"
            );
            assert_eq!(read_all(&spool).await, b"before\n");
        }
    }
}

#[tokio::test]
async fn results_that_stand_still_are_given_up() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":1}\n";
    let receiver = ScriptedReceiver::start([ScriptedReply::Send(head.into())]).await;
    let hasty = ProviderTimeouts {
        chunk: Duration::from_millis(100),
        ..TIMEOUTS
    };
    for provider in batch_providers(&base(&receiver), hasty) {
        let mut spool = spool().await;
        let fetched = provider.download_results(&job(), &file(), &mut spool).await;
        let stalled = ProviderCallFailure::Unavailable {
            why: "the result download stalled".to_owned(),
            retry_after: None,
        };
        assert_eq!(fetched, Err(stalled));
        assert_eq!(spool.length(), 0);
    }
}

#[tokio::test]
async fn results_that_are_gone_are_not_there() {
    let receiver = ScriptedReceiver::start([plain_reply(410, "")]).await;
    for provider in batch_providers(&base(&receiver), TIMEOUTS) {
        let fetched = provider
            .download_results(&job(), &file(), &mut spool().await)
            .await;
        assert_eq!(fetched, Err(ProviderCallFailure::NotFound));
    }
}

#[tokio::test]
async fn results_of_many_blocks_come_through_as_they_are() {
    let body = "{\"a\":\"0123456789\"}\n".repeat(200_000);
    let receiver = ScriptedReceiver::start([plain_reply(200, &body)]).await;
    let mut spool = spool().await;
    let provider = gemini(&base(&receiver), TIMEOUTS);
    provider
        .download_results(&job(), &file(), &mut spool)
        .await
        .unwrap();
    assert_eq!(read_all(&spool).await, body.as_bytes());
    let head = &receiver.received()[0].head;
    assert!(head.starts_with("GET /download/v1beta/files/1:download?alt=media HTTP/1.1\r\n"));
}

#[tokio::test]
async fn answers_that_stand_in_the_job_become_lines() {
    let body = "{\"response\":{\"inlinedResponses\":{\"inlinedResponses\":[{\n\"a\":1},{}]}}}";
    let receiver = ScriptedReceiver::start([plain_reply(200, body)]).await;
    let mut spool = spool().await;
    let provider = gemini(&base(&receiver), TIMEOUTS);
    let inside = ResultLocation::Job;
    provider
        .download_results(&job(), &inside, &mut spool)
        .await
        .unwrap();
    assert_eq!(read_lines(&spool).await, ["{ \"a\":1}", "{}"]);
}
