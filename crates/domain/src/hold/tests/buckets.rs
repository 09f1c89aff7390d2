//! Holds of requests with tools, schemas and cache marks, at prices by bucket and with steps.

use super::*;
use crate::features::Features;
use crate::price::{PriceStep, Rates};

/// A nano-dollar for an input token; caching and output at these rates.
fn bucket_price(cached: i64, write: i64, hour: i64, output: i64) -> Price {
    let nano = |nanos: i64| Money(nanos * 1_000_000);
    Price {
        base: Rates {
            input: nano(1),
            cached_input: nano(cached),
            cache_write: nano(write),
            cache_write_1h: nano(hour),
            output: nano(output),
        },
        ..Price::flat(Money::ZERO, Money::ZERO)
    }
}

/// A request without text and with one output token, plus these fields. Its one message and its
/// role can have 20 tokens.
fn request(fields: &serde_json::Value) -> Params {
    let mut body = serde_json::json!({
        "model": "priced", "max_tokens": 1, "messages": [{"role": "user", "content": ""}],
    });
    let fields = fields.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    serde_json::from_value(body).unwrap()
}

#[test]
fn tools_and_schemas_are_held_with_the_prompts_that_providers_add() {
    let model = priced_model(1_000_000, 0, None);
    let held = |fields| Hold::of(&request(&fields), &model, &[]).tokens - 1;
    let plain = held(serde_json::json!({}));
    assert_eq!(plain, 4 + 2 * 8);
    let tool = serde_json::json!({"name": "find", "input_schema": {"type": "object"}});
    let with_tool = held(serde_json::json!({"tools": [tool]}));
    assert_eq!(with_tool, plain + 4 + 17 + 8 + 900);
    let format = serde_json::json!({"type": "json_schema", "schema": {"type": "object"}});
    let with_format = held(serde_json::json!({"output_config": {"format": format}}));
    assert_eq!(with_format, plain + 17 + 400);
}

#[test]
fn the_dearest_rate_that_a_cache_mark_allows_is_held() {
    let model = Model {
        features: Features {
            caching: PromptCaching::Marks,
            ..Features::plain()
        },
        ..model_with_price(bucket_price(0, 2, 3, 0))
    };
    let mark = serde_json::json!({"type": "ephemeral"});
    let hour = serde_json::json!({"type": "ephemeral", "ttl": "1h"});
    let text = |mark: &serde_json::Value| serde_json::json!([{"type": "text", "text": "", "cache_control": mark}]);
    let message = |mark| serde_json::json!([{"role": "user", "content": text(mark)}]);
    for (fields, rate) in [
        (serde_json::json!({}), 1),
        (serde_json::json!({"cache_control": mark}), 2),
        (serde_json::json!({"system": text(&mark)}), 2),
        (serde_json::json!({"messages": message(&mark)}), 2),
        (serde_json::json!({"messages": message(&hour)}), 3),
        (
            serde_json::json!({"system": text(&hour), "messages": message(&mark)}),
            3,
        ),
    ] {
        let hold = Hold::of(&request(&fields), &model, &[]);
        assert_eq!(hold.amount, Money(20 * rate), "{fields}");
        // Without a route that sends marks, the provider writes nothing.
        let automatic = Model {
            features: Features::plain(),
            ..model.clone()
        };
        let hold = Hold::of(&request(&fields), &automatic, &[]);
        assert_eq!(hold.amount, Money(20));
    }
}

#[test]
fn a_bound_beyond_a_price_step_is_held_at_the_upper_rates() {
    let base = bucket_price(0, 1, 1, 1);
    let upper = Rates {
        input: Money(2_000_000),
        ..base.base
    };
    let step = |above| Price {
        steps: [
            Some(PriceStep {
                above,
                rates: upper,
            }),
            None,
        ],
        ..base
    };
    let hold_above = |above| {
        let model = model_with_price(step(above));
        Hold::of(&request(&serde_json::json!({})), &model, &[])
    };
    assert_eq!(hold_above(20).amount, Money(20 + 1));
    let hold = hold_above(19);
    assert_eq!(hold.amount, Money(2 * 20 + 1));
    // The input of the answer chooses the step, not the bound.
    assert_eq!(hold.settle(used(19, 1)).charged, Money(20));
    assert_eq!(hold.settle(used(20, 1)).charged, Money(41));
}

