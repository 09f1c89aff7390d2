//! Uploads and job creation: the requests that each provider receives.

use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{BatchProvider as _, ProviderFileId};
use outbound::provider::client::ProviderCallFailure;
use serde_json::Value;
use test_support::scripted_receiver::{ScriptedReceiver, plain_reply};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{
    TIMEOUTS, anthropic, base, gemini, job_request, label, openai, plain_reply_with_headers,
    read_all, spool, spool_items,
};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn openai_is_sent_a_form_and_then_an_order() {
    let script = [
        plain_reply(200, r#"{"id":"file-1","object":"file"}"#),
        plain_reply(200, r#"{"id":"batch_1","status":"validating"}"#),
    ];
    let receiver = ScriptedReceiver::start(script).await;
    let provider = openai(&format!("{}/v1", base(&receiver)), TIMEOUTS);
    let spool = spool_items(&provider, &["a", "b"]).await;
    let upload = provider.upload(&label(), &spool).await.unwrap();
    assert_eq!(upload, Some(ProviderFileId("file-1".to_owned())));
    let job = provider.create_job(&job_request(2), &spool).await.unwrap();
    assert_eq!(job, ProviderJobId("batch_1".to_owned()));

    let requests = receiver.received();
    assert!(requests[0].head.starts_with("POST /v1/files HTTP/1.1\r\n"));
    assert!(
        requests[0]
            .head
            .contains("authorization: Bearer sk-secret\r\n")
    );
    let form = String::from_utf8(requests[0].body.clone()).unwrap();
    let lines = String::from_utf8(read_all(&spool).await).unwrap();
    let pieces: Vec<&str> = form.split("\r\n").collect();
    assert_eq!(
        pieces[1],
        "content-disposition: form-data; name=\"purpose\""
    );
    assert_eq!(pieces[3], "batch");
    assert_eq!(
        pieces[5],
        "content-disposition: form-data; name=\"file\"; filename=\"sub_1.jsonl\""
    );
    assert_eq!(pieces[8], lines);
    assert_eq!(pieces[9], format!("{}--", pieces[0]));
    assert!(
        requests[1]
            .head
            .starts_with("POST /v1/batches HTTP/1.1\r\n")
    );
    let ordered = String::from_utf8(requests[1].body.clone()).unwrap();
    insta::assert_snapshot!(ordered, @r#"{"input_file_id":"file-1","endpoint":"/v1/chat/completions","completion_window":"24h","metadata":{"submission_id":"sub_1","submitted_by":"00000000-0000-0000-0000-000000000005"}}"#);
}

#[tokio::test]
async fn a_file_that_is_not_seen_yet_is_waited_for_but_not_for_ever() {
    let created = plain_reply(200, r#"{"id":"batch_1"}"#);
    let receiver =
        ScriptedReceiver::start([plain_reply(404, ""), plain_reply(404, ""), created]).await;
    let provider = openai(&base(&receiver), TIMEOUTS);
    let empty = spool().await;
    let job = provider.create_job(&job_request(1), &empty).await;
    assert_eq!(job, Ok(ProviderJobId("batch_1".to_owned())));
    assert_eq!(receiver.received().len(), 3);

    let receiver = ScriptedReceiver::start([plain_reply(404, "")]).await;
    let provider = openai(&base(&receiver), TIMEOUTS);
    let job = provider.create_job(&job_request(1), &empty).await;
    assert_eq!(job, Err(ProviderCallFailure::NotFound));
}

#[tokio::test]
async fn anthropic_is_sent_all_lines_as_one_list() {
    let created = r#"{"id":"msgbatch_1","processing_status":"in_progress","created_at":"2026-11-15T12:00:00+00:00"}"#;
    let receiver = ScriptedReceiver::start([plain_reply(200, created)]).await;
    let provider = anthropic(&base(&receiver), TIMEOUTS);
    let long = "\n\r,".repeat(MIB);
    let spool = spool_items(&provider, &["a", &long, "c"]).await;
    assert_eq!(provider.upload(&label(), &spool).await, Ok(None));
    let job = provider.create_job(&job_request(3), &spool).await;
    assert_eq!(job, Ok(ProviderJobId("msgbatch_1".to_owned())));

    let request = &receiver.received()[0];
    assert!(
        request
            .head
            .starts_with("POST /v1/messages/batches HTTP/1.1\r\n")
    );
    assert!(request.head.contains("x-api-key: sk-secret\r\n"));
    assert!(request.head.contains("anthropic-version: 2023-06-01\r\n"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let requests = body["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1]["params"]["messages"][0]["content"], long);
}

#[tokio::test]
async fn a_refusal_before_the_whole_body_was_sent_is_read() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let answering = tokio::spawn(async move {
        let (mut caller, _) = listener.accept().await.unwrap();
        caller.read_exact(&mut [0; 100]).await.unwrap();
        let page = "<html>413</html>";
        let answer = format!(
            "HTTP/1.1 413 Too Large\r\ncontent-length: {}\r\n\r\n{page}",
            page.len()
        );
        caller.write_all(answer.as_bytes()).await.unwrap();
        // The server reads nothing more, and the client closes.
        std::future::pending::<()>().await;
    });
    let provider = anthropic(&base, TIMEOUTS);
    let long = "x".repeat(20 * MIB);
    let spool = spool_items(&provider, &[&long]).await;
    let created = provider.create_job(&job_request(1), &spool).await;
    assert_eq!(created, Err(ProviderCallFailure::TooLarge));
    answering.abort();
}

#[tokio::test]
async fn gemini_is_sent_chunks_and_another_host_gets_no_credential() {
    let file = r#"{"file":{"name":"files/1","state":"PROCESSING"}}"#;
    let other_host = ScriptedReceiver::start([
        plain_reply(200, ""),
        plain_reply(200, ""),
        plain_reply(200, file),
    ])
    .await;
    let address = format!("x-goog-upload-url: {}/there?id=1\r\n", base(&other_host));
    let script = [
        plain_reply_with_headers(200, &address, ""),
        plain_reply(200, r#"{"name":"files/1","state":"PROCESSING"}"#),
        plain_reply(200, r#"{"name":"files/1","state":"ACTIVE"}"#),
        plain_reply(200, r#"{"name":"batches/1"}"#),
    ];
    let receiver = ScriptedReceiver::start(script).await;
    let provider = gemini(&base(&receiver), TIMEOUTS);
    let mut spool = spool().await;
    for _ in 0..20 {
        spool.write(&vec![b'x'; MIB]).await.unwrap();
    }
    let upload = provider.upload(&label(), &spool).await;
    assert_eq!(upload, Ok(Some(ProviderFileId("files/1".to_owned()))));
    assert_eq!(
        provider.create_job(&job_request(1), &spool).await,
        Ok(ProviderJobId("batches/1".to_owned()))
    );

    let pieces = other_host.received();
    for (piece, (offset, length, command)) in pieces.iter().zip([
        (0, 8, "upload"),
        (8, 8, "upload"),
        (16, 4, "upload, finalize"),
    ]) {
        assert!(piece.head.starts_with("POST /there?id=1 HTTP/1.1\r\n"));
        let offset = format!("x-goog-upload-offset: {}\r\n", offset * MIB);
        assert!(piece.head.contains(&offset), "{}", piece.head);
        let command = format!("x-goog-upload-command: {command}\r\n");
        assert!(piece.head.contains(&command), "{}", piece.head);
        assert!(!piece.head.contains("secret"), "{}", piece.head);
        assert_eq!(piece.body.len(), length * MIB);
    }
    assert_eq!(pieces.len(), 3);
    let requests = receiver.received();
    let length = format!("x-goog-upload-header-content-length: {}\r\n", 20 * MIB);
    assert!(requests[0].head.contains(&length));
    assert!(requests[0].head.contains("x-goog-api-key: sk-secret\r\n"));
    assert!(
        requests[3]
            .head
            .starts_with("POST /v1beta/models/theirs:batchGenerateContent ")
    );
    let ordered = String::from_utf8(requests[3].body.clone()).unwrap();
    insta::assert_snapshot!(ordered, @r#"{"batch":{"displayName":"sub_1","inputConfig":{"fileName":"file-1"}}}"#);
}

#[tokio::test]
async fn a_file_that_gemini_does_not_take_is_no_upload() {
    let failed = plain_reply(200, r#"{"file":{"name":"files/1","state":"FAILED"}}"#);
    let there = ScriptedReceiver::start([failed]).await;
    let address = format!("x-goog-upload-url: {}/\r\n", base(&there));
    let receiver = ScriptedReceiver::start([plain_reply_with_headers(200, &address, "")]).await;
    let provider = gemini(&base(&receiver), TIMEOUTS);
    let spool = spool_items(&provider, &["a"]).await;
    let upload = provider.upload(&label(), &spool).await;
    assert!(matches!(
        upload,
        Err(ProviderCallFailure::Unavailable { .. })
    ));
}
