//! What each feature of a model refuses or changes, and where.

mod returned_thoughts;
mod schemas;

use serde_json::{Value, json};

use super::*;
use crate::effort::Effort;
use crate::features::{
    EmbeddingFeatures, Features, PromptCaching, SamplingSupport, SchemaDialect, StructuredOutput,
    ThinkingSupport, ToolSupport,
};
use crate::field_refusal::tests::text_of;
use crate::model::ModelKind;

/// A model that can do everything.
fn able() -> Features {
    Features {
        tools: ToolSupport::Parallel,
        forced_tools: true,
        tool_result_files: true,
        strict_tools: true,
        max_tools: 128,
        structured_output: StructuredOutput::WithTools,
        schema_dialects: vec![SchemaDialect::Server],
        thinking: ThinkingSupport {
            adaptive: true,
            budget: Some((1024, 32_000)),
            disabled: true,
            summaries: true,
            efforts: Effort::ALL.to_vec(),
            default_effort: None,
        },
        caching: PromptCaching::Marks,
        seed: true,
        embedding: EmbeddingFeatures {
            max_inputs: 2048,
            dimensions: Some((1, 3072)),
            input_type: true,
        },
        ..Features::plain()
    }
}

fn report(features: Features, params: Value) -> FeatureReport {
    let model = Model {
        features,
        ..Model::plain("m", "mock", ModelKind::Chat)
    };
    check(&serde_json::from_value(params).unwrap(), &model)
}

/// The report on a chat with these fields beside the required ones: refusals, then warnings.
fn chat(features: Features, fields: Value) -> String {
    let mut params = json!({
        "model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "Hello"}],
    });
    let Value::Object(fields) = fields else {
        unreachable!("the fields are an object")
    };
    params.as_object_mut().unwrap().extend(fields);
    written(&report(features, params))
}

fn written(report: &FeatureReport) -> String {
    let refusals = text_of(&report.refusals);
    let warnings = report.warnings.iter().map(|warning| {
        let code = serde_json::to_string(&warning.code).unwrap();
        format!("{} {code}: {}", warning.field, warning.message)
    });
    let lines = Some(refusals).filter(|it| !it.is_empty()).into_iter();
    lines.chain(warnings).collect::<Vec<_>>().join("\n")
}

fn tool() -> Value {
    json!({"name": "weather", "input_schema": {"type": "object"}})
}

/// A request that uses every feature of a chat.
fn rich() -> Value {
    let file = json!({"type": "image", "source": {"file_id": "file_1"}});
    json!({
        "system": [{"type": "text", "text": "Brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "weather", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [file]},
            ]},
        ],
        "tools": [{"name": "weather", "input_schema": {"type": "object"}, "strict": true}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
        "output_config": {
            "format": {"type": "json_schema", "schema": {"type": "object"}}, "effort": "high",
        },
        "thinking": {"type": "adaptive", "display": "summarized"},
        "seed": 7,
        "temperature": 0.5, "top_p": 0.9, "top_k": 5,
        "stop_sequences": ["a", "b"],
    })
}

#[test]
fn a_model_that_can_do_everything_takes_everything() {
    assert_eq!(chat(able(), rich()), "");
}

#[test]
fn a_plain_model_takes_what_the_contract_has() {
    let contract = json!({
        "messages": [
            {"role": "system", "content": "Brief."},
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            {"role": "assistant", "content": "It"},
        ],
        "system": "Be brief.", "temperature": 0.1, "top_p": 0.2, "top_k": 3,
        "stop_sequences": ["a", "b", "c", "d", "e"], "max_tokens": 1,
    });
    assert_eq!(chat(Features::plain(), contract), "");
}

