//! Jobs on their way: what each provider is sent.

use outbound::provider::Job;
use outbound::provider::call::CallFailure;
use outbound::provider::jobs::{Jobs as _, Upload};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{
    PATIENCE, anthropic, base, content, gemini, label, openai, order, said, spool, spooled,
};
use crate::support::{Receiver, plain};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn openai_is_sent_a_form_and_then_an_order() {
    let script = [
        plain(200, r#"{"id":"file-1","object":"file"}"#),
        plain(200, r#"{"id":"batch_1","status":"validating"}"#),
    ];
    let receiver = Receiver::start(script).await;
    let provider = openai(&format!("{}/v1", base(&receiver)), PATIENCE);
    let spool = spooled(&provider, &["a", "b"]).await;
    let upload = provider.upload(&label(), &spool).await.unwrap();
    assert_eq!(upload, Some(Upload("file-1".to_owned())));
    let job = provider.create(&order(2), &spool).await.unwrap();
    assert_eq!(job, Job("batch_1".to_owned()));

    let heard = receiver.received();
    assert!(heard[0].head.starts_with("POST /v1/files HTTP/1.1\r\n"));
    assert!(
        heard[0]
            .head
            .contains("authorization: Bearer sk-secret\r\n")
    );
    let form = String::from_utf8(heard[0].body.clone()).unwrap();
    let lines = String::from_utf8(content(&spool).await).unwrap();
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
    assert!(heard[1].head.starts_with("POST /v1/batches HTTP/1.1\r\n"));
    let ordered = String::from_utf8(heard[1].body.clone()).unwrap();
    insta::assert_snapshot!(ordered, @r#"{"input_file_id":"file-1","endpoint":"/v1/chat/completions","completion_window":"24h","metadata":{"submission_id":"sub_1"}}"#);
}

#[tokio::test]
async fn a_file_that_is_not_seen_yet_is_waited_for_but_not_for_ever() {
    let created = plain(200, r#"{"id":"batch_1"}"#);
    let receiver = Receiver::start([plain(404, ""), plain(404, ""), created]).await;
    let provider = openai(&base(&receiver), PATIENCE);
    let empty = spool().await;
    let job = provider.create(&order(1), &empty).await;
    assert_eq!(job, Ok(Job("batch_1".to_owned())));
    assert_eq!(receiver.received().len(), 3);

    let receiver = Receiver::start([plain(404, "")]).await;
    let provider = openai(&base(&receiver), PATIENCE);
    let job = provider.create(&order(1), &empty).await;
    assert_eq!(job, Err(CallFailure::NotFound));
}

#[tokio::test]
async fn anthropic_is_sent_all_lines_as_one_list() {
    let created = r#"{"id":"msgbatch_1","processing_status":"in_progress","created_at":"2026-11-15T12:00:00+00:00"}"#;
    let receiver = Receiver::start([plain(200, created)]).await;
    let provider = anthropic(&base(&receiver), PATIENCE);
    let long = "\n\r,".repeat(MIB);
    let spool = spooled(&provider, &["a", &long, "c"]).await;
    assert_eq!(provider.upload(&label(), &spool).await, Ok(None));
    let job = provider.create(&order(3), &spool).await;
    assert_eq!(job, Ok(Job("msgbatch_1".to_owned())));

    let heard = &receiver.received()[0];
    assert!(
        heard
            .head
            .starts_with("POST /v1/messages/batches HTTP/1.1\r\n")
    );
    assert!(heard.head.contains("x-api-key: sk-secret\r\n"));
    assert!(heard.head.contains("anthropic-version: 2023-06-01\r\n"));
    let body: Value = serde_json::from_slice(&heard.body).unwrap();
    let requests = body["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1]["params"]["messages"][0]["content"], long);
}

#[tokio::test]
async fn a_no_that_comes_before_all_was_sent_is_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let answering = tokio::spawn(async move {
        let (mut caller, _) = listener.accept().await.unwrap();
        caller.read_exact(&mut [0; 100]).await.unwrap();
        let page = "<html>413</html>";
        let answer = format!(
            "HTTP/1.1 413 No\r\ncontent-length: {}\r\n\r\n{page}",
            page.len()
        );
        caller.write_all(answer.as_bytes()).await.unwrap();
        // Nothing more is read; the caller leaves.
        std::future::pending::<()>().await;
    });
    let provider = anthropic(&base, PATIENCE);
    let long = "x".repeat(20 * MIB);
    let spool = spooled(&provider, &[&long]).await;
    let created = provider.create(&order(1), &spool).await;
    assert_eq!(created, Err(CallFailure::TooLarge));
    answering.abort();
}

#[tokio::test]
async fn gemini_is_sent_pieces_and_no_credential_leaves_for_elsewhere() {
    let file = r#"{"file":{"name":"files/1","state":"PROCESSING"}}"#;
    let elsewhere = Receiver::start([plain(200, ""), plain(200, ""), plain(200, file)]).await;
    let address = format!("x-goog-upload-url: {}/there?id=1\r\n", base(&elsewhere));
    let script = [
        said(200, &address, ""),
        plain(200, r#"{"name":"files/1","state":"PROCESSING"}"#),
        plain(200, r#"{"name":"files/1","state":"ACTIVE"}"#),
        plain(200, r#"{"name":"batches/1"}"#),
    ];
    let receiver = Receiver::start(script).await;
    let provider = gemini(&base(&receiver), PATIENCE);
    let mut spool = spool().await;
    for _ in 0..20 {
        spool.write(&vec![b'x'; MIB]).await.unwrap();
    }
    let upload = provider.upload(&label(), &spool).await;
    assert_eq!(upload, Ok(Some(Upload("files/1".to_owned()))));
    assert_eq!(
        provider.create(&order(1), &spool).await,
        Ok(Job("batches/1".to_owned()))
    );

    let pieces = elsewhere.received();
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
    let heard = receiver.received();
    let length = format!("x-goog-upload-header-content-length: {}\r\n", 20 * MIB);
    assert!(heard[0].head.contains(&length));
    assert!(heard[0].head.contains("x-goog-api-key: sk-secret\r\n"));
    assert!(
        heard[3]
            .head
            .starts_with("POST /v1beta/models/theirs:batchGenerateContent ")
    );
    let ordered = String::from_utf8(heard[3].body.clone()).unwrap();
    insta::assert_snapshot!(ordered, @r#"{"batch":{"displayName":"sub_1","inputConfig":{"fileName":"file-1"}}}"#);
}

#[tokio::test]
async fn a_file_that_gemini_does_not_take_is_no_upload() {
    let failed = plain(200, r#"{"file":{"name":"files/1","state":"FAILED"}}"#);
    let there = Receiver::start([failed]).await;
    let address = format!("x-goog-upload-url: {}/\r\n", base(&there));
    let receiver = Receiver::start([said(200, &address, "")]).await;
    let provider = gemini(&base(&receiver), PATIENCE);
    let spool = spooled(&provider, &["a"]).await;
    let upload = provider.upload(&label(), &spool).await;
    assert!(matches!(upload, Err(CallFailure::Unavailable { .. })));
}
