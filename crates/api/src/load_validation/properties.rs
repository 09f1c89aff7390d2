//! Properties that hold for every body.

use domain::params::{
    ChatMessage, ChatParams, ContentBlock, EmbeddingParams, FileSource, InputText, MessageContent,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::tests::RULES;
use super::*;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "(text|image|user|svc-mock|http://example.com/)".prop_map(Value::from),
    ];
    let key = "(params|model|messages|max_tokens|role|content|type|text|source|file_id|input_text|callback_url|metadata|stop_sequences|temperature|top_k|system|.{0,3})";
    leaf.prop_recursive(8, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((key, inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_block() -> impl Strategy<Value = ContentBlock> {
    let source = || any::<String>().prop_map(|file_id| FileSource { file_id });
    prop_oneof![
        any::<String>().prop_map(|text| ContentBlock::Text { text }),
        source().prop_map(|source| ContentBlock::Image { source }),
        source().prop_map(|source| ContentBlock::Document { source }),
        source().prop_map(|source| ContentBlock::Video { source }),
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

fn any_chat() -> impl Strategy<Value = Params> {
    // Multiples of 1/64 are exact in decimal.
    let ratio = || option::of((0_u8..=64).prop_map(|part| f64::from(part) / 64.0));
    let texts = (
        any::<String>(),
        option::of(any::<String>()),
        vec(".{1,9}", 0..=16),
    );
    let numbers = (1_u32.., ratio(), ratio(), option::of(any::<i64>()));
    (texts, numbers, vec(any_message(), 1..6)).prop_map(|(texts, numbers, messages)| {
        let (model, system, stop_sequences) = texts;
        let (max_tokens, temperature, top_p, top_k) = numbers;
        Params::Chat(ChatParams {
            model,
            max_tokens,
            messages,
            system,
            temperature,
            top_p,
            top_k,
            stop_sequences,
        })
    })
}

fn any_embedding() -> impl Strategy<Value = Params> {
    let input_text = prop_oneof![
        any::<String>().prop_map(InputText::One),
        vec(any::<String>(), 1..5).prop_map(InputText::Many),
    ];
    (any::<String>(), input_text)
        .prop_map(|(model, input_text)| Params::Embedding(EmbeddingParams { model, input_text }))
}

proptest! {
    #[test]
    fn valid_params_come_out_as_they_went_in(params in prop_oneof![any_chat(), any_embedding()]) {
        let body = json!({ "params": params }).to_string();
        prop_assert_eq!(parse_load(body.as_bytes(), &RULES).unwrap().params, params);
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
