//! Whole jobs against the simulator, from the first line to the last result.

use std::fmt::Write as _;
use std::time::Duration;

use domain::model::ModelKind;
use domain::route::InferenceMode;
use outbound::provider::BatchItem;
use outbound::provider::batch_provider::{JobEndReason, JobStatus};
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::media::NoMedia;
use outbound::provider::realtime::RealtimeProvider as _;
use serde_json::json;
use simulator::{FaultName, Options, SimulatedFault, SimulatedProvider, Simulator, rule};

use super::simulated::{BATCH_PROVIDERS, SimulatedBatchProvider, describe};
use super::{SECRET, TIMEOUTS, item, job_request, label, plain_route, realtime, spool};
use crate::support::LONG_TIMEOUT;

#[tokio::test]
async fn a_job_runs_and_ends_and_every_item_gets_its_own_answer() {
    for provider in BATCH_PROVIDERS {
        let stage = SimulatedBatchProvider::with_faults(provider, &[FaultName::Shuffle]).await;
        let texts: Vec<String> = (0..50).map(|number| format!("text {number}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let job = stage.submit(&texts).await.unwrap();
        let seen = stage.jobs.fetch_status(&job).await.unwrap();
        assert!(matches!(seen, JobStatus::Running { .. }), "{seen:?}");
        stage.simulator.advance(Duration::from_millis(200));
        let seen = stage.jobs.fetch_status(&job).await.unwrap();
        assert!(
            matches!(seen, JobStatus::Running { total: 50, .. }),
            "{seen:?}"
        );
        let seen = stage.final_status(&job).await;
        let JobStatus::Ended {
            results,
            end_reason,
        } = seen
        else {
            panic!("{seen:?}")
        };
        assert_eq!(end_reason, JobEndReason::Completed);
        let found = stage.results(&job, &results).await;
        assert_eq!(found.len(), 50);
        for ((number, described), text) in found.iter().zip(&texts) {
            let expected = format!("{:?} EndTurn", rule::chat_text(text));
            assert!(
                described.starts_with(&expected),
                "{provider} {number} {described}"
            );
        }
    }
}

#[tokio::test]
async fn every_provider_reports_the_result_of_an_item_alike() {
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
    for provider in BATCH_PROVIDERS {
        let stage = SimulatedBatchProvider::start(provider).await;
        for (number, described) in stage.run(&texts).await {
            writeln!(rows, "{provider} {}: {described}", texts[number]).unwrap();
        }
    }
    insta::assert_snapshot!(rows, @r#"
    openai plain: "sim:a116c9ed46d62077 plain" EndTurn, 2+2
    openai [[fail 400]]: failed: simulated failure 400
    openai [[fail 404]]: failed: simulated failure 404
    openai [[fail 401]]: retry: status 401
    openai [[fail 429]]: retry: status 429
    openai [[fail 500]]: retry: status 500
    openai [[fail 529]]: retry: status 529
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
    anthropic [[fail 429]]: retry: status 429
    anthropic [[fail 500]]: retry: status 500
    anthropic [[fail 529]]: retry: status 529
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
    gemini [[fail 429]]: retry: status 429
    gemini [[fail 500]]: retry: status 500
    gemini [[fail 529]]: retry: status 503
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
    for provider in BATCH_PROVIDERS {
        let faults = [
            FaultName::DuplicateLines,
            FaultName::MissingLines,
            FaultName::UnknownLines,
            FaultName::BlankLines,
        ];
        let stage = SimulatedBatchProvider::with_faults(provider, &faults).await;
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
    for provider in [SimulatedProvider::OpenAi, SimulatedProvider::Gemini] {
        let stage = SimulatedBatchProvider::start(provider).await;
        let (mut lines, route) = (spool().await, plain_route(InferenceMode::Batch));
        for number in 0..3 {
            let text = format!("text {number}");
            let params = json!({"model": "ours", "input_text": text});
            let item = BatchItem {
                params: serde_json::from_value(params).unwrap(),
                ..item(number, "")
            };
            let line = stage.jobs.encode(&item, &route, &NoMedia).unwrap();
            lines.write(&line).await.unwrap();
        }
        let mut order = job_request(3);
        order.kind = ModelKind::Embedding;
        order.upload = stage.jobs.upload(&label(), &lines).await.unwrap();
        let job = stage.jobs.create_job(&order, &lines).await.unwrap();
        let seen = stage.final_status(&job).await;
        let JobStatus::Ended { results, .. } = seen else {
            panic!("{seen:?}")
        };
        let found = stage.results(&job, &results).await;
        assert_eq!(found.len(), 3);
        for (number, described) in found {
            let vector = rule::embedding(&format!("text {number}"), 8);
            assert_eq!(described, format!("{:?}", [vector]), "{provider}");
        }
    }
}

#[tokio::test]
async fn gemini_may_answer_a_file_inside_the_job() {
    let stage =
        SimulatedBatchProvider::with_faults(SimulatedProvider::Gemini, &[FaultName::InlineAnswer])
            .await;
    let found = stage.run(&["a", "[[fail 503]]"]).await;
    assert!(found[0].1.contains("sim:"), "{found:?}");
    assert_eq!(found[1].1, "retry: status 503");
    // A result without a key belongs to no item.
    let faults = [FaultName::InlineAnswer, FaultName::MetadataMissing];
    let stage = SimulatedBatchProvider::with_faults(SimulatedProvider::Gemini, &faults).await;
    assert_eq!(
        stage.run(&["a"]).await,
        [(usize::MAX, "unknown item".to_owned())]
    );
    let stage = SimulatedBatchProvider::with_faults(
        SimulatedProvider::Gemini,
        &[FaultName::StatusInsteadOfError],
    )
    .await;
    assert_eq!(
        stage.run(&["[[fail 503]]"]).await,
        [(0, "retry: status 503".to_owned())]
    );
}

#[tokio::test]
async fn a_self_hosted_server_answers_in_real_time() {
    let simulator = Simulator::start(Options::manual()).await.unwrap();
    let base = format!("{}/v1", simulator.base_url(SimulatedProvider::Server));
    let server = realtime(&base, TIMEOUTS);
    server.check_health().await.unwrap();
    assert!(!server.list_models().await.unwrap().is_empty());
    let route = plain_route(InferenceMode::Realtime);
    let ask = async |text: &str| {
        server
            .complete_item(&item(1, text), &route, &NoMedia, LONG_TIMEOUT)
            .await
    };
    let answered = describe(&ask("hello").await.unwrap());
    let expected = format!("{:?} EndTurn", rule::chat_text("hello"));
    assert!(answered.starts_with(&expected), "{answered}");
    let set = |name| {
        simulator.set_faults(
            SimulatedProvider::Server,
            SECRET,
            vec![SimulatedFault::new(name)],
        );
    };
    set(FaultName::Context400);
    assert!(describe(&ask("hello").await.unwrap()).starts_with("failed: "));
    for fault in [FaultName::Busy503, FaultName::Drop, FaultName::Dead] {
        set(fault);
        let result = ask("hello").await;
        assert!(
            matches!(result, Err(ProviderCallFailure::Unavailable { .. })),
            "{fault:?} {result:?}"
        );
    }
    assert!(server.check_health().await.is_err());
}
