//! Input lines must not change between releases: a later release may rebuild a job to submit it
//! again. If a test here fails, raise `ENCODER_VERSION`.

use std::fmt::Write as _;

use domain::features::SchemaDialect;
use domain::id::OrganizationId;
use domain::route::{ChatApi, InferenceMode, Route};
use outbound::provider::BatchItem;
use outbound::provider::batch_provider::{BatchProvider, ENCODER_VERSION};
use outbound::provider::media::NoMedia;
use outbound::provider::openai::{OpenAi, OpenAiService};
use serde_json::{Value, json};
use test_support::features::every_chat_feature;
use tokio_rustls::rustls::RootCertStore;
use uuid::Uuid;

use super::{
    TIMEOUTS, anthropic, batch_providers, gemini, item, openai, options, plain_route, spool,
};

const BASE_URL: &str = "http://127.0.0.1:1";

fn item_of(number: u64, params: Value) -> BatchItem {
    BatchItem {
        organization: OrganizationId::from_uuid(Uuid::nil()),
        params: serde_json::from_value(params).unwrap(),
        ..item(number, "")
    }
}

/// The digest of a job, as it is stored with the version.
async fn digest(provider: &dyn BatchProvider, route: &Route, items: &[BatchItem]) -> String {
    let mut spool = spool().await;
    for item in items {
        let line = provider.encode(item, route, &NoMedia).unwrap();
        spool.write(&line).await.unwrap();
    }
    hex::encode(spool.sha256().0)
}

#[tokio::test]
async fn a_job_submitted_under_this_version_can_be_rebuilt() {
    let short = json!({
        "model": "ours", "max_tokens": 50, "messages": [{"role": "user", "content": "Hi"}],
    });
    let full = json!({
        "model": "ours", "max_tokens": 50, "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a\nb"}]},
            {"role": "assistant", "content": "c"},
            {"role": "user", "content": "\"é\u{0}\u{2028}"},
        ],
        "temperature": 0.1, "top_p": 1e-7, "top_k": 40, "stop_sequences": ["END"],
    });
    let items = [item_of(1, short), item_of(2, full)];
    let route = plain_route(InferenceMode::Batch);
    let mut digests = format!("encoder {ENCODER_VERSION}\n");
    for provider in batch_providers(BASE_URL, TIMEOUTS) {
        writeln!(digests, "{}", digest(&*provider, &route, &items).await).unwrap();
    }
    insta::assert_snapshot!(digests, @r"
    encoder 2
    ed54a5a0fcc224d0bedecca496b5d59eca92c8c44ce7cc1e80ef0a9bb7e9ec19
    bd615241da37801b10e8bd0224675c1b4e3bf88609baf893ee2a8eccc51a10fa
    e4ed2c3b3445cb1a631e8596b64f245c129f63a0e23333159fc47f510c154f23
    ");
}

fn tools() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
        "additionalProperties": false,
    });
    json!([
        {
            "name": "weather", "description": "The weather.", "input_schema": schema,
            "strict": true, "cache_control": {"type": "ephemeral", "ttl": "1h"},
        },
        {"name": "time", "input_schema": {"type": "object", "properties": {}}},
    ])
}

/// A conversation with calls, their results, and a thought of every kind of provider.
fn tool_loop() -> Value {
    let thought =
        |signature| json!({"type": "thinking", "thinking": "Hm.", "signature": signature});
    let answer = json!([
        thought("v1.openai.c2ln.cnNfMQ"), thought("v1.anthropic.c2ln"),
        thought("v1.gemini.c2ln"), thought("v1.server.c2ln"),
        {"type": "redacted_thinking", "data": "v1.anthropic.ZGF0YQ"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "weather", "input": {"days": 1, "city": "Kiel"}},
        {"type": "tool_use", "id": "b", "name": "time", "input": {}},
    ]);
    let results = json!([
        {
            "type": "tool_result", "tool_use_id": "a",
            "content": [{"type": "text", "text": "Rain."}, {"type": "text", "text": "Wind."}],
        },
        {"type": "tool_result", "tool_use_id": "b", "content": "no clock", "is_error": true},
        {"type": "text", "text": "And now?", "cache_control": {"type": "ephemeral"}},
    ]);
    json!({
        "model": "ours", "max_tokens": 4096,
        "system": [{"type": "text", "text": "A manual.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": answer},
            {"role": "user", "content": results},
        ],
        "tools": tools(),
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
        "thinking": {"type": "adaptive", "display": "summarized"},
    })
}

fn chat(fields: &Value) -> Value {
    let mut params = json!({
        "model": "ours", "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Hi"}],
    });
    let params_of = params.as_object_mut().unwrap();
    params_of.extend(fields.as_object().unwrap().clone());
    params
}

