//! A body is split into the same items wherever its pieces end.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// The items and the envelope of a body that arrives in these pieces.
fn split(
    mut stream: ItemStream,
    pieces: &[&[u8]],
) -> Result<(Vec<Vec<u8>>, Vec<u8>), ItemStreamError> {
    let mut items = Vec::new();
    for piece in pieces {
        stream.push(piece)?;
        items.extend(std::iter::from_fn(|| stream.next_item()));
    }
    let envelope = stream.finish()?;
    items.extend(std::iter::from_fn(|| stream.next_item()));
    Ok((items, envelope))
}

fn split_text(body: &str) -> Result<(Vec<String>, String), ItemStreamError> {
    let (items, envelope) = split(ItemStream::array_in("requests"), &[body.as_bytes()])?;
    let items = items
        .into_iter()
        .map(|item| String::from_utf8(item).unwrap());
    Ok((items.collect(), String::from_utf8(envelope).unwrap()))
}

#[test]
fn items_and_other_fields_are_told_apart() {
    let body = "\u{feff}{ \"a\" : [\"requests\", {\"requests\": [1]}], \"requests\" :\n [ {\"x\": \"]}\\\"\"} ,{} ], \"b\": 1 }";
    let (items, envelope) = split_text(body).unwrap();
    assert_eq!(items, ["{\"x\": \"]}\\\"\"}", "{}"]);
    let envelope: Value = serde_json::from_str(&envelope).unwrap();
    let expected = json!({"a": ["requests", {"requests": [1]}], "requests": [], "b": 1});
    assert_eq!(envelope, expected);
}

#[test]
fn a_body_without_the_list_or_with_a_broken_one_is_refused() {
    use ItemStreamError::{NoItems, NotAnObject, NotJson};
    for (body, expected) in [
        ("", NotJson),
        ("[]", NotJson),
        ("{}", NoItems),
        (r#"{"requests": {}}"#, NoItems),
        (r#"{"a": "requests"}"#, NoItems),
        (r#"{"requests": [{}"#, NotJson),
        (r#"{"requests": [{},]}"#, NotJson),
        (r#"{"requests": [,{}]}"#, NotJson),
        (r#"{"requests": [{} {}]}"#, NotJson),
        (r#"{"requests": [{}, 1]}"#, NotAnObject { index: 1 }),
        (r#"{"requests": [], "requests": [{}]}"#, NotJson),
        (r#"{"requests": []} {}"#, NotJson),
    ] {
        assert_eq!(split_text(body), Err(expected), "{body}");
    }
    assert_eq!(split_text(r#"{"requests": []}"#).unwrap().0, [""; 0]);
}

#[test]
fn a_large_item_or_envelope_ends_the_body() {
    let mut stream = ItemStream::array_in("requests");
    stream.push(br#"{"requests": [{"a": ""#).unwrap();
    let megabyte = vec![b'x'; 1 << 20];
    let mut pushed = (0..11).map(|_| stream.push(&megabyte));
    let refused = pushed.find_map(Result::err);
    assert_eq!(refused, Some(ItemStreamError::ItemTooLarge { index: 0 }));
    let mut stream = ItemStream::array_in("requests");
    stream.push(br#"{"a": ""#).unwrap();
    let refused = stream.push(&megabyte);
    assert_eq!(refused, Err(ItemStreamError::EnvelopeTooLarge));
}

#[test]
fn lines_keep_their_line_breaks() {
    let body = b"{\"a\":1}\r\n\n{\"b\":2}\n \n{\"c\":3}";
    let (items, _) = split(ItemStream::lines(), &[body]).unwrap();
    let expected: [&[u8]; 3] = [b"{\"a\":1}\r\n", b"\n{\"b\":2}\n", b" \n{\"c\":3}"];
    assert_eq!(items, expected);
    assert_eq!(items.concat(), body);
    assert_eq!(split(ItemStream::lines(), &[b"\n \n"]).unwrap().0.len(), 0);
}

/// A splitter that reads earlier blank lines again at every line break would take hours here.
#[test]
fn each_byte_of_many_blank_lines_is_read_once() {
    let blank = vec![b'\n'; MAX_ITEM_BYTES - 3];
    let (items, _) = split(ItemStream::lines(), &[&blank, b" ", b"{", b"}"]).unwrap();
    assert_eq!(items.concat().trim_ascii_start(), b"{}");
    let (items, _) = split(ItemStream::lines(), &[b"{}\n", &blank]).unwrap();
    assert_eq!(items, [b"{}\n"]);
}

fn any_object() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        "[\\[\\]{}\",:\\\\a-c\u{fc}]{0,8}".prop_map(Value::from),
        Just(Value::from("requests")),
    ];
    let value = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-c\"]{0,3}", inner), 0..3)
                .prop_map(|fields| { Value::Object(fields.into_iter().collect()) }),
        ]
    });
    vec(("[a-c\"\\]]{0,3}|requests", value), 0..4).prop_map(|fields| fields.into_iter().collect())
}

/// Cuts a body at these places.
fn pieces_of<'a>(body: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
    places.sort_unstable();
    let (mut pieces, mut from) = (Vec::new(), 0);
    for place in places {
        pieces.push(&body[from..place]);
        from = place;
    }
    pieces.push(&body[from..]);
    pieces
}

proptest! {
    #[test]
    fn every_array_is_split_as_a_parser_reads_it(
        items in vec(any_object(), 0..6),
        mut others in any_object(),
        is_pretty in any::<bool>(),
        cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let list: Vec<Value> = items.iter().cloned().map(Value::Object).collect();
        others.insert("requests".to_owned(), Value::from(list));
        let body = if is_pretty {
            serde_json::to_vec_pretty(&others).unwrap()
        } else {
            serde_json::to_vec(&others).unwrap()
        };
        let pieces = pieces_of(&body, &cuts);
        let (found, envelope) = split(ItemStream::array_in("requests"), &pieces).unwrap();
        let found = found.iter().map(|item| serde_json::from_slice(item).unwrap());
        prop_assert_eq!(found.collect::<Vec<Map<String, Value>>>(), items);
        others.insert("requests".to_owned(), json!([]));
        let envelope: Map<String, Value> = serde_json::from_slice(&envelope).unwrap();
        prop_assert_eq!(envelope, others);
    }

    #[test]
    fn any_bytes_are_split_or_refused(
        body in vec(prop::sample::select(&b"{}[]\",:\\ requests\n1"[..]), 0..60),
        cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let whole = split(ItemStream::array_in("requests"), &[&body]);
        let pieces = pieces_of(&body, &cuts);
        prop_assert_eq!(split(ItemStream::array_in("requests"), &pieces), whole);
        let (lines, _) = split(ItemStream::lines(), &pieces).unwrap();
        prop_assert!(body.starts_with(&lines.concat()));
    }
}
