//! Properties that hold for every body.

use domain::params::cache_control::{CacheControl, CacheTtl};
use domain::params::content::{
    ChatMessage, ContentBlock, FileSource, MessageContent, SystemBlock, SystemPrompt,
    ToolResultContent,
};
use domain::params::thinking::{Effort, OutputConfig, OutputFormat, Thinking, ThinkingDisplay};
use domain::params::tools::{Tool, ToolChoice};
use domain::params::{ChatParams, EmbeddingInputType, EmbeddingParams, InputText};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::tests::RULES;
use super::*;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "(text|image|tool_use|tool_result|thinking|auto|adaptive|user|svc-mock|http://example.com/)".prop_map(Value::from),
    ];
    let key = "(params|model|messages|max_tokens|role|content|type|text|source|file_id|input_text|callback_url|metadata|stop_sequences|temperature|top_k|system|tools|name|input_schema|tool_choice|output_config|format|schema|effort|thinking|budget_tokens|display|cache_control|ttl|seed|provider_options|id|input|tool_use_id|is_error|signature|data|dimensions|input_type|deadline_seconds|deadline_at|response_format|.{0,3})";
    leaf.prop_recursive(8, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((key, inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_mark() -> impl Strategy<Value = Option<CacheControl>> {
    let ttl = prop_oneof![Just(CacheTtl::FiveMinutes), Just(CacheTtl::OneHour)];
    option::of(option::of(ttl).prop_map(|ttl| CacheControl::Ephemeral { ttl }))
}

/// A small object of integers, texts and objects.
fn any_object() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((any::<String>(), inner), 0..3)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    });
    vec((any::<String>(), value), 0..4).prop_map(|entries| entries.into_iter().collect())
}

fn any_file_block() -> impl Strategy<Value = ContentBlock> {
    (any::<String>(), any_mark(), any::<bool>()).prop_map(|(file_id, cache_control, is_image)| {
        let source = FileSource { file_id };
        if is_image {
            ContentBlock::Image {
                source,
                cache_control,
            }
        } else {
            ContentBlock::Document {
                source,
                cache_control,
            }
        }
    })
}

fn any_text_block() -> impl Strategy<Value = ContentBlock> {
    (any::<String>(), any_mark()).prop_map(|(text, cache_control)| ContentBlock::Text {
        text,
        cache_control,
    })
}

fn any_tool_block() -> impl Strategy<Value = ContentBlock> {
    let word = || "[A-Za-z0-9_-]{1,64}";
    let call = (
        word(),
        "[A-Za-z_][A-Za-z0-9_-]{0,63}",
        any_object(),
        any_mark(),
    );
    let call = call.prop_map(|(id, name, input, cache_control)| ContentBlock::ToolUse {
        id,
        name,
        input,
        cache_control,
    });
    let parts = vec(prop_oneof![any_text_block(), any_file_block()], 1..3);
    let content = option::of(prop_oneof![
        any::<String>().prop_map(ToolResultContent::Text),
        parts.prop_map(ToolResultContent::Blocks),
    ]);
    let result = (word(), content, any::<bool>(), any_mark());
    let result = result.prop_map(|(tool_use_id, content, is_error, cache_control)| {
        ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
            cache_control,
        }
    });
    prop_oneof![call, result]
}

fn any_block() -> impl Strategy<Value = ContentBlock> {
    prop_oneof![
        any_text_block(),
        any_file_block(),
        any::<String>().prop_map(|file_id| ContentBlock::Video {
            source: FileSource { file_id },
            cache_control: None,
        }),
        any_tool_block(),
        any::<(String, String)>().prop_map(|(thinking, signature)| ContentBlock::Thinking {
            thinking,
            signature,
        }),
        any::<String>().prop_map(|data| ContentBlock::RedactedThinking { data }),
    ]
}

fn any_message() -> impl Strategy<Value = ChatMessage> {
    let content = prop_oneof![
        any::<String>().prop_map(MessageContent::Text),
        vec(any_block(), 1..4).prop_map(MessageContent::Blocks),
    ];
    ("(user|assistant|system|developer)", content)
        .prop_map(|(role, content)| ChatMessage { role, content })
}

fn any_system() -> impl Strategy<Value = SystemPrompt> {
    let block = (any::<String>(), any_mark()).prop_map(|(text, cache_control)| SystemBlock::Text {
        text,
        cache_control,
    });
    prop_oneof![
        any::<String>().prop_map(SystemPrompt::Text),
        vec(block, 1..3).prop_map(SystemPrompt::Blocks),
    ]
}

fn any_tools() -> impl Strategy<Value = Vec<Tool>> {
    let tool = (
        option::of(any::<String>()),
        any_object(),
        option::of(any::<bool>()),
        any_mark(),
    );
    vec(tool, 0..3).prop_map(|tools| {
        let named = tools.into_iter().enumerate();
        let named = named.map(
            |(index, (description, mut input_schema, strict, cache_control))| {
                input_schema.insert("type".to_owned(), json!("object"));
                Tool {
                    name: format!("tool_{index}"),
                    description,
                    input_schema,
                    strict,
                    cache_control,
                }
            },
        );
        named.collect()
    })
}

