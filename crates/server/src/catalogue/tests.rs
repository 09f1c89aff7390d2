//! The catalogue: what it accepts, and the errors it reports.

use chrono::NaiveDate;
use domain::model::{Capability, InputBounds, MockBehaviour, Prices};
use domain::money::Money;
use domain::price::Price;
use domain::route::{InferenceMode, Route, Routes};

use super::*;
use crate::catalogue::routes::tests::PROVIDERS;
use crate::providers::tests::accounts;

/// With the mock provider alone.
fn parse(text: &str) -> Result<Catalogue, String> {
    super::parse(text, &ProviderAccounts::default())
}

fn ids(text: &str) -> Vec<String> {
    parse(text).unwrap().ids().map(str::to_owned).collect()
}

#[test]
fn without_a_file_there_is_svc_mock() {
    assert_eq!(
        read(None, &ProviderAccounts::default()).unwrap(),
        Catalogue::new([svc_mock()])
    );
    assert_eq!(ids(""), [SVC_MOCK]);
}

#[test]
fn a_model_is_read_with_all_its_fields() {
    let text = r#"
        [[model]]
        id = "demo"
        provider = "mock"
        upstream = "demo-2026-01"
        kind = "chat"
        capabilities = ["vision", "documents", "vision"]
        context = 128_000
        price = { batch = { input = "0.075", output = "0.30" }, realtime = { input = "0.15", output = "0" } }
        bounds = { image = 1_600, page = 3_000 }
        limits = { max_output = 16_384 }
        mock = { fail = "no berth" }
        retires_at = "2027-01-14"
    "#;
    let catalogue = parse(text).unwrap();
    let price = |input, output| Price::flat(Money(input), Money(output));
    let expected = Model {
        routes: Routes::from(Route::plain("mock", "demo-2026-01", InferenceMode::Batch)),
        capabilities: vec![Capability::Vision, Capability::Documents],
        context: Some(128_000),
        max_output: Some(16_384),
        prices: Some(Prices {
            batch: price(75_000_000, 300_000_000),
            realtime: Some(price(150_000_000, 0)),
        }),
        bounds: InputBounds {
            image: 1_600,
            page: 3_000,
            video_second: 0,
        },
        mock_behaviour: MockBehaviour::Fail("no berth".to_owned()),
        retires_at: NaiveDate::from_ymd_opt(2027, 1, 14),
        ..Model::plain("demo", "mock", ModelKind::Chat)
    };
    assert_eq!(catalogue.find("demo"), Some(&expected));
    assert!(catalogue.find(SVC_MOCK).is_some());
}

#[test]
fn an_embedding_costs_its_input_alone() {
    let text = r#"
        [[model]]
        id = "vectors"
        provider = "mock"
        kind = "embedding"
        price = { batch = { input = "0.01" } }
    "#;
    let catalogue = parse(text).unwrap();
    let prices = Prices {
        batch: Price::flat(Money(10_000_000), Money::ZERO),
        realtime: None,
    };
    let expected = Model {
        prices: Some(prices),
        ..Model::plain("vectors", "mock", ModelKind::Embedding)
    };
    assert_eq!(catalogue.find("vectors"), Some(&expected));
}

#[test]
fn the_example_files_are_valid() {
    let example = include_str!("../../../../models.toml");
    assert_eq!(ids(example), [SVC_MOCK]);
    let (_, commented) = example.split_once("# [[model]]").unwrap();
    let uncommented: String = commented
        .lines()
        .map(|line| line.trim_start_matches('#').to_owned() + "\n")
        .collect();
    assert_eq!(
        ids(&format!("[[model]]\n{uncommented}")),
        ["example-large", SVC_MOCK]
    );

    let conformance = include_str!("../../../../scripts/conformance-models.toml");
    let catalogue = parse(conformance).unwrap();
    let free = |model: &&Model| model.prices.is_none();
    let free: Vec<_> = catalogue.models().filter(free).collect();
    assert_eq!(free, [&svc_mock()]);
}

