//! Features in the catalogue: defaults by kind, what the file changes, and its errors.

use domain::features::{
    Features, PromptCaching, SamplingSupport, SchemaDialect, StructuredOutput, ToolSupport,
};
use domain::model::Catalogue;
use domain::params::thinking::Effort;
use domain::route::ChatApi;

use crate::catalogue::parse;
use crate::catalogue::routes::tests::PROVIDERS;
use crate::providers::tests::accounts;

fn read(text: &str) -> Result<Catalogue, String> {
    parse(text, &accounts(PROVIDERS))
}

fn features(routes: &str, rest: &str) -> Features {
    let text = format!("[[model]]\nid = \"demo\"\nkind = \"chat\"\nroutes = [{routes}]\n{rest}");
    let catalogue = read(&text).unwrap();
    catalogue.find("demo").unwrap().features.clone()
}

const OPENAI: &str = r#"{ provider = "openai-main" }"#;
const RESPONSES: &str = r#"{ provider = "openai-main", api = "responses" }"#;
const GEMINI: &str = r#"{ provider = "gemini-main" }"#;
const SERVER: &str = r#"{ provider = "our-vllm" }"#;

#[test]
fn a_route_has_the_features_of_its_kind() {
    let chat = features(OPENAI, "");
    assert_eq!(chat.tools, ToolSupport::Parallel);
    assert_eq!(
        (chat.max_stop_sequences, chat.seed, chat.min_output),
        (4, true, 1)
    );
    let responses = features(RESPONSES, "");
    assert_eq!(
        (
            responses.max_stop_sequences,
            responses.seed,
            responses.min_output
        ),
        (0, false, 16)
    );
    assert_eq!(features(GEMINI, "").tools, ToolSupport::AlwaysParallel);
    let server = features(SERVER, "");
    assert_eq!(server.tools, ToolSupport::None);
    assert_eq!(server.structured_output, StructuredOutput::None);
}

#[test]
fn a_model_offers_what_all_its_routes_can_do() {
    let both = features(&format!("{OPENAI}, {GEMINI}"), "");
    assert_eq!(both.tools, ToolSupport::AlwaysParallel);
    assert_eq!(both.structured_output, StructuredOutput::WithoutTools);
    assert_eq!(
        both.schema_dialects,
        [SchemaDialect::OpenAi, SchemaDialect::Gemini]
    );
    assert!(!both.system_messages);
}

#[test]
fn the_file_changes_features_of_the_model_and_of_a_route() {
    let text = r#"
        [model.features]
        sampling = "drop"
        caching = "marks"
        thinking = { types = ["adaptive", "enabled", "disabled"], budget = [1024, 32_000], efforts = ["low", "high"], default_effort = "low", summaries = true }
    "#;
    let route = r#"{ provider = "openai-main", features = { tools = "none", sampling = "pass" } }"#;
    let changed = features(route, text);
    assert_eq!(changed.tools, ToolSupport::None);
    assert_eq!(changed.sampling, SamplingSupport::Pass);
    assert_eq!(changed.caching, PromptCaching::Marks);
    assert_eq!(changed.thinking.budget, Some((1024, 32_000)));
    assert_eq!(changed.thinking.efforts, [Effort::Low, Effort::High]);
    assert_eq!(changed.thinking.default_effort, Some(Effort::Low));
}

#[test]
fn a_route_can_use_the_responses_api() {
    let text = format!("[[model]]\nid = \"demo\"\nkind = \"chat\"\nroutes = [{RESPONSES}]");
    let catalogue = read(&text).unwrap();
    let route = catalogue.find("demo").unwrap().routes.iter().next();
    assert_eq!(route.map(|route| route.api), Some(ChatApi::Responses));
}

#[test]
fn every_wrong_feature_has_its_line() {
    let text = r#"
        [[model]]
        id = "demo"
        kind = "chat"
        routes = [{ provider = "gemini-main", api = "responses" }]
        retires_at = "soon"

        [model.features]
        tools = "some"
        max_tools = -1
        thinking = { types = ["always"], budget = [9, 3], efforts = ["huge"], default_effort = "max" }
    "#;
    insta::assert_snapshot!(read(text).unwrap_err(), @r"
    model `demo`: api can be given only for a provider of the kind openai
    model `demo`: features.tools `some` is none of none, always_parallel, parallel
    model `demo`: features.thinking.types has `always`, which is none of adaptive, enabled, disabled
    model `demo`: features.thinking.budget must have the smaller number first
    model `demo`: features.thinking.budget and the type enabled belong together: give both or none
    model `demo`: effort `huge` is none of low, medium, high, xhigh, max
    model `demo`: features.thinking.default_effort `max` is not in features.thinking.efforts
    model `demo`: features.max_tools -1 is not a whole number from 0 to 1000000000
    model `demo`: retires_at `soon` is not a date such as 2027-01-14
    ");
}
