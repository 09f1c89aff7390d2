//! The counts of each provider, and the traps that have cost others money, one test each: `trap_1` to
//! `trap_10` here, `trap_10` also in `openai/tests.rs`, and `trap_11` in `domain`'s `hold/tests.rs`.

use domain::money::Money;
use domain::price::{Price, PriceStep, Rates};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Fresh, cached, written, written for an hour, output and thoughts, as charged.
fn shown(read: ReadUsage) -> String {
    assert_eq!(read.usage, read.billed, "in doubt");
    read.usage.map_or_else(|| "unknown".to_owned(), describe)
}

fn describe(used: TokenBuckets) -> String {
    let TokenBuckets {
        fresh,
        cached,
        cache_write,
        cache_write_1h,
        output,
        thinking,
    } = used;
    format!("{fresh} + {cached} + {cache_write} + {cache_write_1h} > {output} ({thinking})")
}

/// What is charged, and what we expect to pay.
fn in_doubt(read: ReadUsage) -> (String, String) {
    (
        describe(read.usage.unwrap()),
        describe(read.billed.unwrap()),
    )
}

/// Nano-dollars for a token of each bucket.
fn price(nanos: [i64; 5]) -> Price {
    let [input, cached_input, cache_write, cache_write_1h, output] =
        nanos.map(|nanos| Money(nanos * 1_000_000));
    let base = Rates {
        input,
        cached_input,
        cache_write,
        cache_write_1h,
        output,
    };
    Price {
        base,
        ..Price::flat(Money::ZERO, Money::ZERO)
    }
}

fn charge(price: Price, read: ReadUsage) -> i64 {
    price.rounded_cost(read.usage.unwrap()).nanos()
}

#[test]
fn counts_of_chat_completions() {
    let usage = json!({
        "prompt_tokens": 2000, "completion_tokens": 300, "total_tokens": 2300,
        "prompt_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 512},
        "completion_tokens_details": {"reasoning_tokens": 256},
    });
    assert_eq!(
        shown(chat_usage(&usage)),
        "464 + 1024 + 512 + 0 > 300 (256)"
    );
    // A server without details.
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23});
    assert_eq!(shown(chat_usage(&usage)), "20 + 0 + 0 + 0 > 3 (0)");
}

#[test]
fn counts_of_responses() {
    let usage = json!({
        "input_tokens": 2000, "output_tokens": 300, "total_tokens": 2300,
        "input_tokens_details": {
            "cached_tokens": 1000, "cache_write_tokens": 600,
            "cache_write_tokens_details": {"ttl_30m_tokens": 400, "ttl_12h_tokens": 200},
        },
        "output_tokens_details": {"reasoning_tokens": 64},
    });
    assert_eq!(
        shown(responses_usage(&usage)),
        "400 + 1000 + 400 + 200 > 300 (64)"
    );
}

#[test]
fn counts_of_anthropic() {
    let usage = json!({
        "input_tokens": 50, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 600,
        "cache_creation": {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 200},
        "output_tokens": 300, "output_tokens_details": {"thinking_tokens": 100},
        "iterations": [
            {"type": "message", "input_tokens": 50, "output_tokens": 300},
            {"type": "compaction", "input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 2},
        ],
    });
    assert_eq!(
        shown(anthropic_usage(&usage)),
        "57 + 1003 + 400 + 200 > 302 (100)"
    );
}

#[test]
fn counts_of_gemini() {
    let usage = json!({
        "promptTokenCount": 1000, "cachedContentTokenCount": 600, "toolUsePromptTokenCount": 20,
        "candidatesTokenCount": 100, "thoughtsTokenCount": 40, "totalTokenCount": 1160,
    });
    assert_eq!(shown(gemini_usage(&usage)), "420 + 600 + 0 + 0 > 140 (40)");
    // Zeros are absent.
    let usage = json!({"promptTokenCount": 9, "totalTokenCount": 9});
    assert_eq!(shown(gemini_usage(&usage)), "9 + 0 + 0 + 0 > 0 (0)");
}

#[test]
fn counts_of_embeddings() {
    for usage in [
        json!({"prompt_tokens": 8, "total_tokens": 8}),
        json!({"tokenCount": "8"}),
        json!({"promptTokenCount": 8}),
        json!(8),
    ] {
        assert_eq!(shown(embedding_usage(&usage)), "8 + 0 + 0 + 0 > 0 (0)");
    }
    assert_eq!(shown(embedding_usage(&json!({}))), "unknown");
}

#[test]
fn usage_that_is_missing_or_absurd_is_unknown() {
    for usage in [
        json!(null),
        json!({}),
        json!([1]),
        json!({"prompt_tokens": 1}),
        json!({"prompt_tokens": -1, "completion_tokens": 1}),
        json!({"prompt_tokens": null, "completion_tokens": null}),
        json!({"prompt_tokens": 1_u64 << 41, "completion_tokens": 1}),
    ] {
        assert_eq!(shown(chat_usage(&usage)), "unknown", "{usage}");
        assert_eq!(shown(responses_usage(&usage)), "unknown", "{usage}");
        assert_eq!(shown(anthropic_usage(&usage)), "unknown", "{usage}");
        assert_eq!(shown(gemini_usage(&usage)), "unknown", "{usage}");
    }
}

#[test]
fn the_total_decides_what_a_count_includes() {
    let usage = |total: u64| {
        json!({
            "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": total,
            "prompt_tokens_details": {"cached_tokens": 40},
            "completion_tokens_details": {"reasoning_tokens": 7},
        })
    };
    assert_eq!(shown(chat_usage(&usage(110))), "60 + 40 + 0 + 0 > 10 (7)");
    assert_eq!(shown(chat_usage(&usage(117))), "60 + 40 + 0 + 0 > 17 (7)");
    assert_eq!(shown(chat_usage(&usage(150))), "100 + 40 + 0 + 0 > 10 (7)");
    assert_eq!(shown(chat_usage(&usage(157))), "100 + 40 + 0 + 0 > 17 (7)");
}

#[test]
fn counts_that_contradict_the_total_favour_the_caller() {
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 500,
        "prompt_tokens_details": {"cached_tokens": 40},
    });
    let expected = ("100 + 0 + 0 + 0 > 10 (0)", "490 + 0 + 0 + 0 > 10 (0)");
    let (charged, billed) = in_doubt(chat_usage(&usage));
    assert_eq!((charged.as_str(), billed.as_str()), expected);
}

