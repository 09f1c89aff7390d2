//! Reads the token counts of every provider into disjoint buckets.
//!
//! Providers differ in what a count includes. The usual meaning of each API is tried first; if the
//! provider's total contradicts it, the meaning that fits the total counts.

use domain::model_answer::{ModelAnswer, ModelStop};
use domain::outcome::CompletionBlock;
use domain::route::InferenceMode;
use domain::token_buckets::{TokenBuckets, TokenUsage};
use serde_json::Value;

use super::item_result::{ItemBill, plausible_usage};

/// The tokens of an answer. Both are None if the provider reported no plausible usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ReadUsage {
    /// What the caller is charged for.
    pub(super) usage: Option<TokenBuckets>,
    /// What the provider may bill us. It differs only where the counts contradict each other.
    pub(super) billed: Option<TokenBuckets>,
}

impl ReadUsage {
    pub(super) fn into_answer(self, blocks: Vec<CompletionBlock>, stop: ModelStop) -> ModelAnswer {
        ModelAnswer {
            billed: self.billed,
            ..ModelAnswer::new(blocks, stop, self.usage)
        }
    }

    /// What the provider bills for an item without an answer.
    pub(super) fn bill(self, tier: Option<InferenceMode>) -> ItemBill {
        ItemBill {
            tokens: self.billed.unwrap_or_default(),
            tier,
        }
    }

    fn known(buckets: TokenBuckets) -> Self {
        let usage = plausible_usage(buckets);
        Self {
            usage,
            billed: usage,
        }
    }
}

/// `usage` of Chat Completions, also of servers and presets. Cached tokens are a part of the prompt.
pub(super) fn chat_usage(counts: &Value) -> ReadUsage {
    let Some((input, output)) = main_counts(counts, "prompt_tokens", "completion_tokens") else {
        return ReadUsage::default();
    };
    let prompt = |name| detail(counts, "prompt_tokens_details", name);
    let reported = ReportedCounts {
        input,
        cached: prompt("cached_tokens"),
        cache_write: prompt("cache_write_tokens"),
        cache_write_1h: 0,
        output,
        thinking: detail(counts, "completion_tokens_details", "reasoning_tokens"),
        total: count(counts, "total_tokens"),
    };
    reported.read(ThoughtCount::InOutput)
}

/// `usage` of the Responses API. What it caches for 12 hours is written for an hour or longer.
pub(super) fn responses_usage(counts: &Value) -> ReadUsage {
    let Some((input, output)) = main_counts(counts, "input_tokens", "output_tokens") else {
        return ReadUsage::default();
    };
    let details = counts.get("input_tokens_details").unwrap_or(&Value::Null);
    let by_ttl = |name| detail(details, "cache_write_tokens_details", name);
    let cache_write_1h = by_ttl("ttl_12h_tokens");
    let parts = by_ttl("ttl_30m_tokens").saturating_add(cache_write_1h);
    let written = count(details, "cache_write_tokens").unwrap_or_default();
    let reported = ReportedCounts {
        input,
        cached: count(details, "cached_tokens").unwrap_or_default(),
        cache_write: written.max(parts).saturating_sub(cache_write_1h),
        cache_write_1h,
        output,
        thinking: detail(counts, "output_tokens_details", "reasoning_tokens"),
        total: count(counts, "total_tokens"),
    };
    reported.read(ThoughtCount::InOutput)
}

/// `usage` of Anthropic. Its input excludes what was read from and written to a cache, and there is
/// no total to compare with.
pub(super) fn anthropic_usage(counts: &Value) -> ReadUsage {
    if main_counts(counts, "input_tokens", "output_tokens").is_none() {
        return ReadUsage::default();
    }
    let iterations = counts.get("iterations").and_then(Value::as_array);
    // The counts of compactions are not in those of the message.
    let compactions = iterations
        .into_iter()
        .flatten()
        .filter(|it| it.get("type").and_then(Value::as_str) == Some("compaction"));
    let buckets = compactions
        .map(anthropic_buckets)
        .fold(anthropic_buckets(counts), |sum, more| sum + more);
    ReadUsage::known(buckets)
}

/// `usageMetadata` of Gemini. It omits zeros; the usage is unknown only without any total. Thoughts
/// are counted beside the candidates, by some versions also within them.
pub(super) fn gemini_usage(counts: &Value) -> ReadUsage {
    let totals = ["promptTokenCount", "totalTokenCount"];
    let is_missing = |name: &&str| counts.get(*name).and_then(number).is_none();
    if totals.iter().all(is_missing) {
        return ReadUsage::default();
    }
    let count_of = |name| count(counts, name).unwrap_or_default();
    let prompt = count_of("promptTokenCount");
    let reported = ReportedCounts {
        input: prompt.saturating_add(count_of("toolUsePromptTokenCount")),
        cached: count_of("cachedContentTokenCount"),
        cache_write: 0,
        cache_write_1h: 0,
        output: count_of("candidatesTokenCount"),
        thinking: count_of("thoughtsTokenCount"),
        total: count(counts, "totalTokenCount"),
    };
    reported.read(ThoughtCount::BesideOutput)
}

/// The usage of an embedding, or its count of tokens alone. There is no output.
pub(super) fn embedding_usage(counts: &Value) -> ReadUsage {
    let names = ["prompt_tokens", "tokenCount", "promptTokenCount"];
    let reported = names.iter().find_map(|name| count(counts, name));
    let Some(fresh) = reported.or_else(|| number(counts)) else {
        return ReadUsage::default();
    };
    ReadUsage::known(TokenBuckets {
        fresh,
        ..TokenBuckets::default()
    })
}

