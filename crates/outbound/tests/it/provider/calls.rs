//! Failures of provider calls, and how the client classifies them.

use std::time::Duration;

use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{BatchProvider as _, JobStatus};
use outbound::provider::client::{ProviderCallFailure, ProviderTimeouts};
use outbound::provider::openai::OpenAi;
use test_support::certificates::TestAuthority;
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};

use super::{
    TIMEOUTS, anthropic, base, batch_providers, gemini, job_request, openai, options,
    plain_reply_with_headers, spool_items,
};

fn job() -> ProviderJobId {
    ProviderJobId("batch_1".to_owned())
}

#[tokio::test]
async fn what_may_have_been_created_is_unknown() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\":\"batch".to_vec();
    for reply in [
        ScriptedReply::SendAndClose(Vec::new()),
        ScriptedReply::SendAndReset(Vec::new()),
        ScriptedReply::SendAndClose(half),
        plain_reply(500, ""),
        plain_reply(503, r#"{"error":{"message":"m"}}"#),
        plain_reply(529, ""),
        plain_reply(200, "nonsense"),
        plain_reply(200, "[]"),
    ] {
        let receiver = ScriptedReceiver::start([reply.clone()]).await;
        for provider in batch_providers(&base(&receiver), TIMEOUTS) {
            let spool = spool_items(&*provider, &["a"]).await;
            let created = provider.create_job(&job_request(1), &spool).await;
            assert!(
                matches!(created, Err(ProviderCallFailure::Indeterminate(_))),
                "{reply:?} {provider:?} {created:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_creation_that_is_not_answered_in_time_is_unknown() {
    let hasty = ProviderTimeouts {
        call: Duration::from_millis(200),
        transfer: Duration::from_millis(200),
        ..TIMEOUTS
    };
    let receiver = ScriptedReceiver::start([ScriptedReply::Silence]).await;
    for provider in batch_providers(&base(&receiver), hasty) {
        let spool = spool_items(&*provider, &["a"]).await;
        let created = provider.create_job(&job_request(1), &spool).await;
        let late = ProviderCallFailure::Indeterminate("no response before the timeout".to_owned());
        assert_eq!(created, Err(late), "{provider:?}");
    }
}

#[tokio::test]
async fn h2_a_message_pauses_no_account_where_it_may_repeat_caller_input() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error",
        "message":"Your credit balance is too low to access the API."}}"#;
    let receiver = ScriptedReceiver::start([plain_reply(400, body)]).await;
    let provider = anthropic(&base(&receiver), TIMEOUTS);
    let spool = spool_items(&provider, &["a"]).await;
    let created = provider.create_job(&job_request(1), &spool).await;
    let unconfirmed = ProviderCallFailure::UnconfirmedOutOfCredit;
    assert_eq!(created, Err(unconfirmed));
    let polled = provider.fetch_status(&job()).await;
    assert_eq!(polled, Err(ProviderCallFailure::OutOfCredit));
}

#[tokio::test]
async fn an_unreachable_provider_has_created_nothing() {
    for provider in batch_providers("http://127.0.0.1:1", TIMEOUTS) {
        let spool = spool_items(&*provider, &["a"]).await;
        let created = provider.create_job(&job_request(1), &spool).await;
        let nothing = ProviderCallFailure::Unavailable {
            why: "connection refused".to_owned(),
            retry_after: None,
        };
        assert_eq!(created, Err(nothing), "{provider:?}");
    }
}

#[tokio::test]
async fn a_question_that_was_not_answered_can_be_asked_again() {
    for reply in [
        ScriptedReply::SendAndClose(Vec::new()),
        plain_reply(500, ""),
        plain_reply(504, "<html>"),
    ] {
        let receiver = ScriptedReceiver::start([reply.clone()]).await;
        for provider in batch_providers(&base(&receiver), TIMEOUTS) {
            let seen = provider.fetch_status(&job()).await;
            assert!(
                matches!(seen, Err(ProviderCallFailure::Unavailable { .. })),
                "{reply:?} {provider:?} {seen:?}"
            );
        }
    }
}

#[tokio::test]
async fn an_unknown_job_is_gone_and_nonsense_is_not() {
    for status in [404, 410] {
        let receiver = ScriptedReceiver::start([plain_reply(status, "")]).await;
        for provider in batch_providers(&base(&receiver), TIMEOUTS) {
            assert_eq!(provider.fetch_status(&job()).await, Ok(JobStatus::Gone));
        }
    }
    let receiver = ScriptedReceiver::start([plain_reply(200, "<html>")]).await;
    for provider in batch_providers(&base(&receiver), TIMEOUTS) {
        assert_eq!(
            provider.fetch_status(&job()).await,
            Err(ProviderCallFailure::UnreadableResponse)
        );
    }
}