#[test]
fn more_cached_tokens_than_input_never_make_a_count_negative() {
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 128, "cache_write_tokens": 5},
    });
    assert_eq!(shown(chat_usage(&usage)), "0 + 100 + 0 + 0 > 10 (0)");
    // Without a total, the prompt may or may not include them.
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 128},
    });
    let expected = ("100 + 0 + 0 + 0 > 10 (0)", "228 + 0 + 0 + 0 > 10 (0)");
    let (charged, billed) = in_doubt(chat_usage(&usage));
    assert_eq!((charged.as_str(), billed.as_str()), expected);
}

#[test]
fn trap_1_flat_batch_rate_over_all_prompt_tokens() {
    let usage = json!({
        "prompt_tokens": 10_000, "completion_tokens": 0, "total_tokens": 10_000,
        "prompt_tokens_details": {"cached_tokens": 9_000},
    });
    let charged = charge(price([50, 5, 50, 50, 0]), chat_usage(&usage));
    assert_eq!(charged, 1_000 * 50 + 9_000 * 5);
}

#[test]
fn trap_2_full_input_and_the_cached_rate_for_the_same_tokens() {
    let usage = json!({
        "prompt_tokens": 9_000, "completion_tokens": 0, "total_tokens": 9_000,
        "prompt_tokens_details": {"cached_tokens": 9_000},
    });
    let charged = charge(price([50, 5, 50, 50, 0]), chat_usage(&usage));
    assert_eq!(charged, 9_000 * 5);
}

#[test]
fn trap_3_same_field_name_with_another_meaning() {
    // OpenAI's input includes cached tokens, Anthropic's does not.
    let usage = json!({
        "input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010,
        "input_tokens_details": {"cached_tokens": 900},
    });
    assert_eq!(shown(responses_usage(&usage)), "100 + 900 + 0 + 0 > 10 (0)");
    let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 10});
    assert_eq!(shown(anthropic_usage(&usage)), "100 + 900 + 0 + 0 > 10 (0)");
    // Keys of another vendor, added by a proxy, are not counted once more.
    let usage = json!({
        "prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010,
        "prompt_tokens_details": {"cached_tokens": 900}, "cache_read_input_tokens": 900,
    });
    assert_eq!(shown(chat_usage(&usage)), "100 + 900 + 0 + 0 > 10 (0)");
    // A count that is found keeps a price: cached tokens are never free by mistake.
    let flat = Price::flat(Money(50_000_000), Money::ZERO);
    assert_eq!(charge(flat, chat_usage(&usage)), 1000 * 50);
}

#[test]
fn trap_4_gemini_thoughts_left_out_or_counted_twice() {
    let usage = |total: u64| {
        json!({
            "promptTokenCount": 100, "candidatesTokenCount": 30, "thoughtsTokenCount": 20,
            "totalTokenCount": total,
        })
    };
    assert_eq!(
        shown(gemini_usage(&usage(150))),
        "100 + 0 + 0 + 0 > 50 (20)"
    );
    assert_eq!(
        shown(gemini_usage(&usage(130))),
        "100 + 0 + 0 + 0 > 30 (20)"
    );
}

#[test]
fn trap_5_gemini_details_omit_cached_tokens() {
    let usage = json!({
        "promptTokenCount": 1000, "cachedContentTokenCount": 800, "candidatesTokenCount": 10,
        "totalTokenCount": 1010,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 200}],
    });
    assert_eq!(shown(gemini_usage(&usage)), "200 + 800 + 0 + 0 > 10 (0)");
}