#[test]
fn a_plain_model_refuses_the_rest_with_all_places() {
    insta::assert_snapshot!(chat(Features::plain(), rich()), @r"
    params.seed [seed]: The model does not take a seed. Leave it out, or choose another model.
    params.tools [tools]: The model cannot call tools. Choose another model.
    params.thinking.type [thinking]: The model does not take thinking of type adaptive.
    params.thinking.display [thinking_display]: The model does not return its thoughts in readable form. Leave display out, or use omitted.
    params.output_config.effort [effort]: The model has no efforts. Leave effort out.
    params.output_config.format [structured_output]: The model does not enforce a schema of its answer. Choose another model.
    ");
}

#[test]
fn each_feature_of_tools_is_needed_by_its_field() {
    let weak = Features {
        tools: ToolSupport::AlwaysParallel,
        forced_tools: false,
        tool_result_files: false,
        strict_tools: false,
        max_tools: 0,
        structured_output: StructuredOutput::WithoutTools,
        ..able()
    };
    insta::assert_snapshot!(chat(weak, rich()), @r"
    params.tools [max_tools]: The model takes at most 0 tools.
    params.tool_choice.type [forced_tools]: The model cannot be forced to call a tool. Use tool_choice auto.
    params.tool_choice.disable_parallel_tool_use [disable_parallel_tool_use]: The model may call several tools at once, and this cannot be turned off.
    params.tools.0.strict [strict_tools]: The model does not enforce schemas of tools. Leave strict out.
    params.messages.2.content.0.content.0 [tool_result_files]: The model reads only text in a tool_result.
    params.output_config.format [structured_output_with_tools]: The model does not take a schema of its answer together with tools.
    ");
}

#[test]
fn parallel_calls_may_stay_on_where_they_cannot_be_turned_off() {
    let features = Features {
        tools: ToolSupport::AlwaysParallel,
        ..able()
    };
    let choice = json!({"type": "auto", "disable_parallel_tool_use": false});
    assert_eq!(
        chat(features, json!({"tools": [tool()], "tool_choice": choice})),
        ""
    );
}

#[test]
fn types_budgets_and_efforts_of_thinking_are_the_models() {
    let limited = Features {
        thinking: ThinkingSupport {
            budget: Some((1024, 2000)),
            efforts: vec![Effort::Low, Effort::High],
            ..ThinkingSupport::none()
        },
        ..able()
    };
    let thinking = |kind: Value| chat(limited.clone(), json!({"thinking": kind}));
    assert_eq!(
        thinking(json!({"type": "enabled", "budget_tokens": 2000})),
        ""
    );
    assert_eq!(
        thinking(json!({"type": "enabled", "budget_tokens": 2000, "display": "omitted"})),
        ""
    );
    insta::assert_snapshot!(thinking(json!({"type": "enabled", "budget_tokens": 2001})), @"params.thinking.budget_tokens [thinking_budget]: The model takes a budget_tokens from 1024 to 2000.");
    insta::assert_snapshot!(thinking(json!({"type": "disabled"})), @"params.thinking.type [thinking]: Thinking of this model cannot be turned off. Leave thinking out.");
    insta::assert_snapshot!(thinking(json!({"type": "adaptive"})), @"params.thinking.type [thinking]: The model does not take thinking of type adaptive.");
    let effort = json!({"output_config": {"effort": "max"}});
    insta::assert_snapshot!(chat(limited.clone(), effort), @"params.output_config.effort [effort]: The model takes these efforts: low, high.");
    let no_budget = Features {
        thinking: ThinkingSupport::none(),
        ..able()
    };
    let enabled = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    insta::assert_snapshot!(chat(no_budget, enabled), @"params.thinking.type [thinking_budget]: The model does not take a budget for thinking. Use output_config.effort if the model has efforts.");
}

#[test]
fn roles_and_a_begun_answer_are_refused_where_a_model_has_none() {
    let strict = Features {
        system_messages: false,
        prefill: false,
        ..Features::plain()
    };
    let messages = json!({"messages": [
        {"role": "system", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "developer", "content": "c"},
        {"role": "assistant", "content": "d"},
    ]});
    insta::assert_snapshot!(chat(strict, messages), @r"
    params.messages.0.role [system_messages]: The model takes no messages of this role. Use the field system.
    params.messages.2.role [system_messages]: The model takes no messages of this role. Use the field system.
    params.messages.3 [prefill]: The model cannot continue a message of the assistant. Let the last message be the user's.
    ");
}

#[test]
fn sampling_is_dropped_with_a_warning_or_refused_as_the_operator_says() {
    let fields = json!({"temperature": 0.5, "top_k": 5});
    let with = |sampling, top_k| Features {
        sampling,
        top_k,
        ..Features::plain()
    };
    assert_eq!(chat(with(SamplingSupport::Pass, true), fields.clone()), "");
    insta::assert_snapshot!(chat(with(SamplingSupport::Pass, false), fields.clone()), @r#"params.top_k "ignored_by_model": top_k has no effect: the model does not take it."#);
    insta::assert_snapshot!(chat(with(SamplingSupport::Drop, true), fields.clone()), @r#"
    params.temperature "ignored_by_model": temperature has no effect: the model does not take it.
    params.top_k "ignored_by_model": top_k has no effect: the model does not take it.
    "#);
    insta::assert_snapshot!(chat(with(SamplingSupport::Refuse, true), fields), @r"
    params.temperature [sampling]: The model does not take temperature. Leave it out, or choose another model.
    params.top_k [sampling]: The model does not take top_k. Leave it out, or choose another model.
    ");
}

#[test]
fn anthropic_takes_sampling_fields_one_by_one_and_few_while_it_thinks() {
    let claude = Features {
        schema_dialects: vec![SchemaDialect::Anthropic],
        ..able()
    };
    let both = json!({"temperature": 0.5, "top_p": 0.9, "top_k": 5});
    insta::assert_snapshot!(chat(claude.clone(), both), @r#"params.top_p "ignored_by_model": top_p has no effect: the model does not take it together with temperature."#);
    let thinking = json!({
        "temperature": 0.5, "top_p": 0.95, "top_k": 5, "thinking": {"type": "adaptive"},
    });
    insta::assert_snapshot!(chat(claude.clone(), thinking), @r#"
    params.temperature "ignored_by_model": temperature has no effect: the model does not take it while it thinks.
    params.top_k "ignored_by_model": top_k has no effect: the model does not take it while it thinks.
    "#);
    let lower = json!({"top_p": 0.9, "thinking": {"type": "adaptive"}});
    insta::assert_snapshot!(chat(claude, lower), @r#"params.top_p "ignored_by_model": top_p has no effect: the model does not take it while it thinks."#);
}

#[test]
fn what_longshore_does_in_place_of_the_model_is_a_warning() {
    let features = Features {
        max_stop_sequences: 4,
        min_output: 16,
        ..Features::plain()
    };
    let most = json!({"stop_sequences": ["a", "b", "c", "d"], "max_tokens": 16});
    assert_eq!(chat(features.clone(), most), "");
    let more = json!({"stop_sequences": ["a", "b", "c", "d", "e"], "max_tokens": 15});
    insta::assert_snapshot!(chat(features, more), @r#"
    params.stop_sequences "emulated": The model takes at most 4 stop sequences, so Longshore cuts the answer at the first one. Tokens after it are charged.
    params.max_tokens "emulated": max_tokens is raised to 16, the least that the model takes.
    "#);
}

#[test]
fn embeddings_have_their_own_limits() {
    let params = |texts: usize, dimensions: u32| {
        let texts = vec!["a"; texts];
        json!({
            "model": "m", "input_text": texts, "dimensions": dimensions, "input_type": "query",
        })
    };
    assert_eq!(written(&report(able(), params(2048, 3072))), "");
    insta::assert_snapshot!(written(&report(able(), params(2049, 3073))), @r"
    params.input_text [max_inputs]: The model takes at most 2048 texts in one request. Send several.
    params.dimensions [dimensions]: The model takes dimensions from 1 to 3072.
    ");
    insta::assert_snapshot!(written(&report(Features::plain(), params(1, 5))), @r"
    params.dimensions [dimensions]: The model has vectors of one length only. Leave dimensions out.
    params.input_type [input_type]: The model does not distinguish types of input. Leave input_type out.
    ");
    let plain = json!({"model": "m", "input_text": "a"});
    assert_eq!(written(&report(Features::plain(), plain)), "");
}
