//! Whole jobs, from the first line to the last result.

use std::fmt::Write as _;
use std::time::Duration;

use domain::model::Kind;
use outbound::provider::Item;
use outbound::provider::call::CallFailure;
use outbound::provider::jobs::{Ending, Sight};
use outbound::provider::media::NoMedia;
use serde_json::json;
use simulator::{Fault, FaultName, Options, Provider, Simulator, rule};

use super::simulated::{EVERY, Stage, told};
use super::{PATIENCE, SECRET, item, label, order, server, spool};
use crate::support::AMPLE;

#[tokio::test]
async fn a_job_runs_and_ends_and_every_item_gets_its_own_answer() {
    for provider in EVERY {
        let stage = Stage::with(provider, &[FaultName::Shuffle]).await;
        let texts: Vec<String> = (0..50).map(|number| format!("text {number}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let job = stage.submit(&texts).await.unwrap();
        let seen = stage.jobs.look(&job).await.unwrap();
        assert!(matches!(seen, Sight::Running { .. }), "{seen:?}");
        stage.simulator.advance(Duration::from_millis(200));
        let seen = stage.jobs.look(&job).await.unwrap();
        assert!(matches!(seen, Sight::Running { total: 50, .. }), "{seen:?}");
        let seen = stage.end_of(&job).await;
        let Sight::Ended { results, why } = seen else {
            panic!("{seen:?}")
        };
        assert_eq!(why, Ending::Completed);
        let found = stage.results(&job, &results).await;
        assert_eq!(found.len(), 50);
        for ((number, told), text) in found.iter().zip(&texts) {
            let expected = format!("{:?} EndTurn", rule::chat_text(text));
            assert!(told.starts_with(&expected), "{provider} {number} {told}");
        }
    }
}

#[tokio::test]
async fn what_happened_to_an_item_is_told_alike_by_every_provider() {
    let texts = [
        "plain",
        "[[fail 400]]",
        "[[fail 404]]",
        "[[fail 401]]",
        "[[fail 429]]",
        "[[fail 500]]",
        "[[fail 529]]",
        "[[blocked]]",
        "[[refuse]]",
        "[[no-usage]]",
        "[[absurd-usage]]",
        "[[missing]]",
        "[[twice]]",
    ];
    let mut rows = String::new();
    for provider in EVERY {
        let stage = Stage::of(provider).await;
        for (number, told) in stage.run(&texts).await {
            writeln!(rows, "{provider} {}: {told}", texts[number]).unwrap();
        }
    }
    insta::assert_snapshot!(rows, @r#"
    openai plain: "sim:a116c9ed46d62077 plain" EndTurn, 2+2
    openai [[fail 400]]: failed: simulated failure 400
    openai [[fail 404]]: failed: simulated failure 404
    openai [[fail 401]]: again: status 401
    openai [[fail 429]]: again: status 429
    openai [[fail 500]]: again: status 500
    openai [[fail 529]]: again: status 529
    openai [[blocked]]: failed: blocked by provider: content_filter
    openai [[refuse]]: "I'm sorry, but I can't help with that." EndTurn, 3+8
    openai [[no-usage]]: "sim:08ec9f1a16fdc05a [[no-usage]]" EndTurn, usage unknown, 0+0
    openai [[absurd-usage]]: "sim:7b9b57ae51e73e09 [[absurd-usage]]" EndTurn, usage unknown, 0+0
    openai [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    openai [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    anthropic plain: "sim:a116c9ed46d62077 plain" EndTurn, 2+2
    anthropic [[fail 400]]: failed: simulated failure 400
    anthropic [[fail 404]]: failed: simulated failure 404
    anthropic [[fail 401]]: account: authentication_error (status 401)
    anthropic [[fail 429]]: again: status 429
    anthropic [[fail 500]]: again: status 500
    anthropic [[fail 529]]: again: status 529
    anthropic [[blocked]]: failed: blocked by provider: refusal
    anthropic [[refuse]]: "I'm sorry, but I can't help with that." EndTurn, 3+8
    anthropic [[no-usage]]: "sim:08ec9f1a16fdc05a [[no-usage]]" EndTurn, usage unknown, 0+0
    anthropic [[absurd-usage]]: "sim:7b9b57ae51e73e09 [[absurd-usage]]" EndTurn, usage unknown, 0+0
    anthropic [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    anthropic [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    gemini plain: "sim:a116c9ed46d62077 plain" EndTurn, 2+2
    gemini [[fail 400]]: failed: simulated failure 400
    gemini [[fail 404]]: failed: simulated failure 404
    gemini [[fail 401]]: account: status 401
    gemini [[fail 429]]: again: status 429
    gemini [[fail 500]]: again: status 500
    gemini [[fail 529]]: again: status 503
    gemini [[blocked]]: failed: blocked by provider: SAFETY
    gemini [[refuse]]: "I'm sorry, but I can't help with that." EndTurn, 3+8
    gemini [[no-usage]]: "sim:08ec9f1a16fdc05a [[no-usage]]" EndTurn, usage unknown, 0+0
    gemini [[absurd-usage]]: "sim:7b9b57ae51e73e09 [[absurd-usage]]" EndTurn, usage unknown, 0+0
    gemini [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    gemini [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    "#);
}

#[tokio::test]
async fn lines_that_are_doubled_missing_blank_or_unknown_are_told_apart() {
    for provider in EVERY {
        let faults = [
            FaultName::DuplicateLines,
            FaultName::MissingLines,
            FaultName::UnknownLines,
            FaultName::BlankLines,
        ];
        let stage = Stage::with(provider, &faults).await;
        let found = stage.run(&["a", "b", "c", "d"]).await;
        let unknown = found.iter().filter(|(number, _)| *number == usize::MAX);
        assert!(unknown.count() >= 1, "{provider} {found:?}");
        let mut numbers: Vec<usize> = found.iter().map(|(number, _)| *number).collect();
        numbers.retain(|number| *number < 4);
        let all = numbers.len();
        numbers.dedup();
        assert!(numbers.len() < all, "{provider} none is doubled: {found:?}");
        assert!(numbers.len() < 4, "{provider} none is missing: {found:?}");
    }
}

#[tokio::test]
async fn embeddings_run_where_there_are_any() {
    for provider in [Provider::OpenAi, Provider::Gemini] {
        let stage = Stage::of(provider).await;
        let mut lines = spool().await;
        for number in 0..3 {
            let text = format!("text {number}");
            let params = json!({"model": "ours", "input_text": text});
            let item = Item {
                params: serde_json::from_value(params).unwrap(),
                ..item(number, "")
            };
            let line = stage.jobs.encode(&item, "theirs", &NoMedia).unwrap();
            lines.write(&line).await.unwrap();
        }
        let mut order = order(3);
        order.kind = Kind::Embedding;
        order.upload = stage.jobs.upload(&label(), &lines).await.unwrap();
        let job = stage.jobs.create(&order, &lines).await.unwrap();
        let seen = stage.end_of(&job).await;
        let Sight::Ended { results, .. } = seen else {
            panic!("{seen:?}")
        };
        let found = stage.results(&job, &results).await;
        assert_eq!(found.len(), 3);
        for (number, told) in found {
            let vector = rule::embedding(&format!("text {number}"), 8);
            assert_eq!(told, format!("{:?}", [vector]), "{provider}");
        }
    }
}

#[tokio::test]
async fn gemini_may_answer_a_file_inside_the_job() {
    let stage = Stage::with(Provider::Gemini, &[FaultName::InlineAnswer]).await;
    let found = stage.run(&["a", "[[fail 503]]"]).await;
    assert!(found[0].1.contains("sim:"), "{found:?}");
    assert_eq!(found[1].1, "again: status 503");
    // Nobody can say whose an answer without a key is.
    let faults = [FaultName::InlineAnswer, FaultName::MetadataMissing];
    let stage = Stage::with(Provider::Gemini, &faults).await;
    assert_eq!(
        stage.run(&["a"]).await,
        [(usize::MAX, "not ours".to_owned())]
    );
    let stage = Stage::with(Provider::Gemini, &[FaultName::StatusInsteadOfError]).await;
    assert_eq!(
        stage.run(&["[[fail 503]]"]).await,
        [(0, "again: status 503".to_owned())]
    );
}

#[tokio::test]
async fn a_server_of_ones_own_answers_while_one_waits() {
    let simulator = Simulator::start(Options::manual()).await.unwrap();
    let base = format!("{}/v1", simulator.base_url(Provider::Server));
    let server = server(&base, PATIENCE);
    server.health().await.unwrap();
    assert!(!server.models().await.unwrap().is_empty());
    let ask = async |text: &str| server.ask(&item(1, text), "theirs", &NoMedia, AMPLE).await;
    let answered = told(&ask("hello").await.unwrap());
    let expected = format!("{:?} EndTurn", rule::chat_text("hello"));
    assert!(answered.starts_with(&expected), "{answered}");
    let set = |name| simulator.set_faults(Provider::Server, SECRET, vec![Fault::of(name)]);
    set(FaultName::Context400);
    assert!(told(&ask("hello").await.unwrap()).starts_with("failed: "));
    for fault in [FaultName::Busy503, FaultName::Drop, FaultName::Dead] {
        set(fault);
        let asked = ask("hello").await;
        assert!(
            matches!(asked, Err(CallFailure::Unavailable { .. })),
            "{fault:?} {asked:?}"
        );
    }
    assert!(server.health().await.is_err());
}
