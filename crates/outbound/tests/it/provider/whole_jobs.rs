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

use super::simulated::{BATCH_SERVICES, BatchService, SimulatedBatchProvider, describe};
use super::{SECRET, TIMEOUTS, item, job_request, plain_route, realtime, spool};
use crate::support::LONG_TIMEOUT;

#[tokio::test]
async fn a_job_runs_and_ends_and_every_item_gets_its_own_answer() {
    for service in BATCH_SERVICES {
        let stage = SimulatedBatchProvider::with_faults(service, &[FaultName::Shuffle]).await;
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
                "{service} {number} {described}"
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
    let mut reports: Vec<(String, String)> = Vec::new();
    for service in BATCH_SERVICES {
        let stage = SimulatedBatchProvider::start(service).await;
        let mut rows = String::new();
        for (number, described) in stage.run(&texts).await {
            writeln!(rows, "{}: {described}", texts[number]).unwrap();
        }
        match reports.iter_mut().find(|(_, other)| *other == rows) {
            Some((names, _)) => write!(names, ", {service}").unwrap(),
            None => reports.push((service.to_string(), rows)),
        }
    }
    let reports = reports
        .iter()
        .map(|(names, rows)| format!("{names}:\n{rows}"));
    let reports: Vec<String> = reports.collect();
    insta::assert_snapshot!(reports.join("\n"), @r#"
    openai, azure, groq:
    plain: "sim:a116c9ed46d62077 plain" EndTurn, 2+2
    [[fail 400]]: failed: simulated failure 400
    [[fail 404]]: failed: simulated failure 404
    [[fail 401]]: retry: status 401
    [[fail 429]]: retry: status 429
    [[fail 500]]: retry: status 500
    [[fail 529]]: retry: status 529
    [[blocked]]: failed: blocked by provider: content_filter
    [[refuse]]: "I'm sorry, but I can't help with that." EndTurn, 3+8
    [[no-usage]]: "sim:08ec9f1a16fdc05a [[no-usage]]" EndTurn, usage unknown, 0+0
    [[absurd-usage]]: "sim:7b9b57ae51e73e09 [[absurd-usage]]" EndTurn, usage unknown, 0+0
    [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2

    anthropic:
    plain: "sim:a116c9ed46d62077 plain" EndTurn, 2+2
    [[fail 400]]: failed: simulated failure 400
    [[fail 404]]: failed: simulated failure 404
    [[fail 401]]: account: authentication_error (status 401)
    [[fail 429]]: retry: status 429
    [[fail 500]]: retry: status 500
    [[fail 529]]: retry: status 529
    [[blocked]]: failed: blocked by provider: refusal
    [[refuse]]: "I'm sorry, but I can't help with that." EndTurn, 3+8
    [[no-usage]]: "sim:08ec9f1a16fdc05a [[no-usage]]" EndTurn, usage unknown, 0+0
    [[absurd-usage]]: "sim:7b9b57ae51e73e09 [[absurd-usage]]" EndTurn, usage unknown, 0+0
    [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2

    gemini:
    plain: "sim:a116c9ed46d62077 plain" EndTurn, 2+2
    [[fail 400]]: failed: simulated failure 400
    [[fail 404]]: failed: simulated failure 404
    [[fail 401]]: account: status 401
    [[fail 429]]: retry: status 429
    [[fail 500]]: retry: status 500
    [[fail 529]]: retry: status 503
    [[blocked]]: failed: blocked by provider: SAFETY
    [[refuse]]: "I'm sorry, but I can't help with that." EndTurn, 3+8
    [[no-usage]]: "sim:08ec9f1a16fdc05a [[no-usage]]" EndTurn, usage unknown, 0+0
    [[absurd-usage]]: "sim:7b9b57ae51e73e09 [[absurd-usage]]" EndTurn, usage unknown, 0+0
    [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    [[twice]]: "sim:055210ece9e1b83d [[twice]]" EndTurn, 3+2
    "#);
}

#[tokio::test]
async fn lines_that_are_doubled_missing_blank_or_unknown_are_told_apart() {
    for service in BATCH_SERVICES {
        let faults = [
            FaultName::DuplicateLines,
            FaultName::MissingLines,
            FaultName::UnknownLines,
            FaultName::BlankLines,
        ];
        let stage = SimulatedBatchProvider::with_faults(service, &faults).await;
        let found = stage.run(&["a", "b", "c", "d"]).await;
        let unknown = found.iter().filter(|(number, _)| *number == usize::MAX);
        assert!(unknown.count() >= 1, "{service} {found:?}");
        let mut numbers: Vec<usize> = found.iter().map(|(number, _)| *number).collect();
        numbers.retain(|number| *number < 4);
        let all = numbers.len();
        numbers.dedup();
        assert!(numbers.len() < all, "{service} none is doubled: {found:?}");
        assert!(numbers.len() < 4, "{service} none is missing: {found:?}");
    }
}

#[tokio::test]
async fn embeddings_run_where_there_are_any() {
    for service in [
        BatchService::OpenAi,
        BatchService::Azure,
        BatchService::Gemini,
    ] {
        let stage = SimulatedBatchProvider::start(service).await;
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
        let job = stage.submit_lines(order, &lines).await.unwrap();
        let found = stage.finish(&job).await;
        assert_eq!(found.len(), 3);
        for (number, described) in found {
            let vector = rule::embedding(&format!("text {number}"), 8);
            assert_eq!(described, format!("{:?}", [vector]), "{service}");
        }
    }
}

#[tokio::test]
async fn gemini_may_answer_a_file_inside_the_job() {
    let stage =
        SimulatedBatchProvider::with_faults(BatchService::Gemini, &[FaultName::InlineAnswer]).await;
    let found = stage.run(&["a", "[[fail 503]]"]).await;
    assert!(found[0].1.contains("sim:"), "{found:?}");
    assert_eq!(found[1].1, "retry: status 503");
    // A result without a key belongs to no item.
    let faults = [FaultName::InlineAnswer, FaultName::MetadataMissing];
    let stage = SimulatedBatchProvider::with_faults(BatchService::Gemini, &faults).await;
    assert_eq!(
        stage.run(&["a"]).await,
        [(usize::MAX, "unknown item".to_owned())]
    );
    let stage = SimulatedBatchProvider::with_faults(
        BatchService::Gemini,
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