/// Whether a provider counts thoughts as output, or beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThoughtCount {
    InOutput,
    BesideOutput,
}

/// The counts of one answer, before it is known what they include.
#[derive(Debug, Clone, Copy)]
struct ReportedCounts {
    input: u64,
    cached: u64,
    cache_write: u64,
    cache_write_1h: u64,
    output: u64,
    thinking: u64,
    total: Option<u64>,
}

impl ReportedCounts {
    /// The usual meaning if it fits the total, or else another one that does.
    fn read(self, usual: ThoughtCount) -> ReadUsage {
        let other = match usual {
            ThoughtCount::InOutput => ThoughtCount::BesideOutput,
            ThoughtCount::BesideOutput => ThoughtCount::InOutput,
        };
        let meanings = [
            self.with_cache_in_input(usual),
            self.with_cache_in_input(other),
            self.with_cache_beside_input(usual),
            self.with_cache_beside_input(other),
        ];
        let fitting = match self.total.filter(|total| *total > 0) {
            Some(total) => meanings.iter().find(|it| it.total() == total),
            None if self.cache_tokens() <= self.input => meanings.first(),
            // More was cached than read, and no total says which count is right.
            None => None,
        };
        match fitting {
            Some(buckets) => ReadUsage::known(*buckets),
            None => self.doubt(&meanings),
        }
    }

    const fn cache_tokens(self) -> u64 {
        self.cached
            .saturating_add(self.cache_write)
            .saturating_add(self.cache_write_1h)
    }

    /// Cached tokens are a part of the input. Providers may report more of them than input: the rest
    /// is cut, so that the sum stays the input.
    fn with_cache_in_input(self, thoughts: ThoughtCount) -> TokenBuckets {
        let cached = self.cached.min(self.input);
        let left = self.input - cached;
        let cache_write = self.cache_write.min(left);
        let left = left - cache_write;
        let cache_write_1h = self.cache_write_1h.min(left);
        TokenBuckets {
            fresh: left - cache_write_1h,
            cached,
            cache_write,
            cache_write_1h,
            ..self.output_buckets(thoughts)
        }
    }

    fn with_cache_beside_input(self, thoughts: ThoughtCount) -> TokenBuckets {
        TokenBuckets {
            fresh: self.input,
            cached: self.cached,
            cache_write: self.cache_write,
            cache_write_1h: self.cache_write_1h,
            ..self.output_buckets(thoughts)
        }
    }

    fn output_buckets(self, thoughts: ThoughtCount) -> TokenBuckets {
        let output = match thoughts {
            ThoughtCount::InOutput => self.output,
            ThoughtCount::BesideOutput => self.output.saturating_add(self.thinking),
        };
        TokenBuckets {
            output,
            thinking: self.thinking.min(output),
            ..TokenBuckets::default()
        }
    }

    /// No meaning fits. The caller is charged for the least that the provider can mean, and we expect
    /// a bill for the most. What was cached is not known then.
    fn doubt(self, meanings: &[TokenBuckets]) -> ReadUsage {
        metrics::counter!("longshore_outcomes_usage_doubtful_total").increment(1);
        let inputs = || meanings.iter().map(|it| it.input_total());
        let outputs = || meanings.iter().map(|it| it.output);
        let least_output = outputs().min().unwrap_or_default();
        let least = self.plain(inputs().min().unwrap_or_default(), least_output);
        let beside_output = self.total.map(|total| total.saturating_sub(least_output));
        let most = self.plain(
            inputs().chain(beside_output).max().unwrap_or_default(),
            outputs().max().unwrap_or_default(),
        );
        let usage = plausible_usage(least);
        ReadUsage {
            usage,
            billed: plausible_usage(most).or(usage),
        }
    }

    fn plain(self, input_tokens: u64, output_tokens: u64) -> TokenBuckets {
        TokenBuckets {
            thinking: self.thinking.min(output_tokens),
            ..TokenBuckets::plain(TokenUsage {
                input_tokens,
                output_tokens,
            })
        }
    }
}

/// The buckets of a message or of a compaction. Without a split by duration, writes are for minutes.
fn anthropic_buckets(counts: &Value) -> TokenBuckets {
    let count_of = |name| count(counts, name).unwrap_or_default();
    let by_ttl = |name| detail(counts, "cache_creation", name);
    let cache_write_1h = by_ttl("ephemeral_1h_input_tokens");
    let parts = by_ttl("ephemeral_5m_input_tokens").saturating_add(cache_write_1h);
    let written = count_of("cache_creation_input_tokens").max(parts);
    let output = count_of("output_tokens");
    TokenBuckets {
        fresh: count_of("input_tokens"),
        cached: count_of("cache_read_input_tokens"),
        cache_write: written.saturating_sub(cache_write_1h),
        cache_write_1h,
        output,
        thinking: detail(counts, "output_tokens_details", "thinking_tokens").min(output),
    }
}

/// Input and output. None if one is missing, or if both are null: then nothing was counted.
fn main_counts(counts: &Value, input: &str, output: &str) -> Option<(u64, u64)> {
    let is_null = |name| counts.get(name).is_some_and(Value::is_null);
    if is_null(input) && is_null(output) {
        return None;
    }
    count(counts, input).zip(count(counts, output))
}

/// A part of a count; 0 if it is missing.
fn detail(counts: &Value, details: &str, name: &str) -> u64 {
    let details = counts.get(details).unwrap_or(&Value::Null);
    count(details, name).unwrap_or_default()
}

fn count(counts: &Value, name: &str) -> Option<u64> {
    let value = counts.get(name)?;
    if value.is_null() {
        Some(0)
    } else {
        number(value)
    }
}

/// Some providers send 64-bit numbers as strings.
fn number(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests;
