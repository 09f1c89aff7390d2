//! What is held, charged, lost and given back.

use proptest::prelude::*;

use super::*;
use crate::model::{Kind, Prices};

fn priced(input: i64, output: i64, context: Option<u64>) -> Model {
    let batch = Price {
        input: Money(input),
        output: Money(output),
    };
    Model {
        context,
        prices: Some(Prices {
            batch,
            realtime: None,
        }),
        ..Model::plain("priced", "mock", Kind::Chat)
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

const fn used(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
    }
}

#[test]
fn a_hold_is_the_price_of_all_bytes_and_of_max_tokens() {
    // 4 bytes of role, 96 of text, 2 texts with 8 tokens around each: 116 tokens in.
    let hold = Hold::of(
        &chat(&"x".repeat(96), 1000),
        &priced(75_000_000, 300_000_000, None),
    );
    assert_eq!(hold.tokens, 1116);
    assert_eq!(hold.amount, Money(116 * 75 + 1000 * 300));
}

#[test]
fn the_context_bounds_the_input() {
    let hold = Hold::of(
        &chat(&"x".repeat(5000), 10),
        &priced(1_000_000, 1_000_000, Some(1000)),
    );
    assert_eq!(hold.tokens, 1010);
    assert_eq!(hold.amount, Money(1010));
}

#[test]
fn an_embedding_holds_for_its_input_alone() {
    let params = serde_json::from_str(r#"{"model":"priced","input_text":["abcd","efgh"]}"#);
    let hold = Hold::of(&params.unwrap(), &priced(1_000_000, 0, None));
    assert_eq!(hold.amount, Money(8 + 16));
    // The context bounds each of them, not their sum.
    let long = serde_json::json!({"model": "priced", "input_text": vec!["x".repeat(500); 3]});
    let hold = Hold::of(
        &serde_json::from_value(long).unwrap(),
        &priced(1_000_000, 0, Some(100)),
    );
    assert_eq!(hold.amount, Money(300));
}

#[test]
fn the_mock_model_holds_nothing_and_counts_for_nothing() {
    let model = Model {
        id: SVC_MOCK.to_owned(),
        ..priced(1_000_000, 1_000_000, None)
    };
    assert!(Hold::of(&chat("Hello.", 64), &model).is_nothing());
}

#[test]
fn what_was_not_used_is_given_back() {
    let hold = Hold::of(
        &chat(&"x".repeat(96), 1000),
        &priced(75_000_000, 300_000_000, None),
    );
    let settlement = hold.settle(used(30, 200));
    assert_eq!(settlement.charged, Money(30 * 75 + 200 * 300));
    assert_eq!((settlement.lost, settlement.tokens), (Money::ZERO, 230));
}

#[test]
fn what_was_used_beyond_the_hold_is_our_loss() {
    let hold = Hold::of(&chat("", 10), &priced(1_000_000, 1_000_000, None));
    let settlement = hold.settle(used(1000, 10));
    assert_eq!(settlement.charged, hold.amount);
    assert_eq!(settlement.charged + settlement.lost, Money(1010));
    assert_eq!(settlement.tokens, hold.tokens);
}

#[test]
fn half_a_nano_dollar_is_rounded_up_once() {
    let hold = Hold::of(&chat("", 1), &priced(100_000, 100_000, None));
    // 5 tokens at a tenth of a nano-dollar.
    assert_eq!(hold.settle(used(4, 1)).charged, Money(1));
    assert_eq!(hold.settle(used(4, 0)).charged, Money(0));
}

proptest! {
    #[test]
    fn a_charge_never_exceeds_its_hold_and_nothing_is_lost_within_the_bound(
        prices in (0..=1_000_000_000_000_i64, 0..=1_000_000_000_000_i64),
        text in "[a-z]{0,200}",
        max_tokens in 1..=100_000_u32,
        usage in (0..=1_000_000_u64, 0..=1_000_000_u64),
    ) {
        let hold = Hold::of(&chat(&text, max_tokens), &priced(prices.0, prices.1, None));
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
