//! What a provider tells against what the catalogue says.

use chrono::NaiveDate;
use domain::features::{StructuredOutput, ThinkingSupport, ToolSupport};
use domain::model::{Capability, Model, ModelKind};
use domain::params::thinking::Effort;
use domain::route::{InferenceMode, Route, Routes};
use outbound::provider::model_info::{ModelInfo, ThinkingInfo};
use outbound::provider::realtime::ProbedFeatures;

use super::*;
use crate::models_check::upstream::UpstreamFacts;

/// A model that claims nearly everything, by one route.
fn model(id: &str, provider: &str, via: InferenceMode) -> Model {
    let mut route = Route::plain(provider, "theirs", via);
    route.features.tools = ToolSupport::Parallel;
    route.features.structured_output = StructuredOutput::WithTools;
    route.features.thinking = ThinkingSupport {
        adaptive: true,
        budget: Some((1024, 32_000)),
        disabled: true,
        efforts: vec![Effort::Low, Effort::Max],
        ..ThinkingSupport::none()
    };
    Model {
        routes: Routes::from(route),
        capabilities: vec![Capability::Vision, Capability::Documents],
        context: Some(1_000_000),
        max_output: Some(128_000),
        retires_at: NaiveDate::from_ymd_opt(2027, 1, 14),
        ..Model::plain(id, provider, ModelKind::Chat)
    }
}

fn answers<const N: usize>(told: [(&str, Result<UpstreamFacts, String>); N]) -> UpstreamAnswers {
    let told = told.into_iter();
    told.map(|(provider, facts)| ((provider.to_owned(), "theirs".to_owned()), facts))
        .collect()
}

fn facts(info: ModelInfo) -> UpstreamFacts {
    UpstreamFacts {
        exists: Some(true),
        info,
        probed: None,
    }
}