fn any_tool_choice() -> impl Strategy<Value = ToolChoice> {
    (0..4, "[A-Za-z_][A-Za-z0-9_-]{0,63}", any::<bool>()).prop_map(
        |(kind, name, disable_parallel_tool_use)| match kind {
            0 => ToolChoice::Auto {
                disable_parallel_tool_use,
            },
            1 => ToolChoice::Any {
                disable_parallel_tool_use,
            },
            2 => ToolChoice::Tool {
                name,
                disable_parallel_tool_use,
            },
            _ => ToolChoice::None,
        },
    )
}

fn any_output_config() -> impl Strategy<Value = OutputConfig> {
    let format = (any_object(), option::of("[A-Za-z_][A-Za-z0-9_-]{0,63}"))
        .prop_map(|(schema, name)| OutputFormat::JsonSchema { schema, name });
    let effort = (0..5_usize).prop_map(|index| Effort::ALL[index]);
    (option::of(format), option::of(effort))
        .prop_map(|(format, effort)| OutputConfig { format, effort })
}

fn any_thinking() -> impl Strategy<Value = Thinking> {
    let display = prop_oneof![
        Just(ThinkingDisplay::Summarized),
        Just(ThinkingDisplay::Omitted)
    ];
    (0..3, 1_u32.., option::of(display)).prop_map(|(kind, budget_tokens, display)| match kind {
        0 => Thinking::Disabled,
        1 => Thinking::Adaptive { display },
        _ => Thinking::Enabled {
            budget_tokens,
            display,
        },
    })
}

fn any_chat() -> impl Strategy<Value = Params> {
    // Multiples of 1/64 are exact in decimal.
    let ratio = || option::of((0_u8..=64).prop_map(|part| f64::from(part) / 64.0));
    let texts = (
        any::<String>(),
        option::of(any_system()),
        vec(".{1,9}", 0..=16),
    );
    let numbers = (1_u32.., ratio(), ratio(), option::of(any::<i64>()));
    let options = proptest::collection::btree_map(any::<String>(), any_object(), 0..3);
    let extensions = (
        any_tools(),
        option::of(any_tool_choice()),
        option::of(any_output_config()),
        option::of(any_thinking()),
        any_mark(),
        option::of(0..=2_147_483_647_u32),
        options,
    );
    let messages = vec(any_message(), 1..6);
    (texts, numbers, messages, extensions).prop_map(|(texts, numbers, messages, extensions)| {
        let (model, system, stop_sequences) = texts;
        let (max_tokens, temperature, top_p, top_k) = numbers;
        let (tools, tool_choice, output_config, thinking, cache_control, seed, provider_options) =
            extensions;
        Params::Chat(ChatParams {
            model,
            max_tokens,
            messages,
            system,
            temperature,
            top_p,
            top_k,
            stop_sequences,
            tools,
            tool_choice,
            output_config,
            thinking,
            cache_control,
            seed,
            provider_options,
        })
    })
}

fn any_embedding() -> impl Strategy<Value = Params> {
    let input_text = prop_oneof![
        any::<String>().prop_map(InputText::One),
        vec(any::<String>(), 1..5).prop_map(InputText::Many),
    ];
    let input_type = prop_oneof![
        Just(EmbeddingInputType::Query),
        Just(EmbeddingInputType::Document),
        Just(EmbeddingInputType::Similarity),
        Just(EmbeddingInputType::Classification),
        Just(EmbeddingInputType::Clustering),
    ];
    let dimensions = option::of(1_u32..);
    (
        any::<String>(),
        input_text,
        dimensions,
        option::of(input_type),
    )
        .prop_map(|(model, input_text, dimensions, input_type)| {
            Params::Embedding(EmbeddingParams {
                model,
                input_text,
                dimensions,
                input_type,
            })
        })
}

proptest! {
    #[test]
    fn valid_params_come_out_as_they_went_in(params in prop_oneof![any_chat(), any_embedding()]) {
        let body = json!({ "params": params }).to_string();
        let load = parse_load(body.as_bytes(), &RULES).unwrap();
        prop_assert_eq!(load.params, params);
        prop_assert_eq!(load.warnings, []);
    }

    #[test]
    fn json_is_never_a_bad_request(body in any_json(), inside: bool) {
        let body = if inside { json!({ "params": body }) } else { body };
        if let Err(problem) = parse_load(body.to_string().as_bytes(), &RULES) {
            prop_assert_eq!(problem.status(), StatusCode::UNPROCESSABLE_ENTITY);
        }
    }

    #[test]
    fn any_bytes_are_answered(body in vec(any::<u8>(), 0..200)) {
        let _ = parse_load(&body, &RULES);
    }

    #[test]
    fn a_broken_load_is_answered(cut in 0_usize..400, byte: u8, params in any_chat()) {
        let mut body = json!({ "params": params }).to_string().into_bytes();
        let cut = cut % body.len();
        body[cut] = byte;
        let _ = parse_load(&body, &RULES);
        body.truncate(cut);
        prop_assert_eq!(parse_load(&body, &RULES).unwrap_err().status(), StatusCode::BAD_REQUEST);
    }
}
