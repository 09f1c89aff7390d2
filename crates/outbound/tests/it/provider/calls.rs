//! What is told apart when a call goes wrong.

use std::time::Duration;

use outbound::provider::Job;
use outbound::provider::call::{CallFailure, Patience};
use outbound::provider::jobs::{Jobs as _, Sight};
use outbound::provider::openai::OpenAi;

use super::{PATIENCE, base, every, gemini, openai, options, order, said, spooled};
use crate::support::certificates::Authority;
use crate::support::{Receiver, Reply, plain};

fn job() -> Job {
    Job("batch_1".to_owned())
}

#[tokio::test]
async fn what_may_have_been_created_is_unknown() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\":\"batch".to_vec();
    for reply in [
        Reply::SendAndClose(Vec::new()),
        Reply::SendAndReset(Vec::new()),
        Reply::SendAndClose(half),
        plain(500, ""),
        plain(503, r#"{"error":{"message":"m"}}"#),
        plain(529, ""),
        plain(200, "nonsense"),
        plain(200, "[]"),
    ] {
        let receiver = Receiver::start([reply.clone()]).await;
        for provider in every(&base(&receiver), PATIENCE) {
            let spool = spooled(&*provider, &["a"]).await;
            let created = provider.create(&order(1), &spool).await;
            assert!(
                matches!(created, Err(CallFailure::Unknown(_))),
                "{reply:?} {provider:?} {created:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_creation_that_is_not_answered_in_time_is_unknown() {
    let hasty = Patience {
        call: Duration::from_millis(200),
        transfer: Duration::from_millis(200),
        ..PATIENCE
    };
    let receiver = Receiver::start([Reply::Silence]).await;
    for provider in every(&base(&receiver), hasty) {
        let spool = spooled(&*provider, &["a"]).await;
        let created = provider.create(&order(1), &spool).await;
        let late = CallFailure::Unknown("no answer in time".to_owned());
        assert_eq!(created, Err(late), "{provider:?}");
    }
}

#[tokio::test]
async fn who_cannot_be_reached_has_created_nothing() {
    let closed = {
        let receiver = Receiver::start([plain(200, "")]).await;
        base(&receiver)
    };
    for provider in every(&closed, PATIENCE) {
        let spool = spooled(&*provider, &["a"]).await;
        let created = provider.create(&order(1), &spool).await;
        let nothing = CallFailure::Unavailable {
            why: "connection refused".to_owned(),
            retry_after: None,
        };
        assert_eq!(created, Err(nothing), "{provider:?}");
    }
}

#[tokio::test]
async fn a_question_that_was_not_answered_can_be_asked_again() {
    for reply in [
        Reply::SendAndClose(Vec::new()),
        plain(500, ""),
        plain(504, "<html>"),
    ] {
        let receiver = Receiver::start([reply.clone()]).await;
        for provider in every(&base(&receiver), PATIENCE) {
            let seen = provider.look(&job()).await;
            assert!(
                matches!(seen, Err(CallFailure::Unavailable { .. })),
                "{reply:?} {provider:?} {seen:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_job_that_nobody_knows_is_gone_and_nonsense_is_not() {
    for status in [404, 410] {
        let receiver = Receiver::start([plain(status, "")]).await;
        for provider in every(&base(&receiver), PATIENCE) {
            assert_eq!(provider.look(&job()).await, Ok(Sight::Gone));
        }
    }
    let receiver = Receiver::start([plain(200, "<html>")]).await;
    for provider in every(&base(&receiver), PATIENCE) {
        assert_eq!(provider.look(&job()).await, Err(CallFailure::Unreadable));
    }
}

#[tokio::test]
async fn who_is_busy_says_for_how_long() {
    let busy = |wait| Err(CallFailure::Busy { retry_after: wait });
    let in_the_body = r#"{"error":{"code":429,"details":[{"retryDelay":"34s"}]}}"#;
    for (headers, body, wait) in [
        ("retry-after: 7\r\n", "", Some(Duration::from_secs(7))),
        (
            "retry-after-ms: 70\r\n",
            "",
            Some(Duration::from_millis(70)),
        ),
        ("", in_the_body, Some(Duration::from_secs(34))),
        ("", "", None),
    ] {
        let receiver = Receiver::start([said(429, headers, body)]).await;
        for provider in every(&base(&receiver), PATIENCE) {
            let spool = spooled(&*provider, &["a"]).await;
            assert_eq!(provider.create(&order(1), &spool).await, busy(wait));
        }
    }
}

#[tokio::test]
async fn a_wish_on_a_good_answer_is_passed_on() {
    let body = r#"{"id":"b","status":"in_progress","request_counts":{"total":9,"completed":2}}"#;
    let receiver = Receiver::start([said(200, "retry-after: 10\r\n", body)]).await;
    let seen = openai(&base(&receiver), PATIENCE).look(&job()).await;
    let running = Sight::Running {
        hint: Some(Duration::from_secs(10)),
        done: 2,
        total: 9,
    };
    assert_eq!(seen, Ok(running));
}

#[tokio::test]
async fn the_credential_is_in_no_word_of_ours() {
    let body = r#"{"error":{"message":"bad request by sk-secret","code":"c"}}"#;
    let receiver = Receiver::start([plain(400, body)]).await;
    for provider in every(&base(&receiver), PATIENCE) {
        let spool = spooled(&*provider, &["a"]).await;
        let failure = provider.create(&order(1), &spool).await.unwrap_err();
        assert!(matches!(failure, CallFailure::Refused { status: 400, .. }));
        let words = format!("{provider:?} {failure:?} {failure}");
        assert!(!words.contains("secret"), "{words}");
    }
    let receiver = Receiver::start([plain(401, body)]).await;
    for provider in every(&base(&receiver), PATIENCE) {
        assert_eq!(provider.look(&job()).await, Err(CallFailure::Unauthorized));
    }
    for received in receiver.received() {
        assert!(received.head.contains("sk-secret"));
    }
}

#[tokio::test]
async fn a_job_that_has_ended_need_not_be_stopped() {
    for reply in [
        plain(200, "{}"),
        plain(400, ""),
        plain(404, ""),
        plain(409, ""),
    ] {
        let receiver = Receiver::start([reply.clone()]).await;
        for provider in every(&base(&receiver), PATIENCE) {
            assert_eq!(provider.cancel(&job()).await, Ok(()), "{reply:?}");
        }
    }
    let receiver = Receiver::start([plain(500, "")]).await;
    let failed = gemini(&base(&receiver), PATIENCE).cancel(&job()).await;
    assert!(matches!(failed, Err(CallFailure::Unavailable { .. })));
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_for_ever() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n".to_vec();
    let flood = Reply::Flood(head, vec![b' '; 1024 * 1024]);
    let receiver = Receiver::start([flood]).await;
    let provider = openai(&base(&receiver), PATIENCE);
    let cut = CallFailure::Unavailable {
        why: "the answer was cut off".to_owned(),
        retry_after: None,
    };
    assert_eq!(provider.look(&job()).await, Err(cut));
    let spool = spooled(&provider, &["a"]).await;
    let created = provider.create(&order(1), &spool).await;
    assert!(matches!(created, Err(CallFailure::Unknown(_))));
}

#[tokio::test]
async fn a_provider_is_believed_whom_the_roots_vouch_for() {
    let authority = Authority::new();
    let acceptor = authority.acceptor(&["127.0.0.1"]);
    let receiver = Receiver::listen("127.0.0.1", Some(acceptor), [plain(404, "")]).await;
    let base = format!("https://127.0.0.1:{}", receiver.port());
    let known = OpenAi::new(options(&base, PATIENCE), authority.roots()).unwrap();
    assert_eq!(known.look(&job()).await, Ok(Sight::Gone));
    let stranger = Authority::new().roots();
    let stranger = OpenAi::new(options(&base, PATIENCE), stranger).unwrap();
    let failed = CallFailure::Unavailable {
        why: "TLS failed".to_owned(),
        retry_after: None,
    };
    let spool = spooled(&stranger, &["a"]).await;
    assert_eq!(stranger.create(&order(1), &spool).await, Err(failed));
}
