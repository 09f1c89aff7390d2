//! The mock provider as a worker uses it: submit, then poll until the job has ended.

use std::collections::VecDeque;

use chrono::DateTime;
use domain::id::{BatchId, Berth, CargoId};
use domain::model::ModelKind;
use domain::outcome::Completion;

use super::*;
use crate::provider::BatchItemsFailure;

/// Returns one list of items per read.
struct ScriptedItems(VecDeque<Vec<BatchItem>>);

#[async_trait]
impl BatchItems for ScriptedItems {
    async fn open_items(&mut self) -> Result<Vec<BatchItem>, BatchItemsFailure> {
        self.0
            .pop_front()
            .ok_or_else(|| BatchItemsFailure("read too often".to_owned()))
    }
}

fn at(milliseconds: i64) -> Timestamp {
    DateTime::from_timestamp_millis(1_767_225_600_000 + milliseconds).unwrap()
}

fn cargo(number: u64) -> CargoId {
    CargoId::new(at(0), Berth::new(7).unwrap(), number)
}

fn item(number: u64, params: &str) -> BatchItem {
    let params = serde_json::from_str(params).unwrap();
    BatchItem {
        cargo: cargo(number),
        attempt: 1,
        loaded_at: at(0),
        params,
    }
}

fn chat_item(number: u64, text: &str) -> BatchItem {
    let text = serde_json::to_string(text).unwrap();
    let messages = format!(r#"[{{"role":"user","content":{text}}}]"#);
    item(
        number,
        &format!(r#"{{"model":"svc-mock","max_tokens":100,"messages":{messages}}}"#),
    )
}

fn submission(model: &str, mocking: MockBehaviour) -> BatchSubmission {
    let model = Model {
        mock_behaviour: mocking,
        ..Model::plain(model, "mock", ModelKind::Chat)
    };
    BatchSubmission {
        batch: BatchId::new(at(0), Berth::new(7).unwrap(), 1),
        model,
    }
}

fn svc_mock() -> BatchSubmission {
    submission(SVC_MOCK, MockBehaviour::Echo)
}

async fn poll(submission: &BatchSubmission, items: Vec<BatchItem>, now: Timestamp) -> PollResponse {
    let job = ProviderJobId("mock_1".to_owned());
    let mut items = ScriptedItems([items].into());
    let mock = MockProvider::new(Duration::from_mins(1));
    mock.poll(&job, submission, &mut items, now).await.unwrap()
}

/// The outcome of a single item after every delay, as it is stored.
async fn outcome(submission: &BatchSubmission, item: BatchItem) -> String {
    let polled = poll(submission, vec![item], at(86_400_000)).await;
    assert_eq!(polled.progress, PollProgress::Ended);
    match &polled.results[0].outcome {
        Outcome::Success(completion) => serde_json::to_string(completion).unwrap(),
        Outcome::Failure(failure) => format!("failed: {}", failure.message),
    }
}

#[tokio::test]
async fn a_batch_is_submitted_unread() {
    let mut unread = ScriptedItems(VecDeque::new());
    let mock = MockProvider::new(Duration::from_mins(1));
    let submitted = mock.submit(&svc_mock(), &mut unread, at(5)).await.unwrap();
    insta::assert_snapshot!(submitted.job.0, @"mock_019b76daa80070008070000000000001");
    assert_eq!(submitted.next_poll_at, at(5));
}

#[tokio::test]
async fn answers_come_when_each_is_ready() {
    let items = || {
        let quick = chat_item(2, "quick [mock:delay=2s]");
        vec![
            chat_item(1, "slow"),
            quick,
            chat_item(3, "[mock:delay=500ms]"),
        ]
    };
    let cargo_of = |polled: &PollResponse| {
        let answered = polled.results.iter().map(|answer| answer.cargo);
        answered.collect::<Vec<_>>()
    };
    let running = |milliseconds| PollProgress::Running {
        next_poll_at: at(milliseconds),
    };

    let polled = poll(&svc_mock(), items(), at(0)).await;
    assert_eq!((cargo_of(&polled), polled.progress), (vec![], running(500)));
    // The next poll is never immediate, however near the next answer is.
    let polled = poll(&svc_mock(), items(), at(450)).await;
    assert_eq!((cargo_of(&polled), polled.progress), (vec![], running(550)));
    let polled = poll(&svc_mock(), items(), at(500)).await;
    assert_eq!(
        (cargo_of(&polled), polled.progress),
        (vec![cargo(3)], running(2000))
    );
    let polled = poll(&svc_mock(), items(), at(2000)).await;
    assert_eq!(
        (cargo_of(&polled), polled.progress),
        (vec![cargo(2), cargo(3)], running(60_000))
    );
    let polled = poll(&svc_mock(), items(), at(60_000)).await;
    assert_eq!(
        (cargo_of(&polled).len(), polled.progress),
        (3, PollProgress::Ended)
    );
}

#[tokio::test]
async fn nothing_open_is_ended() {
    let polled = poll(&svc_mock(), Vec::new(), at(0)).await;
    assert_eq!(
        polled,
        PollResponse {
            results: Vec::new(),
            progress: PollProgress::Ended
        }
    );
}

#[tokio::test]
async fn an_unreadable_manifest_fails_the_poll() {
    let mut empty = ScriptedItems(VecDeque::new());
    let mock = MockProvider::new(Duration::MAX);
    let polled = mock
        .poll(
            &ProviderJobId(String::new()),
            &svc_mock(),
            &mut empty,
            at(0),
        )
        .await;
    assert_eq!(polled, Err(PollFailure("read too often".to_owned())));
}

#[tokio::test]
async fn the_last_user_message_is_echoed() {
    let params = r#"{"model":"svc-mock","max_tokens":100,"system":"Be brief.","messages":[
        {"role":"user","content":"first [mock:fail=not the last message]"},
        {"role":"user","content":[{"type":"text","text":"Hello,"},{"type":"text","text":"longshore!"}]},
        {"role":"assistant","content":"[mock:fail=not a user message]"}]}"#;
    insta::assert_snapshot!(outcome(&svc_mock(), item(1, params)).await, @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello,\nlongshore!"}],"model":"svc-mock","stop_reason":"end_turn","usage":{"input_tokens":26,"output_tokens":5}}"#);
}

#[tokio::test]
async fn output_ends_at_max_tokens() {
    let params = r#"{"model":"svc-mock","max_tokens":3,"messages":[{"role":"user","content":"one two three four"}]}"#;
    insta::assert_snapshot!(outcome(&svc_mock(), item(1, params)).await, @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"one two thre"}],"model":"svc-mock","stop_reason":"max_tokens","usage":{"input_tokens":5,"output_tokens":3}}"#);
}

