//! The routes: every adapter, dialect and tier that encodes in another way.

use domain::features::{Features, SchemaDialect};
use domain::route::{ChatApi, InferenceMode, Route};
use outbound::provider::anthropic::Anthropic;
use outbound::provider::batch_provider::BatchProvider;
use outbound::provider::client::{ProviderOptions, ProviderTimeouts};
use outbound::provider::gemini::Gemini;
use outbound::provider::gemini::realtime::GeminiRealtime;
use outbound::provider::openai::{OpenAi, OpenAiService};
use outbound::provider::realtime::{OpenAiRealtime, RealtimeProvider, ServerDialect};
use test_support::features::every_chat_feature;
use test_support::scripted_receiver::{ScriptedReceiver, plain_reply};
use tokio_rustls::rustls::RootCertStore;

const BUDGET: (u32, u32) = (1024, 32_768);
/// Lines of a batch are encoded without a call.
const UNUSED_PORT: u16 = 1;

/// A way to a provider.
#[derive(Debug)]
pub(crate) struct EncodedRoute {
    pub(crate) name: &'static str,
    /// Which of the client's types the body has.
    pub(crate) api: &'static str,
    pub(crate) way: EncodedWay,
    pub(crate) route: Route,
}

#[derive(Debug)]
pub(crate) enum EncodedWay {
    Batch {
        /// Where the body is in a line.
        body_field: &'static str,
        provider: Box<dyn BatchProvider>,
    },
    Realtime {
        provider: Box<dyn RealtimeProvider>,
        server: ScriptedReceiver,
    },
}

pub(crate) async fn all() -> Vec<EncodedRoute> {
    let mut routes = batch_routes();
    routes.extend(realtime_routes().await);
    routes
}

fn batch_routes() -> Vec<EncodedRoute> {
    let responses = every_chat_feature(SchemaDialect::OpenAi, None);
    let chat = Features {
        tool_result_files: false,
        ..responses.clone()
    };
    let anthropic = every_chat_feature(SchemaDialect::Anthropic, Some(BUDGET));
    let (levels, budgets) = (
        every_chat_feature(SchemaDialect::Gemini, None),
        every_chat_feature(SchemaDialect::Gemini, Some(BUDGET)),
    );
    let batch = InferenceMode::Batch;
    let (completions, openai) = (ChatApi::Completions, OpenAiService::OPENAI);
    vec![
        openai_batch("chat", completions, openai, chat.clone()),
        openai_batch("responses", ChatApi::Responses, openai, responses.clone()),
        openai_batch("azure", ChatApi::Responses, OpenAiService::AZURE, responses),
        openai_batch("groq", completions, OpenAiService::GROQ, chat),
        EncodedRoute {
            name: "anthropic",
            api: "anthropic",
            way: EncodedWay::Batch {
                body_field: "params",
                provider: Box::new(
                    Anthropic::new(options(UNUSED_PORT), roots()).expect("a client"),
                ),
            },
            route: with_features(batch, anthropic),
        },
        gemini_batch("gemini-levels", with_features(batch, levels)),
        gemini_batch("gemini-budgets", with_features(batch, budgets)),
    ]
}

fn openai_batch(
    name: &'static str,
    api: ChatApi,
    service: OpenAiService,
    features: Features,
) -> EncodedRoute {
    let provider = OpenAi::for_service(options(UNUSED_PORT), roots(), service);
    EncodedRoute {
        name,
        api: client_api(api),
        way: EncodedWay::Batch {
            body_field: "body",
            provider: Box::new(provider.expect("a client")),
        },
        route: Route {
            api,
            ..with_features(InferenceMode::Batch, features)
        },
    }
}

fn gemini_batch(name: &'static str, route: Route) -> EncodedRoute {
    EncodedRoute {
        name,
        api: "gemini",
        way: EncodedWay::Batch {
            body_field: "request",
            provider: Box::new(Gemini::new(options(UNUSED_PORT), roots()).expect("a client")),
        },
        route,
    }
}

async fn realtime_routes() -> Vec<EncodedRoute> {
    let responses = every_chat_feature(SchemaDialect::OpenAi, None);
    let chat = Features {
        tool_result_files: false,
        ..responses.clone()
    };
    let server = Features {
        tool_result_files: false,
        ..every_chat_feature(SchemaDialect::Server, Some(BUDGET))
    };
    let levels = every_chat_feature(SchemaDialect::Gemini, None);
    let flex = InferenceMode::Flex;
    let openai = |port, dialect| -> Box<dyn RealtimeProvider> {
        Box::new(OpenAiRealtime::new(options(port), roots(), dialect).expect("a client"))
    };
    let gemini = |port| -> Box<dyn RealtimeProvider> {
        Box::new(GeminiRealtime::new(options(port), roots()).expect("a client"))
    };
    let self_hosted = |port| openai(port, ServerDialect::SelfHosted);
    let hosted = |port| openai(port, ServerDialect::OpenAi);
    let with_responses = Route {
        api: ChatApi::Responses,
        ..with_features(flex, responses)
    };
    let realtime = with_features(InferenceMode::Realtime, server);
    vec![
        realtime_route("server", "server", realtime, self_hosted).await,
        realtime_route("chat-flex", "chat", with_features(flex, chat), hosted).await,
        realtime_route("responses-flex", "responses", with_responses, hosted).await,
        realtime_route("gemini-flex", "gemini", with_features(flex, levels), gemini).await,
    ]
}

async fn realtime_route(
    name: &'static str,
    api: &'static str,
    route: Route,
    provider: impl Fn(u16) -> Box<dyn RealtimeProvider>,
) -> EncodedRoute {
    let server = ScriptedReceiver::start([plain_reply(200, "{}")]).await;
    EncodedRoute {
        name,
        api,
        way: EncodedWay::Realtime {
            provider: provider(server.port()),
            server,
        },
        route,
    }
}

const fn client_api(api: ChatApi) -> &'static str {
    match api {
        ChatApi::Completions => "chat",
        ChatApi::Responses => "responses",
    }
}

fn with_features(via: InferenceMode, features: Features) -> Route {
    Route {
        features,
        ..Route::plain("provider", "model", via)
    }
}

fn roots() -> RootCertStore {
    RootCertStore::empty()
}

fn options(port: u16) -> ProviderOptions {
    let url = format!("http://127.0.0.1:{port}");
    ProviderOptions {
        base_url: url.parse().expect("a URL"),
        credential: None,
        timeouts: ProviderTimeouts::default(),
    }
}