#[tokio::test]
async fn a_rate_limited_call_says_when_to_retry() {
    let busy = |wait| Err(ProviderCallFailure::RateLimited { retry_after: wait });
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
        let receiver =
            ScriptedReceiver::start([plain_reply_with_headers(429, headers, body)]).await;
        for provider in batch_providers(&base(&receiver), TIMEOUTS) {
            let spool = spool_items(&*provider, &["a"]).await;
            assert_eq!(
                provider.create_job(&job_request(1), &spool).await,
                busy(wait)
            );
        }
    }
}

#[tokio::test]
async fn a_retry_after_header_on_a_success_is_passed_on() {
    let body = r#"{"id":"b","status":"in_progress","request_counts":{"total":9,"completed":2}}"#;
    let receiver =
        ScriptedReceiver::start([plain_reply_with_headers(200, "retry-after: 10\r\n", body)]).await;
    let seen = openai(&base(&receiver), TIMEOUTS)
        .fetch_status(&job())
        .await;
    let running = JobStatus::Running {
        retry_after: Some(Duration::from_secs(10)),
        done: 2,
        total: 9,
    };
    assert_eq!(seen, Ok(running));
}

#[tokio::test]
async fn the_credential_is_in_no_text() {
    let body = r#"{"error":{"message":"bad request by sk-secret","code":"c"}}"#;
    let receiver = ScriptedReceiver::start([plain_reply(400, body)]).await;
    for provider in batch_providers(&base(&receiver), TIMEOUTS) {
        let spool = spool_items(&*provider, &["a"]).await;
        let failure = provider
            .create_job(&job_request(1), &spool)
            .await
            .unwrap_err();
        assert!(matches!(
            failure,
            ProviderCallFailure::Refused { status: 400, .. }
        ));
        let text = format!("{provider:?} {failure:?} {failure}");
        assert!(!text.contains("secret"), "{text}");
    }
    let receiver = ScriptedReceiver::start([plain_reply(401, body)]).await;
    for provider in batch_providers(&base(&receiver), TIMEOUTS) {
        assert_eq!(
            provider.fetch_status(&job()).await,
            Err(ProviderCallFailure::Unauthorized)
        );
    }
    for received in receiver.received() {
        assert!(received.head.contains("sk-secret"));
    }
}

#[tokio::test]
async fn a_job_that_has_ended_need_not_be_stopped() {
    for reply in [
        plain_reply(200, "{}"),
        plain_reply(400, ""),
        plain_reply(404, ""),
        plain_reply(409, ""),
    ] {
        let receiver = ScriptedReceiver::start([reply.clone()]).await;
        for provider in batch_providers(&base(&receiver), TIMEOUTS) {
            assert_eq!(provider.cancel(&job()).await, Ok(()), "{reply:?}");
        }
    }
    let receiver = ScriptedReceiver::start([plain_reply(500, "")]).await;
    let failed = gemini(&base(&receiver), TIMEOUTS).cancel(&job()).await;
    assert!(matches!(
        failed,
        Err(ProviderCallFailure::Unavailable { .. })
    ));
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_for_ever() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n".to_vec();
    let flood = ScriptedReply::Flood(head, vec![b' '; 1024 * 1024]);
    let receiver = ScriptedReceiver::start([flood]).await;
    let provider = openai(&base(&receiver), TIMEOUTS);
    let cut = ProviderCallFailure::Unavailable {
        why: "the response was cut off".to_owned(),
        retry_after: None,
    };
    assert_eq!(provider.fetch_status(&job()).await, Err(cut));
    let spool = spool_items(&provider, &["a"]).await;
    let created = provider.create_job(&job_request(1), &spool).await;
    assert!(matches!(
        created,
        Err(ProviderCallFailure::Indeterminate(_))
    ));
}

#[tokio::test]
async fn a_provider_with_a_trusted_certificate_is_accepted() {
    let authority = TestAuthority::generate();
    let acceptor = authority.acceptor(&["127.0.0.1"]);
    let receiver =
        ScriptedReceiver::listen("127.0.0.1", Some(acceptor), [plain_reply(404, "")]).await;
    let base = format!("https://127.0.0.1:{}", receiver.port());
    let known = OpenAi::new(options(&base, TIMEOUTS), authority.roots()).unwrap();
    assert_eq!(known.fetch_status(&job()).await, Ok(JobStatus::Gone));
    let untrusted = TestAuthority::generate().roots();
    let untrusted = OpenAi::new(options(&base, TIMEOUTS), untrusted).unwrap();
    let failed = ProviderCallFailure::Unavailable {
        why: "TLS failed".to_owned(),
        retry_after: None,
    };
    let spool = spool_items(&untrusted, &["a"]).await;
    assert_eq!(
        untrusted.create_job(&job_request(1), &spool).await,
        Err(failed)
    );
}