#[test]
fn a_provider_that_agrees_or_says_nothing_is_ok() {
    let info = ModelInfo {
        max_input: Some(1_000_000),
        max_output: Some(128_000),
        retires_at: NaiveDate::from_ymd_opt(2027, 1, 14),
        batch: Some(true),
        images: Some(true),
        documents: Some(true),
        structured_output: Some(true),
        thinking: ThinkingInfo {
            adaptive: Some(true),
            enabled: Some(true),
            disabled: Some(true),
            efforts: Some(vec![Effort::Low, Effort::Max]),
        },
    };
    let catalogue = Catalogue::new([
        model("agrees", "claude", InferenceMode::Batch),
        model("silent", "azure", InferenceMode::Batch),
        Model::plain("svc-mock", MOCK, ModelKind::Chat),
    ]);
    let answers = answers([
        ("claude", Ok(facts(info))),
        ("azure", Ok(UpstreamFacts::default())),
    ]);
    let report = build_report(&catalogue, &answers);
    assert!(report.ok);
    insta::assert_snapshot!(render_text(&report), @r"
    MODEL   PROVIDER  VIA    UPSTREAM  RESULT
    agrees  claude    batch  theirs    ok
    silent  azure     batch  theirs    ok

    routes: 2; with a contradiction: 0; not checked: 0
    ");
}

#[test]
fn everything_that_a_provider_denies_is_a_contradiction() {
    let info = ModelInfo {
        max_input: Some(200_000),
        max_output: Some(64_000),
        retires_at: NaiveDate::from_ymd_opt(2026, 11, 30),
        batch: Some(false),
        images: Some(false),
        documents: Some(false),
        structured_output: Some(false),
        thinking: ThinkingInfo {
            adaptive: Some(false),
            enabled: Some(false),
            disabled: Some(false),
            efforts: Some(vec![Effort::Low, Effort::Medium]),
        },
    };
    let catalogue = Catalogue::new([model("denied", "claude", InferenceMode::Batch)]);
    let report = build_report(&catalogue, &answers([("claude", Ok(facts(info)))]));
    assert!(!report.ok);
    insta::assert_snapshot!(render_text(&report), @r"
    MODEL   PROVIDER  VIA    UPSTREAM  RESULT
    denied  claude    batch  theirs    CONTRADICTION
        context: 1000000, but the provider takes 200000 tokens of input
        limits.max_output: 128000, but the provider writes at most 64000 tokens
        via: the provider says that the model cannot do this
        capabilities.vision: the provider says that the model cannot do this
        capabilities.documents: the provider says that the model cannot do this
        features.structured_output: the provider says that the model cannot do this
        features.thinking.types.adaptive: the provider says that the model cannot do this
        features.thinking.types.enabled: the provider says that the model cannot do this
        features.thinking.types.disabled: the provider says that the model cannot do this
        features.thinking.efforts: the provider does not take max
        note: features.thinking.efforts: the provider also takes medium
        retires_at: 2027-01-14, but the provider stops serving it on 2026-11-30

    routes: 1; with a contradiction: 1; not checked: 0
    ");
}

#[test]
fn a_server_shows_what_it_can_do() {
    let probed = |tools, schemas| {
        Ok(UpstreamFacts {
            exists: Some(true),
            probed: Some(ProbedFeatures { tools, schemas }),
            ..UpstreamFacts::default()
        })
    };
    let via = InferenceMode::Realtime;
    let plain = Route::plain("able", "theirs", via);
    let catalogue = Catalogue::new([
        model("claims", "unable", via),
        Model {
            routes: Routes::from(plain),
            ..Model::plain("modest", "able", ModelKind::Chat)
        },
    ]);
    let answers = answers([
        ("unable", probed(false, false)),
        ("able", probed(true, true)),
    ]);
    insta::assert_snapshot!(render_text(&build_report(&catalogue, &answers)), @r#"
    MODEL   PROVIDER  VIA       UPSTREAM  RESULT
    claims  unable    realtime  theirs    CONTRADICTION
        features.tools: the server did not call a forced tool: start vLLM with --enable-auto-tool-choice and --tool-call-parser, SGLang with --tool-call-parser, llama.cpp with --jinja; or set tools = "none"
        features.structured_output: the answer did not follow its schema: enable structured outputs: --structured-outputs-config of vLLM, --grammar-backend of SGLang, a current llama.cpp; or set structured_output = "none"
    modest  able      realtime  theirs    ok
        note: features.tools: none, but the server called a forced tool
        note: features.structured_output: none, but the server followed a schema

    routes: 2; with a contradiction: 1; not checked: 0
    "#);
}

#[test]
fn a_missing_model_and_a_provider_that_is_down_are_reported() {
    let catalogue = Catalogue::new([
        model("gone", "openai", InferenceMode::Batch),
        model("down", "claude", InferenceMode::Batch),
    ]);
    let missing = UpstreamFacts {
        exists: Some(false),
        ..UpstreamFacts::default()
    };
    let answers = answers([
        ("openai", Ok(missing)),
        (
            "claude",
            Err("the provider rejected the credential".to_owned()),
        ),
    ]);
    let report = build_report(&catalogue, &answers);
    insta::assert_snapshot!(render_text(&report), @r"
    MODEL  PROVIDER  VIA    UPSTREAM  RESULT
    down   claude    batch  theirs    not checked
        the provider rejected the credential
    gone   openai    batch  theirs    CONTRADICTION
        upstream: the provider has no model of this name

    routes: 2; with a contradiction: 1; not checked: 1
    ");
    insta::assert_snapshot!(serde_json::to_string(&report).unwrap(), @r#"{"ok":false,"routes":[{"model":"down","provider":"claude","via":"batch","upstream":"theirs","result":"unchecked","findings":[],"error":"the provider rejected the credential"},{"model":"gone","provider":"openai","via":"batch","upstream":"theirs","result":"contradiction","findings":[{"kind":"contradiction","field":"upstream","message":"the provider has no model of this name"}],"error":null}]}"#);
    let empty = build_report(&Catalogue::default(), &UpstreamAnswers::new());
    assert!(empty.ok);
    insta::assert_snapshot!(render_text(&empty), @"no route of the catalogue leads to a provider; nothing to check");
}