#[test]
fn trap_6_writes_for_an_hour_and_for_minutes_priced_alike() {
    let usage = |split: Value| {
        json!({
            "input_tokens": 0, "cache_creation_input_tokens": 1000, "cache_creation": split,
            "output_tokens": 0,
        })
    };
    let rates = price([100, 10, 125, 200, 500]);
    let hour = json!({"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1000});
    assert_eq!(charge(rates, anthropic_usage(&usage(hour))), 1000 * 200);
    let both = json!({"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 600});
    assert_eq!(
        charge(rates, anthropic_usage(&usage(both))),
        400 * 125 + 600 * 200
    );
    // Without a split, all is written for minutes.
    assert_eq!(
        charge(rates, anthropic_usage(&usage(json!(null)))),
        1000 * 125
    );
}

#[test]
fn trap_7_long_context_step_forgotten() {
    let base = price([100, 10, 100, 100, 400]);
    let rates = price([200, 20, 200, 200, 600]).base;
    let above = 272_000;
    let stepped = Price {
        steps: [Some(PriceStep { above, rates }), None],
        ..base
    };
    // Cached tokens count for the step.
    let usage = |fresh: u64| json!({"input_tokens": fresh, "cache_read_input_tokens": 200_000, "output_tokens": 1});
    let charged = |fresh| charge(stepped, anthropic_usage(&usage(fresh)));
    assert_eq!(charged(72_000), 72_000 * 100 + 200_000 * 10 + 400);
    assert_eq!(charged(72_001), 72_001 * 200 + 200_000 * 20 + 600);
}

#[test]
fn trap_8_null_and_text_counts() {
    let usage = json!({
        "input_tokens": "100", "cache_read_input_tokens": null,
        "cache_creation_input_tokens": null, "cache_creation": null, "output_tokens": " 10 ",
        "output_tokens_details": null,
    });
    assert_eq!(shown(anthropic_usage(&usage)), "100 + 0 + 0 + 0 > 10 (0)");
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": null, "total_tokens": null,
        "prompt_tokens_details": null, "completion_tokens_details": {"reasoning_tokens": null},
    });
    assert_eq!(shown(chat_usage(&usage)), "100 + 0 + 0 + 0 > 0 (0)");
    let usage = json!({"promptTokenCount": "100", "totalTokenCount": "100"});
    assert_eq!(shown(gemini_usage(&usage)), "100 + 0 + 0 + 0 > 0 (0)");
}

#[test]
fn trap_10_the_usage_of_a_batch_object_settles_nothing() {
    // It has the names of another API and lacks cache writes.
    let usage = json!({
        "input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010,
        "input_tokens_details": {"cached_tokens": 0},
    });
    assert_eq!(shown(chat_usage(&usage)), "unknown");
}

#[test]
fn an_answer_keeps_both_counts() {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 9});
    let read = chat_usage(&usage);
    let answer = read.into_answer(Vec::new(), ModelStop::EndTurn);
    assert_eq!((answer.usage, answer.billed), (read.usage, read.billed));
    assert_ne!(answer.usage, answer.billed);
}

proptest! {
    /// Trap 9: counts are subtracted from counts only, so the buckets always add up.
    #[test]
    fn trap_9_buckets_are_disjoint_and_add_up(
        (input, cached, written, hour) in (0..5000_u64, 0..5000_u64, 0..5000_u64, 0..5000_u64),
        (output, thinking) in (0..5000_u64, 0..5000_u64),
        total in proptest::option::of(0..20_000_u64),
    ) {
        for usual in [ThoughtCount::InOutput, ThoughtCount::BesideOutput] {
            let counts = ReportedCounts {
                input,
                cached,
                cache_write: written,
                cache_write_1h: hour,
                output,
                thinking,
                total,
            };
            let read = counts.read(usual);
            let (usage, billed) = (read.usage.unwrap(), read.billed.unwrap());
            prop_assert!(usage.input_total() <= billed.input_total());
            prop_assert!(usage.output <= billed.output);
            prop_assert!(usage.thinking <= usage.output);
            if let (true, Some(total)) = (usage == billed, total.filter(|total| *total > 0)) {
                prop_assert!(usage.total() == total || usage.total() == input + output);
            }
        }
    }

    #[test]
    fn no_document_is_too_strange(text in "\\PC{0,40}", number: i64) {
        for value in [json!(text), json!(number), json!({"prompt_tokens": text})] {
            for read in [chat_usage, responses_usage, anthropic_usage, gemini_usage] {
                let wrapped = json!({
                    "prompt_tokens": value, "completion_tokens": value,
                    "input_tokens": value, "output_tokens": value,
                    "promptTokenCount": value, "totalTokenCount": value,
                });
                let read = read(&wrapped);
                prop_assert_eq!(read.usage.is_some(), read.billed.is_some());
            }
        }
    }
}