#[tokio::test]
async fn output_ends_before_the_first_stop_sequence() {
    let params = r#"{"model":"svc-mock","max_tokens":30,"stop_sequences":["four","","three"],"messages":[{"role":"user","content":"one two three four"}]}"#;
    insta::assert_snapshot!(outcome(&svc_mock(), item(1, params)).await, @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"one two "}],"model":"svc-mock","stop_reason":"stop_sequence","usage":{"input_tokens":5,"output_tokens":2}}"#);
}

#[tokio::test]
async fn directives_steer_the_answer() {
    let tokens = outcome(&svc_mock(), chat_item(1, "ignored [mock:tokens=9]")).await;
    insta::assert_snapshot!(tokens, @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"ship dock load tide sail bell rope hull ship"}],"model":"svc-mock","stop_reason":"end_turn","usage":{"input_tokens":6,"output_tokens":9}}"#);
    let many = outcome(&svc_mock(), chat_item(1, "[mock:tokens=500]")).await;
    assert!(
        many.contains(r#""output_tokens":100"#) && many.contains("max_tokens"),
        "{many}"
    );
    let stop = outcome(&svc_mock(), chat_item(1, "whole [mock:stop=stop_sequence]")).await;
    insta::assert_snapshot!(stop, @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"whole"}],"model":"svc-mock","stop_reason":"stop_sequence","usage":{"input_tokens":9,"output_tokens":2}}"#);
    let failed = outcome(
        &svc_mock(),
        chat_item(1, "[mock:fail=overloaded, try later]"),
    )
    .await;
    assert_eq!(failed, "failed: overloaded, try later");
}

