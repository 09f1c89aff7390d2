//! Prints the requests that the encoders write, for the tests in `crates/outbound/sdk`.
//!
//! Reads a JSON list of `{"name": …, "params": {…}}` from stdin. Prints one line of JSON for each
//! request and route.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "it prints, and has nothing to recover from"
)]

use std::io;

use bytes::Bytes;
use domain::features::{
    Features, PromptCaching, SchemaDialect, StructuredOutput, ThinkingSupport, ToolSupport,
};
use domain::file::MediaType;
use domain::params::Params;
use domain::params::thinking::Effort;
use domain::route::{ChatApi, InferenceMode, Route};
use domain::time::Timestamp;
use outbound::provider::BatchItem;
use outbound::provider::anthropic::Anthropic;
use outbound::provider::batch_provider::BatchProvider;
use outbound::provider::client::{ProviderOptions, ProviderTimeouts};
use outbound::provider::gemini::Gemini;
use outbound::provider::media::MediaSource;
use outbound::provider::openai::OpenAi;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_rustls::rustls::RootCertStore;

const CARGO: &str = "crg_019b76da807b774b805000000000002a";
const ORGANIZATION: &str = "org_019b76da807b774b805000000000002a";
const BUDGET: (u32, u32) = (1024, 32_768);

#[derive(Debug, Deserialize)]
struct NamedRequest {
    name: String,
    params: Params,
}

/// A way to a provider.
#[derive(Debug)]
struct EncodedRoute {
    name: &'static str,
    /// Which of the client's types the body has.
    api: &'static str,
    /// Where the body is in a line of a batch.
    body_field: &'static str,
    provider: Box<dyn BatchProvider>,
    route: Route,
}

fn main() {
    let requests: Vec<NamedRequest> =
        serde_json::from_reader(io::stdin()).expect("a list of requests");
    let routes = routes();
    for request in &requests {
        for route in &routes {
            println!("{}", encode(request, route));
        }
    }
}

fn encode(request: &NamedRequest, route: &EncodedRoute) -> Value {
    let item = BatchItem {
        cargo: CARGO.parse().expect("an id"),
        attempt: 1,
        loaded_at: Timestamp::default(),
        organization: ORGANIZATION.parse().expect("an id"),
        params: request.params.clone(),
    };
    let line = route.provider.encode(&item, &route.route, &SampleFiles);
    let (body, refusal) = match line {
        Ok(line) => {
            let mut line: Value = serde_json::from_slice(&line).expect("a line of JSON");
            (line.get_mut(route.body_field).map(Value::take), None)
        }
        Err(unsupported) => (None, Some(unsupported.to_string())),
    };
    json!({
        "name": request.name, "kind": request.params.kind().as_str(),
        "route": route.name, "api": route.api, "body": body, "refusal": refusal,
    })
}

fn routes() -> Vec<EncodedRoute> {
    let responses = features(SchemaDialect::OpenAi, None);
    let chat = Features {
        tool_result_files: false,
        ..responses.clone()
    };
    let anthropic = features(SchemaDialect::Anthropic, Some(BUDGET));
    let (levels, budgets) = (
        features(SchemaDialect::Gemini, None),
        features(SchemaDialect::Gemini, Some(BUDGET)),
    );
    let batch = InferenceMode::Batch;
    let flex = InferenceMode::Flex;
    vec![
        openai("chat", ChatApi::Completions, chat),
        openai("responses", ChatApi::Responses, responses),
        EncodedRoute {
            name: "anthropic",
            api: "anthropic",
            body_field: "params",
            provider: Box::new(
                Anthropic::new(options(), RootCertStore::empty()).expect("a client"),
            ),
            route: with_features(batch, anthropic),
        },
        gemini("gemini-levels", with_features(batch, levels.clone())),
        gemini("gemini-budgets", with_features(batch, budgets)),
        gemini("gemini-flex", with_features(flex, levels)),
    ]
}

fn openai(name: &'static str, api: ChatApi, features: Features) -> EncodedRoute {
    EncodedRoute {
        name,
        api: name,
        body_field: "body",
        provider: Box::new(OpenAi::new(options(), RootCertStore::empty()).expect("a client")),
        route: Route {
            api,
            ..with_features(InferenceMode::Batch, features)
        },
    }
}

fn gemini(name: &'static str, route: Route) -> EncodedRoute {
    EncodedRoute {
        name,
        api: "gemini",
        body_field: "request",
        provider: Box::new(Gemini::new(options(), RootCertStore::empty()).expect("a client")),
        route,
    }
}

fn with_features(via: InferenceMode, features: Features) -> Route {
    Route {
        features,
        ..Route::plain("provider", "model", via)
    }
}

/// Everything that some model of the kind can do, so that the encoder leaves nothing out.
fn features(dialect: SchemaDialect, budget: Option<(u32, u32)>) -> Features {
    Features {
        tools: ToolSupport::Parallel,
        forced_tools: true,
        tool_result_files: true,
        strict_tools: true,
        max_tools: 128,
        structured_output: StructuredOutput::WithTools,
        schema_dialects: vec![dialect],
        thinking: ThinkingSupport {
            adaptive: true,
            budget,
            disabled: true,
            summaries: true,
            efforts: Effort::ALL.to_vec(),
            ..ThinkingSupport::none()
        },
        caching: PromptCaching::Marks,
        seed: true,
        ..Features::plain()
    }
}

fn options() -> ProviderOptions {
    ProviderOptions {
        base_url: "http://127.0.0.1:1".parse().expect("a URL"),
        credential: None,
        timeouts: ProviderTimeouts::default(),
    }
}

/// Files whose id is their type.
#[derive(Debug)]
struct SampleFiles;

impl MediaSource for SampleFiles {
    fn media_type(&self, file: &str) -> Option<MediaType> {
        match file {
            "png" => Some(MediaType::Png),
            "pdf" => Some(MediaType::Pdf),
            "csv" => Some(MediaType::Csv),
            "mp4" => Some(MediaType::Mp4),
            _ => None,
        }
    }

    fn url(&self, file: &str) -> Option<String> {
        Some(format!("https://files.example/{file}"))
    }

    fn text(&self, _: &str) -> Option<String> {
        Some("a,b\n1,2".to_owned())
    }

    fn bytes(&self, file: &str) -> Option<Bytes> {
        Some(file.to_owned().into())
    }
}
