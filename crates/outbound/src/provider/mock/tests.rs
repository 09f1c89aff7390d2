//! The mock provider as a worker uses it: every open item is asked for its answer.

use chrono::DateTime;
use domain::id::{BatchId, Berth, CargoId, OrganizationId};
use domain::model::ModelKind;
use domain::outcome::Completion;

use super::*;

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
        organization: OrganizationId::new(at(0), Berth::new(7).unwrap(), 1),
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

fn model(name: &str, mock_behaviour: MockBehaviour) -> Model {
    Model {
        mock_behaviour,
        ..Model::plain(name, "mock", ModelKind::Chat)
    }
}

fn svc_mock() -> Model {
    model(SVC_MOCK, MockBehaviour::Echo)
}

fn answer(model: &Model, item: &BatchItem, now: Timestamp) -> MockAnswer {
    MockProvider::new(Duration::from_mins(1)).answer(item, model, now)
}

const fn not_ready(next_poll_at: Timestamp) -> MockAnswer {
    MockAnswer::NotReady { next_poll_at }
}

/// The outcome of an item after every delay, as it is stored.
fn outcome(model: &Model, item: &BatchItem) -> String {
    match answer(model, item, at(86_400_000)) {
        MockAnswer::Ready(Outcome::Success(completion)) => {
            serde_json::to_string(&completion).unwrap()
        }
        MockAnswer::Ready(Outcome::Failure(failure)) => format!("failed: {}", failure.message),
        MockAnswer::NotReady { next_poll_at } => panic!("not ready before {next_poll_at}"),
    }
}

#[test]
fn a_job_is_named_after_its_batch() {
    let batch = BatchId::new(at(0), Berth::new(7).unwrap(), 1);
    insta::assert_snapshot!(MockProvider::job_id(batch).0, @"mock_019b76daa80070008070000000000001");
}

#[test]
fn an_answer_comes_when_it_is_ready() {
    let (slow, quick) = (chat_item(1, "slow"), chat_item(2, "quick [mock:delay=2s]"));
    assert_eq!(answer(&svc_mock(), &slow, at(0)), not_ready(at(60_000)));
    assert_eq!(answer(&svc_mock(), &quick, at(0)), not_ready(at(2000)));
    // The next poll is never immediate, however near the answer is.
    assert_eq!(answer(&svc_mock(), &quick, at(1950)), not_ready(at(2050)));
    let answered = answer(&svc_mock(), &quick, at(2000));
    assert!(matches!(answered, MockAnswer::Ready(_)), "{answered:?}");
    let forever = MockProvider::new(Duration::MAX);
    let waits = forever.answer(&slow, &svc_mock(), at(0));
    assert_eq!(waits, not_ready(at(86_400_000)));
}

#[test]
fn the_last_user_message_is_echoed() {
    let params = r#"{"model":"svc-mock","max_tokens":100,"system":"Be brief.","messages":[
        {"role":"user","content":"first [mock:fail=not the last message]"},
        {"role":"user","content":[{"type":"text","text":"Hello,"},{"type":"text","text":"longshore!"}]},
        {"role":"assistant","content":"[mock:fail=not a user message]"}]}"#;
    insta::assert_snapshot!(outcome(&svc_mock(), &item(1, params)), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello,\nlongshore!"}],"model":"svc-mock","stop_reason":"end_turn","usage":{"input_tokens":26,"output_tokens":5}}"#);
}

