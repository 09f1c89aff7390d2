//! The table of models, and its copy in the documentation.

use std::path::Path;

use domain::model::SVC_MOCK;
use serde_json::Value;

use super::*;
use crate::providers::tests::unread_on;

const PAGE: &str = include_str!("../../../../docs/what-you-can-send.md");
const PROVIDERS: &str = include_str!("../../../../scripts/current-providers.toml");

/// The maintained catalogue at the root of the repository.
fn current() -> Catalogue {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models.current.toml");
    let accounts = unread_on(PROVIDERS, &["main"]);
    let store = CatalogueStore::open(Some(path), accounts).unwrap();
    store.watch().borrow().as_ref().clone()
}

#[test]
fn the_table_in_the_documentation_is_current() {
    let (_, rest) = PAGE.split_once("<!-- models -->\n").unwrap();
    let (table, _) = rest.split_once("\n<!-- /models -->").unwrap();
    let models = current();
    let models = models.models().filter(|model| model.id != SVC_MOCK);
    let current = render_markdown(&list(&Catalogue::new(models.cloned())));
    assert_eq!(table, current, "write it again with ./dev model-tables");
}

#[test]
fn every_model_of_the_maintained_catalogue_has_prices_limits_and_a_source() {
    let text = include_str!("../../../../models.current.toml");
    assert!(text.starts_with("# Current models of OpenAI, Anthropic and Gemini, as of 20"));
    for model in current().models().filter(|model| model.id != SVC_MOCK) {
        let prices = model.prices.unwrap();
        assert!(
            prices.realtime.is_some() && model.context.is_some(),
            "{}",
            model.id
        );
        let (_, entry) = text
            .split_once(&format!("id = \"{}\"\n", model.id))
            .unwrap();
        let entry = entry.split("[[model]]").next().unwrap();
        assert!(entry.contains("# Source: "), "{} has no source", model.id);
        if model.kind == ModelKind::Chat {
            assert!(model.max_output.is_some(), "{}", model.id);
        }
    }
}

/// The examples in JSON, in the order of the page.
fn examples() -> Vec<Value> {
    let blocks = PAGE.split("```json\n").skip(1);
    let texts = blocks.map(|block| block.split_once("\n```").unwrap().0);
    texts
        .map(|json| serde_json::from_str(json).unwrap())
        .collect()
}

#[test]
fn every_load_in_the_documentation_is_accepted_or_refused_as_it_shows() {
    let catalogue = current();
    let examples = examples();
    let (mut accepted, mut warned, mut refused) = (0, 0, 0);
    for (index, load) in examples.iter().enumerate() {
        if load.get("params").is_none() {
            continue;
        }
        let shown = |field: &str| examples.get(index + 1)?.get(field);
        let body = load.to_string();
        match api::docs::check_load_example(body.as_bytes(), &catalogue) {
            Err(refusal) => {
                assert_eq!(Some(&refusal["detail"]), shown("detail"), "{load}");
                refused += 1;
            }
            Ok(warnings) => {
                let warnings = serde_json::to_value(warnings).unwrap();
                let none = Value::Array(Vec::new());
                assert_eq!(&warnings, shown("warnings").unwrap_or(&none), "{load}");
                assert_eq!(shown("detail"), None, "{load}");
                warned += usize::from(warnings != none);
                accepted += 1;
            }
        }
    }
    assert!(accepted >= 10, "{accepted}");
    assert_eq!((warned, refused), (1, 2));
}

#[test]
fn a_plain_model_is_listed_without_features() {
    let mock = Model::plain("a", "mock", ModelKind::Chat);
    let vectors = Model::plain("b", "mock", ModelKind::Embedding);
    let models = list(&Catalogue::new([mock, vectors]));
    insta::assert_snapshot!(render_markdown(&models), @r"
    | Model | Ways | Reads | Tools | Tool results | Schemas | Thinking | Effort | Caching | Sampling | Stop sequences | Seed |
    |---|---|---|---|---|---|---|---|---|---|---|---|
    | `a` | batch | text | no | – | no | no | – | automatic | yes | yes | no |

    | Embedding model | Ways | Texts | Dimensions | Input type |
    |---|---|---|---|---|
    | `b` | batch | any number | fixed | no |
    ");
}