#[test]
fn an_option_that_can_never_be_allowed_is_an_error() {
    let providers = r#"
        provider = [
            { name = "a", kind = "openai", credential_env = "OPENAI_API_KEY", provider_options = ["verbosity", "store"] },
            { name = "b", kind = "openai", credential_env = "OPENAI_API_KEY", provider_options = ["verbosity"] },
            { name = "c", kind = "openai", credential_env = "OPENAI_API_KEY" },
        ]
    "#;
    insta::assert_snapshot!(super::parse("", &accounts(providers)).unwrap_err(), @"provider `a`: provider_options has `store`, which can never be allowed; remove it");
    let allowed = |routes: &str| {
        let text = format!("[[model]]\nid = \"demo\"\nkind = \"chat\"\nroutes = [{routes}]");
        let accounts = accounts(&providers.replace(", \"store\"", ""));
        let catalogue = super::parse(&text, &accounts).unwrap();
        catalogue.find("demo").unwrap().allowed_options["openai"].clone()
    };
    assert_eq!(
        allowed(r#"{ provider = "a" }, { provider = "b" }"#),
        ["verbosity"]
    );
    // A cargo may go to any of its routes.
    assert_eq!(
        allowed(r#"{ provider = "a" }, { provider = "c" }"#),
        [""; 0]
    );
}

#[test]
fn all_errors_are_reported_together() {
    let text = r#"
        model = [
            { id = "a", provider = "openai", kind = "speech", upstream = "" },
            { id = "b", provider = "mock", kind = "chat", capabilities = ["smell"] },
            { id = "b", provider = "mock", kind = "chat" },
            { id = "svc-mock", provider = "mock", kind = "chat", mock = { fail = "never" } },
            { id = "", provider = "mock", kind = "chat" },
        ]
    "#;
    insta::assert_snapshot!(parse(text).unwrap_err(), @r"
    model `a`: kind `speech` is neither chat nor embedding
    model `a`: upstream must be 1 to 255 bytes without control characters
    model `a`: there is no provider `openai`; use mock
    model `b`: capability `smell` is none of vision, documents, video
    model `b`: this id is in the file twice
    model `svc-mock`: svc-mock must be a free chat model of the mock provider, without mock.fail
    model ``: an id must be 1 to 255 bytes without control characters
    ");
}

#[test]
fn every_wrong_number_has_its_line() {
    let text = r#"
        [[model]]
        id = "a"
        provider = "mock"
        kind = "chat"
        capabilities = ["vision", "documents", "video"]
        context = 0
        price = { batch = { input = "-1", output = "0.0000000001" }, realtime = { input = 0.15 } }
        bounds = { image = -1 }
        limits = { max_output = 9_000_000_000 }

        [[model]]
        id = "b"
        provider = "mock"
        kind = "embedding"
        price = { batch = { input = "75000" } }

        [[model]]
        id = "svc-mock"
        provider = "mock"
        kind = "chat"
        price = { batch = { input = "1", output = "1" } }
    "#;
    insta::assert_snapshot!(parse(text).unwrap_err(), @r#"
    model `a`: context 0 is not a whole number from 1 to 1000000000
    model `a`: limits.max_output 9000000000 is not a whole number from 1 to 1000000000
    model `a`: price.batch.input `-1` is not an amount from 0 to 10000.00 dollars with at most nine decimals
    model `a`: price.batch.output `0.0000000001` is not an amount from 0 to 10000.00 dollars with at most nine decimals
    model `a`: price.realtime.input must be dollars in quotes, such as "0.075", so that it is exact
    model `a`: price.realtime.output is missing: a chat model needs input and output
    model `a`: bounds.image -1 is not a whole number from 1 to 1000000000
    model `a`: bounds.page is missing: a model with documents and a price needs it
    model `a`: bounds.video_second is missing: a model with video and a price needs it
    model `b`: price.batch.input `75000` is not an amount from 0 to 10000.00 dollars with at most nine decimals
    model `svc-mock`: svc-mock must be a free chat model of the mock provider, without mock.fail
    "#);
}

#[test]
fn an_unknown_field_is_shown_in_its_line() {
    let text = "[[model]]\nid = \"a\"\nprovider = \"mock\"\nkind = \"chat\"\ncost = 3\n";
    insta::assert_snapshot!(parse(text).unwrap_err(), @r"
    TOML parse error at line 5, column 1
      |
    5 | cost = 3
      | ^^^^
    unknown field `cost`, expected one of `id`, `provider`, `upstream`, `routes`, `kind`, `capabilities`, `context`, `price`, `bounds`, `limits`, `mock`, `features`, `retires_at`
    ");
    insta::assert_snapshot!(parse("[[models]]\nid = \"a\"\n").unwrap_err(), @r"
    TOML parse error at line 1, column 3
      |
    1 | [[models]]
      |   ^^^^^^
    unknown field `models`, expected `model`
    ");
}

#[test]
fn a_missing_field_is_named() {
    insta::assert_snapshot!(parse("[[model]]\nid = \"a\"\n").unwrap_err(), @r"
    TOML parse error at line 1, column 1
      |
    1 | [[model]]
      | ^^^^^^^^^
    missing field `kind`
    ");
}

#[test]
fn a_broken_file_leaves_the_catalogue_as_it_was() {
    let folder = std::env::temp_dir().join(format!("longshore-catalogue-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("models.toml");
    std::fs::write(
        &path,
        "[[model]]\nid = \"a\"\nprovider = \"mock\"\nkind = \"chat\"\n",
    )
    .unwrap();
    let store = CatalogueStore::open(Some(path.clone()), accounts(PROVIDERS)).unwrap();
    let mut watched = store.watch();
    assert!(watched.borrow_and_update().find("a").is_some());

    for broken in [
        "[[model]]\nid = 7\n",
        "[[model]]\nid = \"b\"\nprovider = \"openai-man\"\nkind = \"chat\"\n",
    ] {
        std::fs::write(&path, broken).unwrap();
        store.reload();
        assert!(!watched.has_changed().unwrap());
    }

    std::fs::write(
        &path,
        "[[model]]\nid = \"b\"\nprovider = \"openai-main\"\nkind = \"chat\"\n",
    )
    .unwrap();
    store.reload();
    assert!(watched.borrow_and_update().find("b").is_some());
    std::fs::remove_dir_all(&folder).unwrap();
}