#[test]
fn tools_are_ignored_and_the_text_is_echoed() {
    let params = r#"{"model":"svc-mock","max_tokens":100,"system":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}],
        "tools":[{"name":"find","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},
        "messages":[
        {"role":"user","content":"Find it."},
        {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"find","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"here"},{"type":"text","text":"Thanks."}]}]}"#;
    insta::assert_snapshot!(outcome(&svc_mock(), &item(1, params)), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Thanks."}],"model":"svc-mock","stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#);
}

#[test]
fn output_ends_at_max_tokens() {
    let params = r#"{"model":"svc-mock","max_tokens":3,"messages":[{"role":"user","content":"one two three four"}]}"#;
    insta::assert_snapshot!(outcome(&svc_mock(), &item(1, params)), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"one two thre"}],"model":"svc-mock","stop_reason":"max_tokens","usage":{"input_tokens":5,"output_tokens":3}}"#);
}

#[test]
fn output_ends_before_the_first_stop_sequence() {
    let params = r#"{"model":"svc-mock","max_tokens":30,"stop_sequences":["four","","three"],"messages":[{"role":"user","content":"one two three four"}]}"#;
    insta::assert_snapshot!(outcome(&svc_mock(), &item(1, params)), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"one two "}],"model":"svc-mock","stop_reason":"stop_sequence","usage":{"input_tokens":5,"output_tokens":2}}"#);
}

#[test]
fn directives_steer_the_answer() {
    let tokens = outcome(&svc_mock(), &chat_item(1, "ignored [mock:tokens=9]"));
    insta::assert_snapshot!(tokens, @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"ship dock load tide sail bell rope hull ship"}],"model":"svc-mock","stop_reason":"end_turn","usage":{"input_tokens":6,"output_tokens":9}}"#);
    let many = outcome(&svc_mock(), &chat_item(1, "[mock:tokens=500]"));
    assert!(
        many.contains(r#""output_tokens":100"#) && many.contains("max_tokens"),
        "{many}"
    );
    let stop = outcome(
        &svc_mock(),
        &chat_item(1, "whole [mock:stop=stop_sequence]"),
    );
    insta::assert_snapshot!(stop, @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"whole"}],"model":"svc-mock","stop_reason":"stop_sequence","usage":{"input_tokens":9,"output_tokens":2}}"#);
    let failed = outcome(
        &svc_mock(),
        &chat_item(1, "[mock:fail=overloaded, try later]"),
    );
    assert_eq!(failed, "failed: overloaded, try later");
}

#[test]
fn only_svc_mock_obeys_directives() {
    let other = model("example-1", MockBehaviour::Echo);
    let answer = outcome(&other, &chat_item(1, "x [mock:fail=no]"));
    insta::assert_snapshot!(answer, @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"x [mock:fail=no]"}],"model":"example-1","stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":5}}"#);
}

#[test]
fn a_failing_model_always_fails() {
    let failing = model("example-0", MockBehaviour::Fail("out of order".to_owned()));
    assert_eq!(
        outcome(&failing, &chat_item(1, "x")),
        "failed: out of order"
    );
    let waiting = answer(&failing, &chat_item(1, "x"), at(0));
    assert_eq!(waiting, not_ready(at(60_000)));
}

#[test]
fn an_embedding_has_one_unit_vector_per_text() {
    let vectors = model("vectors", MockBehaviour::Echo);
    let params = r#"{"model":"vectors","input_text":["one","two words","one",""]}"#;
    let answered = answer(&vectors, &item(1, params), at(60_000));
    let MockAnswer::Ready(Outcome::Success(Completion::Embedding(completion))) = answered else {
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
    insta::assert_snapshot!(outcome(&vectors, &item(1, params)), @r#"{"id":"emb_019b76daa80070008070000000000001","type":"embedding","model":"vectors","embeddings":[[0.45708698,-0.42008433,-0.24218936,-0.1837706,0.4065842,-0.08669235,0.49080664,-0.3293266],[0.15755968,-0.29350537,0.09586644,0.15471339,-0.5711249,-0.29756132,-0.507546,-0.42845488],[0.45708698,-0.42008433,-0.24218936,-0.1837706,0.4065842,-0.08669235,0.49080664,-0.3293266],[-0.36347622,-0.5426724,-0.42066097,-0.12942667,0.01460381,-0.24042858,-0.02108,0.5667638]],"usage":{"input_tokens":5,"output_tokens":0}}"#);
}

#[test]
fn an_embedding_of_too_many_texts_fails() {
    let vectors = model("vectors", MockBehaviour::Echo);
    let texts = |count: usize| {
        let texts = serde_json::to_string(&vec![""; count]).unwrap();
        item(1, &format!(r#"{{"model":"vectors","input_text":{texts}}}"#))
    };
    let most = outcome(&vectors, &texts(2048));
    assert!(most.starts_with(r#"{"id":"emb_"#), "{most}");
    let more = outcome(&vectors, &texts(2049));
    assert_eq!(more, "failed: a request may have at most 2048 texts");
}

#[test]
fn the_same_cargo_has_the_same_answer_after_a_crash() {
    let item = chat_item(1, "again [mock:tokens=7]");
    let first = answer(&svc_mock(), &item, at(60_000));
    assert_eq!(first, answer(&svc_mock(), &item, at(99_000)));
}
