//! The catalogue: what it takes, and what it says of the rest.

use super::*;

fn ids(text: &str) -> Vec<String> {
    parse(text).unwrap().ids().map(str::to_owned).collect()
}

#[test]
fn without_a_file_there_is_svc_mock() {
    assert_eq!(read(None).unwrap(), Catalogue::new([svc_mock()]));
    assert_eq!(ids(""), [SVC_MOCK]);
}

#[test]
fn a_model_is_read_with_all_its_fields() {
    let text = r#"
        [[model]]
        id = "quay"
        provider = "mock"
        kind = "embedding"
        capabilities = ["vision", "documents", "vision"]
        mock = { fail = "no berth" }
    "#;
    let catalogue = parse(text).unwrap();
    let expected = Model {
        id: "quay".to_owned(),
        provider: "mock".to_owned(),
        kind: Kind::Embedding,
        capabilities: vec![Capability::Vision, Capability::Documents],
        mocking: Mocking::Fail("no berth".to_owned()),
    };
    assert_eq!(catalogue.find("quay"), Some(&expected));
    assert!(catalogue.find(SVC_MOCK).is_some());
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let text = r#"
        model = [
            { id = "a", provider = "openai", kind = "speech" },
            { id = "b", provider = "mock", kind = "chat", capabilities = ["smell"] },
            { id = "b", provider = "mock", kind = "chat" },
            { id = "svc-mock", provider = "mock", kind = "chat", mock = { fail = "never" } },
            { id = "", provider = "mock", kind = "chat" },
        ]
    "#;
    insta::assert_snapshot!(parse(text).unwrap_err(), @r"
    model `a`: there is no provider `openai`; use mock
    model `a`: kind `speech` is neither chat nor embedding
    model `b`: capability `smell` is none of vision, documents, video
    model `b`: this id stands in the file twice
    model `svc-mock`: svc-mock is a chat model of the mock provider that answers
    model ``: an id is 1 to 255 bytes without control characters
    ");
}

#[test]
fn an_unknown_field_is_shown_in_its_line() {
    let text = "[[model]]\nid = \"a\"\nprovider = \"mock\"\nkind = \"chat\"\nprice = 3\n";
    insta::assert_snapshot!(parse(text).unwrap_err(), @r"
    TOML parse error at line 5, column 1
      |
    5 | price = 3
      | ^^^^^
    unknown field `price`, expected one of `id`, `provider`, `kind`, `capabilities`, `mock`
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
    missing field `provider`
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
    let shelf = Shelf::open(Some(path.clone())).unwrap();
    let mut watched = shelf.watch();
    assert!(watched.borrow_and_update().find("a").is_some());

    std::fs::write(&path, "[[model]]\nid = 7\n").unwrap();
    shelf.reload();
    assert!(!watched.has_changed().unwrap());

    std::fs::write(
        &path,
        "[[model]]\nid = \"b\"\nprovider = \"mock\"\nkind = \"chat\"\n",
    )
    .unwrap();
    shelf.reload();
    assert!(watched.borrow_and_update().find("b").is_some());
    std::fs::remove_dir_all(&folder).unwrap();
}
