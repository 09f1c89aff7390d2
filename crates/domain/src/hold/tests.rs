//! What is held, charged, lost and released.

use proptest::prelude::*;

use super::*;
use crate::file::{FileStatus, MediaType};
use crate::model::{ModelKind, Prices};

mod buckets;

fn priced_model(input: i64, output: i64, context: Option<u64>) -> Model {
    Model {
        context,
        ..model_with_price(Price::flat(Money(input), Money(output)))
    }
}

fn model_with_price(batch: Price) -> Model {
    Model {
        prices: Some(Prices {
            batch,
            realtime: None,
        }),
        ..Model::plain("priced", "mock", ModelKind::Chat)
    }
}

fn chat(text: &str, max_tokens: u32) -> Params {
    let body = serde_json::json!({
        "model": "priced",
        "max_tokens": max_tokens,
        "messages": [{"role": "user", "content": text}],
    });
    serde_json::from_value(body).unwrap()
}

const fn used(input_tokens: u64, output_tokens: u64) -> TokenBuckets {
    TokenBuckets::plain(TokenUsage {
        input_tokens,
        output_tokens,
    })
}

#[test]
fn a_hold_is_the_price_of_all_bytes_and_of_max_tokens() {
    // 4 bytes of role, 96 of text, 2 texts with 8 tokens around each: 116 tokens in.
    let hold = Hold::of(
        &chat(&"x".repeat(96), 1000),
        &priced_model(75_000_000, 300_000_000, None),
        &[],
    );
    assert_eq!(hold.tokens, 1116);
    assert_eq!(hold.amount, Money(116 * 75 + 1000 * 300));
}

#[test]
fn the_context_bounds_the_input() {
    let hold = Hold::of(
        &chat(&"x".repeat(5000), 10),
        &priced_model(1_000_000, 1_000_000, Some(1000)),
        &[],
    );
    assert_eq!(hold.tokens, 1010);
    assert_eq!(hold.amount, Money(1010));
}

