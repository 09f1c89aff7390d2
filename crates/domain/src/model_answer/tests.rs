//! Which outcome a request of each shape gets for an answer.

use super::*;

const PLAIN: ResponseShape = ResponseShape {
    is_extended: false,
    with_thinking: false,
    cuts_at_stop_sequences: false,
    marks_cache: false,
};
const EXTENDED: ResponseShape = ResponseShape {
    is_extended: true,
    with_thinking: true,
    cuts_at_stop_sequences: false,
    marks_cache: false,
};

const USAGE: TokenBuckets = TokenBuckets {
    fresh: 5,
    cached: 20,
    cache_write: 3,
    cache_write_1h: 2,
    output: 7,
    thinking: 4,
};

fn thinking() -> CompletionBlock {
    CompletionBlock::Thinking {
        thinking: "hm".to_owned(),
        signature: "v1.anthropic.c2ln".to_owned(),
    }
}

fn call() -> CompletionBlock {
    let input = serde_json::json!({"b": 1, "a": 2});
    CompletionBlock::ToolUse {
        id: "toolu_1".to_owned(),
        name: "find".to_owned(),
        input: input.as_object().unwrap().clone(),
    }
}

fn text(text: &str) -> CompletionBlock {
    CompletionBlock::plain_text(text.to_owned())
}

fn judge(blocks: Vec<CompletionBlock>, stop: ModelStop, shape: ResponseShape) -> JudgedAnswer {
    let cargo = "crg_019b76da807b774b805000000000002a".parse().unwrap();
    let answer = ModelAnswer::new(blocks, stop, Some(USAGE));
    answer.into_outcome(cargo, "m", shape, &["END".to_owned(), "STOP".to_owned()])
}

fn shown(answer: &JudgedAnswer) -> String {
    match &answer.outcome {
        Outcome::Success(completion) => serde_json::to_string(completion).unwrap(),
        Outcome::Failure(failure) => format!("{}: {}", failure.code.as_str(), failure.message),
    }
}

#[test]
fn a_plain_request_gets_what_the_contract_says() {
    let answer = judge(
        vec![thinking(), text("a"), text("b")],
        ModelStop::EndTurn,
        PLAIN,
    );
    insta::assert_snapshot!(shown(&answer), @r#"{"id":"msg_019b76da807b774b805000000000002a","type":"message","role":"assistant","content":[{"type":"text","text":"ab"}],"model":"m","stop_reason":"end_turn","usage":{"input_tokens":30,"output_tokens":7}}"#);
    assert_eq!(answer.charged, Some(USAGE));
    let details = StopDetails::default();
    let answer = judge(vec![text("no")], ModelStop::Refusal(details), PLAIN);
    assert!(shown(&answer).contains(r#""stop_reason":"end_turn""#));
}

#[test]
fn an_extended_request_gets_every_block_and_the_buckets() {
    let answer = judge(
        vec![thinking(), text(""), call()],
        ModelStop::ToolUse,
        EXTENDED,
    );
    insta::assert_snapshot!(shown(&answer), @r#"{"id":"msg_019b76da807b774b805000000000002a","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"v1.anthropic.c2ln"},{"type":"tool_use","id":"toolu_1","name":"find","input":{"b":1,"a":2}}],"model":"m","stop_reason":"tool_use","usage":{"input_tokens":30,"output_tokens":7,"input_tokens_details":{"cached_tokens":20,"cache_write_tokens":5},"output_tokens_details":{"thinking_tokens":4}}}"#);
}

#[test]
fn a_request_that_only_marks_its_prompt_gets_a_plain_answer_with_the_buckets() {
    let shape = ResponseShape {
        marks_cache: true,
        ..PLAIN
    };
    let answer = judge(vec![thinking(), text("a")], ModelStop::EndTurn, shape);
    insta::assert_snapshot!(shown(&answer), @r#"{"id":"msg_019b76da807b774b805000000000002a","type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"model":"m","stop_reason":"end_turn","usage":{"input_tokens":30,"output_tokens":7,"input_tokens_details":{"cached_tokens":20,"cache_write_tokens":5},"output_tokens_details":{"thinking_tokens":4}}}"#);
    assert!(
        shown(&judge(vec![call()], ModelStop::ToolUse, shape)).starts_with("unsupported_stop:")
    );
}

#[test]
fn a_refusal_without_text_fails_and_costs_the_caller_nothing() {
    for shape in [PLAIN, EXTENDED] {
        let answer = judge(
            vec![thinking()],
            ModelStop::Refusal(StopDetails::default()),
            shape,
        );
        assert_eq!(
            shown(&answer),
            "content_blocked: blocked by provider: refusal"
        );
        assert_eq!(answer.charged, Some(TokenBuckets::default()));
    }
}

#[test]
fn a_refusal_with_text_is_told_to_extended_requests() {
    let details = StopDetails {
        category: Some("bio".to_owned()),
        explanation: None,
    };
    let answer = judge(vec![text("no")], ModelStop::Refusal(details), EXTENDED);
    assert!(
        shown(&answer).contains(r#""stop_reason":"refusal","stop_details":{"category":"bio"}"#)
    );
}

#[test]
fn a_stop_sequence_that_the_provider_does_not_know_cuts_the_text() {
    let shape = ResponseShape {
        cuts_at_stop_sequences: true,
        ..EXTENDED
    };
    let blocks = vec![text("one"), text("two STOP three END"), call()];
    let answer = judge(blocks, ModelStop::EndTurn, shape);
    let shown = shown(&answer);
    assert!(shown.contains(r#""text":"two "}]"#), "{shown}");
    assert!(shown.contains(r#""stop_reason":"stop_sequence","stop_sequence":"STOP""#));
    assert_eq!(answer.charged, Some(USAGE));
}

#[test]
fn a_tool_call_without_tools_in_the_request_is_a_failure() {
    let answer = judge(vec![call()], ModelStop::ToolUse, PLAIN);
    assert!(shown(&answer).starts_with("unsupported_stop:"));
}