#[tokio::test]
async fn only_svc_mock_obeys_directives() {
    let other = submission("example-1", MockBehaviour::Echo);
    let answer = outcome(&other, chat_item(1, "x [mock:fail=no]")).await;
    insta::assert_snapshot!(answer, @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"x [mock:fail=no]"}],"model":"example-1","stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":5}}"#);
}

#[tokio::test]
async fn a_failing_model_always_fails() {
    let failing = submission("example-0", MockBehaviour::Fail("out of order".to_owned()));
    assert_eq!(
        outcome(&failing, chat_item(1, "x")).await,
        "failed: out of order"
    );
    let waiting = poll(&failing, vec![chat_item(1, "x")], at(0)).await;
    assert_eq!(
        waiting.progress,
        PollProgress::Running {
            next_poll_at: at(60_000)
        }
    );
}

#[tokio::test]
async fn an_embedding_has_one_unit_vector_per_text() {
    let vectors = submission("vectors", MockBehaviour::Echo);
    let params = r#"{"model":"vectors","input_text":["one","two words","one",""]}"#;
    let polled = poll(&vectors, vec![item(1, params)], at(60_000)).await;
    let Outcome::Success(Completion::Embedding(completion)) = &polled.results[0].outcome else {
        panic!("not an embedding")
    };
    for vector in &completion.embeddings {
        let length = vector.iter().map(|number| number * number).sum::<f32>();
        assert!(
            (length - 1.0).abs() < 1e-5 && vector.len() == 8,
            "{vector:?}"
        );
    }
    assert_eq!(completion.embeddings[0], completion.embeddings[2]);
    assert_ne!(completion.embeddings[0], completion.embeddings[1]);
    insta::assert_snapshot!(outcome(&vectors, item(1, params)).await, @r#"{"id":"emb_019b76daa80070008070000000000001","type":"embedding","model":"vectors","embeddings":[[0.45708698,-0.42008433,-0.24218936,-0.1837706,0.4065842,-0.08669235,0.49080664,-0.3293266],[0.15755968,-0.29350537,0.09586644,0.15471339,-0.5711249,-0.29756132,-0.507546,-0.42845488],[0.45708698,-0.42008433,-0.24218936,-0.1837706,0.4065842,-0.08669235,0.49080664,-0.3293266],[-0.36347622,-0.5426724,-0.42066097,-0.12942667,0.01460381,-0.24042858,-0.02108,0.5667638]],"usage":{"input_tokens":5,"output_tokens":0}}"#);
}

#[tokio::test]
async fn an_embedding_of_too_many_texts_fails() {
    let vectors = submission("vectors", MockBehaviour::Echo);
    let texts = |count: usize| {
        let texts = serde_json::to_string(&vec![""; count]).unwrap();
        item(1, &format!(r#"{{"model":"vectors","input_text":{texts}}}"#))
    };
    let most = outcome(&vectors, texts(2048)).await;
    assert!(most.starts_with(r#"{"id":"emb_"#), "{most}");
    let more = outcome(&vectors, texts(2049)).await;
    assert_eq!(more, "failed: a request may have at most 2048 texts");
}

#[tokio::test]
async fn the_same_cargo_has_the_same_answer_after_a_crash() {
    let first = poll(
        &svc_mock(),
        vec![chat_item(1, "again [mock:tokens=7]")],
        at(60_000),
    )
    .await;
    let second = poll(
        &svc_mock(),
        vec![chat_item(1, "again [mock:tokens=7]")],
        at(99_000),
    )
    .await;
    assert_eq!(first, second);
}
