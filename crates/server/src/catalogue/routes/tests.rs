//! Routes: their order, their errors, and the examples in the documentation.

use domain::model::Catalogue;

use super::*;
use crate::catalogue::parse;
use crate::providers::tests::{accounts, unread};

pub(crate) const PROVIDERS: &str = r#"
    provider = [
        { name = "openai-main", kind = "openai", credential_env = "OPENAI_API_KEY" },
        { name = "claude-south", kind = "anthropic", credential_env = "ANTHROPIC_API_KEY", shards = { south = 1 } },
        { name = "gemini-main", kind = "gemini", credential_env = "GEMINI_API_KEY" },
        { name = "our-vllm", kind = "server", base_url = "http://localhost:8000/v1" },
    ]
"#;

fn with_providers(text: &str) -> Result<Catalogue, String> {
    parse(text, &accounts(PROVIDERS))
}

#[test]
fn routes_are_read_in_their_order() {
    let text = r#"
        [[model]]
        id = "demo"
        kind = "chat"
        routes = [
            { provider = "openai-main", upstream = "gpt-5-mini" },
            { provider = "our-vllm", upstream = "qwen" },
            { provider = "openai-main", via = "realtime" },
            { provider = "claude-south", upstream = "claude" },
        ]
    "#;
    let catalogue = with_providers(text).unwrap();
    let routes = catalogue.find("demo").unwrap().routes.iter();
    let read: Vec<_> = routes
        .map(|it| (it.provider.as_str(), it.upstream_model.as_str(), it.via))
        .collect();
    let expected = [
        ("openai-main", "gpt-5-mini", InferenceMode::Batch),
        ("our-vllm", "qwen", InferenceMode::Realtime),
        ("openai-main", "demo", InferenceMode::Realtime),
        ("claude-south", "claude", InferenceMode::Batch),
    ];
    assert_eq!(read, expected);
    let one =
        r#"model = [{ id = "a", provider = "our-vllm", upstream = "b", kind = "embedding" }]"#;
    let catalogue = with_providers(one).unwrap();
    let only = Route {
        features: feature_defaults::for_kind(ProviderKind::Server, ChatApi::Completions),
        ..Route::plain("our-vllm", "b", InferenceMode::Realtime)
    };
    assert_eq!(catalogue.find("a").unwrap().routes, Routes::from(only));
}

#[test]
fn every_route_that_leads_nowhere_has_its_line() {
    let text = r#"
        model = [
            { id = "neither", kind = "chat" },
            { id = "both", kind = "chat", provider = "mock", routes = [{ provider = "mock" }] },
            { id = "none", kind = "chat", routes = [] },
            { id = "beside", kind = "chat", upstream = "x", routes = [{ provider = "mock" }] },
            { id = "unknown", kind = "chat", routes = [{ provider = "openai-man" }, { provider = "bedrock" }] },
            { id = "twice", kind = "chat", routes = [{ provider = "openai-main" }, { provider = "openai-main", upstream = "x" }] },
            { id = "ways", kind = "chat", routes = [
                { provider = "openai-main", via = "fast" },
                { provider = "our-vllm", via = "batch" },
                { provider = "gemini-main", via = "realtime" },
                { provider = "mock", via = "realtime" },
            ] },
            { id = "vectors", kind = "embedding", routes = [
                { provider = "openai-main" },
                { provider = "claude-south" },
                { provider = "gemini-main", via = "flex" },
                { provider = "openai-main", via = "realtime", api = "responses" },
            ] },
            { id = "media", kind = "chat", capabilities = ["vision", "documents", "video"], routes = [
                { provider = "openai-main" },
                { provider = "claude-south" },
                { provider = "gemini-main" },
                { provider = "our-vllm" },
            ] },
            { id = "lonely", kind = "chat", provider = "claude-south" },
            { id = "svc-mock", kind = "chat", provider = "openai-main" },
        ]
    "#;
    insta::assert_snapshot!(with_providers(text).unwrap_err(), @r"
    model `neither`: provider or routes is missing
    model `both`: provider and routes are both given; leave one out
    model `none`: routes is empty
    model `beside`: upstream and routes are both given; set upstream in each route
    model `unknown`: there is no provider `openai-man`; did you mean openai-main?
    model `unknown`: there is no provider `bedrock`; use one of mock, claude-south, gemini-main, openai-main, our-vllm
    model `twice`: provider `openai-main` has two routes with via = batch
    model `ways`: via `fast` is none of batch, flex, realtime
    model `ways`: provider `our-vllm` does not support via = batch
    model `ways`: provider `gemini-main` does not support via = realtime
    model `ways`: provider `mock` does not support via = realtime
    model `vectors`: provider `claude-south` (anthropic) does not support embeddings
    model `vectors`: via = flex is for chat models: no provider has a flex tier for embeddings
    model `vectors`: api = responses is for chat models; leave it out
    model `media`: provider `openai-main` (openai) cannot read video, but the model has video
    model `media`: provider `claude-south` (anthropic) cannot read video, but the model has video
    model `media`: provider `our-vllm` (server) cannot read PDF documents, but the model has documents
    model `lonely`: no route serves shard `north`: add a route to a provider that lists it in shards
    model `svc-mock`: svc-mock must be a free chat model of the mock provider, without mock.fail
    ");
}

#[test]
fn groq_has_no_responses_api() {
    let providers = r#"provider = [
        { name = "groq-main", kind = "groq", credential_env = "OPENAI_API_KEY" },
        { name = "azure-main", kind = "azure", base_url = "https://r.openai.azure.com/openai/v1", credential_env = "OPENAI_API_KEY" },
    ]"#;
    let read = |provider: &str, api: &str| {
        let route = format!("{{ provider = \"{provider}\", api = \"{api}\" }}");
        let text = format!("model = [{{ id = \"demo\", kind = \"chat\", routes = [{route}] }}]");
        parse(&text, &accounts(providers))
    };
    insta::assert_snapshot!(read("groq-main", "responses").unwrap_err(), @"model `demo`: provider `groq-main` does not support api = responses; leave api out");
    assert!(read("groq-main", "completions").is_ok());
    assert!(read("azure-main", "responses").is_ok());
}

/// The text that a documentation page offers for pasting: TOML blocks, and files that its scripts
/// write.
fn pasted(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for line in page.lines() {
        let begins = line == "```toml" || line.ends_with("<<'END'");
        let ends = line == "```" || line == "END";
        match block.as_mut() {
            _ if begins => block = Some(String::new()),
            Some(_) if ends => blocks.extend(block.take()),
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
            None => {}
        }
    }
    blocks
}

#[test]
fn what_the_pages_say_can_be_pasted() {
    let providers = pasted(include_str!("../../../../../docs/providers.md"));
    let models = pasted(include_str!("../../../../../docs/models.md"));
    let is_of = |noun: &'static str| move |text: &&String| text.contains(noun);
    let file: String = providers
        .iter()
        .filter(is_of("[[provider]]"))
        .cloned()
        .collect();
    let accounts = unread(&file);
    assert_eq!(accounts.names().count(), 7);
    let all = providers.iter().chain(&models);
    let catalogues: Vec<_> = all
        .filter(is_of("[[model]]"))
        .map(|text| parse(text, &accounts))
        .collect();
    assert_eq!(catalogues.len(), 7);
    for catalogue in catalogues {
        assert_eq!(catalogue.unwrap().ids().count(), 2);
    }
}