#[test]
fn an_embedding_holds_for_its_input_alone() {
    let params = serde_json::from_str(r#"{"model":"priced","input_text":["abcd","efgh"]}"#);
    let hold = Hold::of(&params.unwrap(), &priced_model(1_000_000, 0, None), &[]);
    assert_eq!(hold.amount, Money(8 + 16));
    // The context bounds each of them, not their sum.
    let long = serde_json::json!({"model": "priced", "input_text": vec!["x".repeat(500); 3]});
    let hold = Hold::of(
        &serde_json::from_value(long).unwrap(),
        &priced_model(1_000_000, 0, Some(100)),
        &[],
    );
    assert_eq!(hold.amount, Money(300));
}

#[test]
fn the_mock_model_holds_nothing_and_counts_for_nothing() {
    let model = Model {
        id: SVC_MOCK.to_owned(),
        ..priced_model(1_000_000, 1_000_000, None)
    };
    assert!(Hold::of(&chat("Hello.", 64), &model, &[]).is_empty());
}

#[test]
fn what_was_not_used_is_released() {
    let hold = Hold::of(
        &chat(&"x".repeat(96), 1000),
        &priced_model(75_000_000, 300_000_000, None),
        &[],
    );
    let settlement = hold.settle(used(30, 200));
    assert_eq!(settlement.charged, Money(30 * 75 + 200 * 300));
    assert_eq!((settlement.lost, settlement.tokens), (Money::ZERO, 230));
}

#[test]
fn what_was_used_beyond_the_hold_is_our_loss() {
    let hold = Hold::of(
        &chat("", 10),
        &priced_model(1_000_000, 1_000_000, None),
        &[],
    );
    let settlement = hold.settle(used(1000, 10));
    assert_eq!(settlement.charged, hold.amount);
    assert_eq!(settlement.charged + settlement.lost, Money(1010));
    assert_eq!(settlement.tokens, hold.tokens);
}

/// The traps are those of `outbound`'s `usage_reading/tests.rs`.
#[test]
fn trap_11_a_tokenizer_that_makes_more_tokens_of_the_same_text() {
    let text = "x".repeat(4000);
    let hold = Hold::of(
        &chat(&text, 100),
        &priced_model(1_000_000, 1_000_000, None),
        &[],
    );
    // A token of four bytes, 30 % more tokens, and a token for each byte: all are covered.
    for (input, charged) in [(1000, 1100), (1300, 1400), (4000, 4100)] {
        let settlement = hold.settle(used(input, 100));
        assert_eq!(settlement.charged, Money(charged));
        assert_eq!(
            (settlement.lost, settlement.tokens),
            (Money::ZERO, input + 100)
        );
    }
    // The context of each model bounds its hold, not one for all models.
    for context in [1000, 1300] {
        let model = priced_model(1_000_000, 1_000_000, Some(context));
        assert_eq!(
            Hold::of(&chat(&text, 100), &model, &[]).tokens,
            context + 100
        );
    }
}

#[test]
fn half_a_nano_dollar_is_rounded_up_once() {
    let hold = Hold::of(&chat("", 1), &priced_model(100_000, 100_000, None), &[]);
    // 5 tokens at a tenth of a nano-dollar.
    assert_eq!(hold.settle(used(4, 1)).charged, Money(1));
    assert_eq!(hold.settle(used(4, 0)).charged, Money(0));
}

fn file(size_bytes: u64, structure: FileStructure) -> ReferencedFile {
    ReferencedFile {
        status: FileStatus::Ready,
        media_type: MediaType::Png,
        size_bytes,
        structure: Some(structure),
        expires_at: None,
        pinned: false,
    }
}

fn model_with_bounds(context: Option<u64>) -> Model {
    let bounds = InputBounds {
        image: 1000,
        page: 300,
        video_second: 70,
    };
    Model {
        bounds,
        ..priced_model(1_000_000, 1_000_000, context)
    }
}

#[test]
fn a_file_adds_what_its_parts_can_come_to() {
    let image = FileStructure::Image {
        width: 9000,
        height: 1,
    };
    let without = Hold::of(&chat("", 10), &model_with_bounds(None), &[]).tokens;
    for (file, most) in [
        (file(5, image), 1000),
        (file(5, FileStructure::Pages(4)), 1200),
        (file(5, FileStructure::Text), 5),
        (file(5, FileStructure::Video { milliseconds: 2001 }), 210),
        (file(5, FileStructure::Video { milliseconds: 2000 }), 140),
    ] {
        let hold =
            |files: &[ReferencedFile]| Hold::of(&chat("", 10), &model_with_bounds(None), files);
        assert_eq!(hold(&[file]).tokens, without + most);
        // Referenced twice, it is read twice.
        assert_eq!(hold(&[file, file]).tokens, without + 2 * most);
        assert_eq!(
            hold(&[file]).amount,
            Money(i64::try_from(without + most).unwrap())
        );
    }
    let hold = Hold::of(
        &chat("", 10),
        &model_with_bounds(Some(500)),
        &[file(5, image)],
    );
    assert_eq!(hold.tokens, 510);
}

fn structures() -> impl Strategy<Value = FileStructure> {
    prop_oneof![
        (any::<u32>(), any::<u32>())
            .prop_map(|(width, height)| FileStructure::Image { width, height }),
        any::<u32>().prop_map(FileStructure::Pages),
        Just(FileStructure::Text),
        any::<u64>().prop_map(|milliseconds| FileStructure::Video { milliseconds }),
    ]
}

proptest! {
    #[test]
    fn no_file_makes_a_hold_smaller_or_larger_than_the_context(
        files in proptest::collection::vec((any::<u64>(), structures()), 0..5),
        bounds in (any::<u64>(), any::<u64>(), any::<u64>()),
        price in 0..=i64::MAX,
        context in proptest::option::of(any::<u64>()),
        max_tokens: u32,
    ) {
        let (image, page, video_second) = bounds;
        let model = Model {
            bounds: InputBounds { image, page, video_second },
            ..priced_model(price, price, context)
        };
        let files: Vec<_> = files.iter().map(|(size, structure)| file(*size, *structure)).collect();
        let hold = |files: &[ReferencedFile]| Hold::of(&chat("abc", max_tokens), &model, files);
        let mut before = hold(&[]);
        for named in 1..=files.len() {
            let after = hold(&files[..named]);
            prop_assert!(after.tokens >= before.tokens && after.amount >= before.amount);
            before = after;
        }
        let most = context.unwrap_or(u64::MAX).saturating_add(u64::from(max_tokens));
        prop_assert!(before.tokens <= most);
        prop_assert!(before.amount >= Money::ZERO);
    }

    #[test]
    fn what_a_file_can_come_to_is_never_our_loss(
        pages in 0..=100_u32,
        seconds in 0..=1800_u64,
        bytes in 0..=1_000_000_u64,
    ) {
        let files = [
            file(1, FileStructure::Pages(pages)),
            file(1, FileStructure::Video { milliseconds: seconds * 1000 }),
            file(bytes, FileStructure::Text),
        ];
        let hold = Hold::of(&chat("", 1), &model_with_bounds(None), &files);
        let most = u64::from(pages) * 300 + seconds * 70 + bytes;
        prop_assert_eq!(hold.settle(used(most, 1)).lost, Money::ZERO);
    }
}

proptest! {
    #[test]
    fn a_charge_never_exceeds_its_hold_and_nothing_is_lost_within_the_bound(
        prices in (0..=1_000_000_000_000_i64, 0..=1_000_000_000_000_i64),
        text in "[a-z]{0,200}",
        max_tokens in 1..=100_000_u32,
        usage in (0..=1_000_000_u64, 0..=1_000_000_u64),
    ) {
        let hold = Hold::of(&chat(&text, max_tokens), &priced_model(prices.0, prices.1, None), &[]);
        let settlement = hold.settle(used(usage.0, usage.1));
        prop_assert!(settlement.charged <= hold.amount);
        prop_assert!(settlement.charged >= Money::ZERO && settlement.lost >= Money::ZERO);
        prop_assert!(settlement.tokens <= hold.tokens);
        let within = usage.0 <= hold.tokens - u64::from(max_tokens) && usage.1 <= u64::from(max_tokens);
        if within {
            prop_assert_eq!(settlement.lost, Money::ZERO);
        }
    }
}