#[test]
fn cached_tokens_are_charged_at_their_own_rate() {
    let model = model_with_price(bucket_price(0, 2, 3, 4));
    let hold = Hold::of(&chat(&"x".repeat(100), 10), &model, &[]);
    let buckets = TokenBuckets {
        cached: 90,
        thinking: 2,
        ..used(10, 5)
    };
    let settlement = hold.settle(buckets);
    assert_eq!(settlement.charged, Money(10 + 5 * 4));
    // The quota counts every token, cached or not.
    assert_eq!(settlement.tokens, 105);
}

/// Some tokenizers make a third more tokens of the same text.
#[test]
fn a_new_tokenizer_stays_within_the_hold() {
    let text = "The hold counts bytes, and no token is shorter.";
    let hold = Hold::of(&chat(text, 10), &priced_model(1_000_000, 0, None), &[]);
    let tokens = u64::try_from(text.len()).unwrap();
    for share in [4, 3, 1] {
        assert_eq!(hold.settle(used(tokens / share, 10)).lost, Money::ZERO);
    }
}

#[test]
fn a_smaller_maximum_than_the_provider_takes_is_held_as_it_is_sent() {
    let model = Model {
        features: Features {
            min_output: 16,
            ..Features::plain()
        },
        ..priced_model(0, 1_000_000, None)
    };
    assert_eq!(Hold::of(&chat("", 1), &model, &[]).amount, Money(16));
    assert_eq!(Hold::of(&chat("", 17), &model, &[]).amount, Money(17));
}

fn some_rates() -> impl Strategy<Value = Rates> {
    let rate = || 0..=1_000_000_000_000_i64;
    (rate(), rate(), rate(), rate(), rate()).prop_map(|(a, b, c, d, e)| Rates {
        input: Money(a),
        cached_input: Money(b),
        cache_write: Money(c),
        cache_write_1h: Money(d),
        output: Money(e),
    })
}

proptest! {
    #[test]
    fn a_charge_by_bucket_never_exceeds_its_hold_and_nothing_is_lost_within_the_bound(
        (base, upper) in (some_rates(), some_rates()),
        above in 1..400_u64,
        text in "[a-z]{0,400}",
        max_tokens in 1..=1000_u32,
        ttl in proptest::option::of(prop_oneof![Just("5m"), Just("1h")]),
        (fresh, cached, written, hour) in (0..150_u64, 0..150_u64, 0..150_u64, 0..150_u64),
        output in 0..=1200_u64,
    ) {
        let step = PriceStep { above, rates: upper };
        let model = Model {
            features: Features { caching: PromptCaching::Marks, ..Features::plain() },
            ..model_with_price(Price { base, steps: [Some(step), None] })
        };
        let mut fields = serde_json::json!({
            "max_tokens": max_tokens, "messages": [{"role": "user", "content": text}],
        });
        if let Some(ttl) = ttl {
            fields["cache_control"] = serde_json::json!({"type": "ephemeral", "ttl": ttl});
        }
        let hold = Hold::of(&request(&fields), &model, &[]);
        let tokens = TokenBuckets {
            fresh,
            cached,
            // A provider writes only what a mark asks for.
            cache_write: ttl.map_or(0, |_| written),
            cache_write_1h: if ttl == Some("1h") { hour } else { 0 },
            output,
            thinking: output / 2,
        };
        let settlement = hold.settle(tokens);
        prop_assert!(settlement.charged <= hold.amount);
        prop_assert!(settlement.charged >= Money::ZERO && settlement.lost >= Money::ZERO);
        let is_within = tokens.input_total() <= hold.tokens - u64::from(max_tokens)
            && output <= u64::from(max_tokens);
        if is_within {
            prop_assert_eq!(settlement.lost, Money::ZERO);
        }
    }
}