/// Requests that use every field beyond the contract, and that every provider takes.
fn extended_chats() -> Vec<BatchItem> {
    let schema = json!({
        "type": "object", "properties": {"city": {"type": "string"}},
        "required": ["city"], "additionalProperties": false,
    });
    let requests = [
        tool_loop(),
        chat(&json!({
            "output_config": {
                "format": {"type": "json_schema", "schema": schema, "name": "report"},
                "effort": "low",
            },
            "cache_control": {"type": "ephemeral"},
            "seed": 7,
            "provider_options": {
                "openai": {"verbosity": "low"},
                "gemini": {"mediaResolution": "MEDIA_RESOLUTION_LOW"},
            },
        })),
        chat(&json!({
            "tools": tools(),
            "tool_choice": {"type": "tool", "name": "weather"},
            "thinking": {"type": "disabled"},
        })),
    ];
    let items = (1..).zip(requests);
    items.map(|(number, it)| item_of(number, it)).collect()
}

/// For models whose thinking has a budget of tokens.
fn budget_chat() -> BatchItem {
    let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 2048}});
    item_of(8, chat(&thinking))
}

fn embedding(texts: &Value) -> BatchItem {
    let params = json!({
        "model": "ours", "input_text": texts, "dimensions": 256, "input_type": "query",
    });
    item_of(9, params)
}

/// A provider, how it is asked, and what it takes.
type Way = (&'static str, Box<dyn BatchProvider>, Route, Vec<BatchItem>);

/// A route to a model that has every feature.
fn capable_route(api: ChatApi, dialect: SchemaDialect, budget: Option<(u32, u32)>) -> Route {
    Route {
        api,
        features: every_chat_feature(dialect, budget),
        ..plain_route(InferenceMode::Batch)
    }
}

#[tokio::test]
async fn a_job_with_every_feature_can_be_rebuilt_too() {
    let roots = || RootCertStore::empty();
    let service = |service: OpenAiService| {
        OpenAi::for_service(options(BASE_URL, TIMEOUTS), roots(), service).unwrap()
    };
    let openai_route = |api| capable_route(api, SchemaDialect::OpenAi, None);
    let budget = Some((1024, 32_768));
    let gemini_route = |budget| capable_route(ChatApi::Completions, SchemaDialect::Gemini, budget);
    let with = |more: &[BatchItem]| [extended_chats(), more.to_vec()].concat();
    let with_texts = with(&[embedding(&json!(["Hi", "there"]))]);
    let ways: [Way; 7] = [
        (
            "openai, completions",
            Box::new(openai(BASE_URL, TIMEOUTS)),
            openai_route(ChatApi::Completions),
            with_texts.clone(),
        ),
        (
            "openai, responses",
            Box::new(openai(BASE_URL, TIMEOUTS)),
            openai_route(ChatApi::Responses),
            with_texts.clone(),
        ),
        (
            "azure, responses",
            Box::new(service(OpenAiService::AZURE)),
            openai_route(ChatApi::Responses),
            with_texts,
        ),
        (
            "groq",
            Box::new(service(OpenAiService::GROQ)),
            openai_route(ChatApi::Completions),
            extended_chats(),
        ),
        (
            "anthropic",
            Box::new(anthropic(BASE_URL, TIMEOUTS)),
            capable_route(ChatApi::Completions, SchemaDialect::Anthropic, budget),
            with(&[budget_chat()]),
        ),
        (
            "gemini, levels",
            Box::new(gemini(BASE_URL, TIMEOUTS)),
            gemini_route(None),
            with(&[embedding(&json!("Hi"))]),
        ),
        (
            "gemini, budgets",
            Box::new(gemini(BASE_URL, TIMEOUTS)),
            gemini_route(budget),
            with(&[embedding(&json!("Hi")), budget_chat()]),
        ),
    ];
    let mut digests = format!("encoder {ENCODER_VERSION}\n");
    for (name, provider, route, items) in ways {
        let digest = digest(&*provider, &route, &items).await;
        writeln!(digests, "{name}: {digest}").unwrap();
    }
    insta::assert_snapshot!(digests, @r"
    encoder 2
    openai, completions: e31dc2c2082367a055d67eb97ddd8d5ba5ab7ca31af8d099455ea48577677d11
    openai, responses: 8f9dda8fcb91263df8e916b15b6063523cf25e5f2cba476fc27f56bbfa08bf76
    azure, responses: 7757307ba3f05b2ed836972b423048417fe3b7a976a6ce3fe1f86bb56cc05f44
    groq: 85390ffe9af67ae205ff24f8d45d8310dc6629b292dc03f15d3b017953c88adf
    anthropic: 703baa229a059882e7420f273a3e0163e58f13b45ce4c63117055a202a20e99d
    gemini, levels: 2790b48365597817444190ab3a73839b009cc2040571fecd3c9c16ee7e95d76a
    gemini, budgets: 68b35b36ffed067358059ed7a4e50bc5b04303a505cfe413128c8f92521bc836
    ");
}
