//! A hold: the most that a cargo can cost, set aside while the cargo is in flight.
//!
//! It is placed with the load and settled or released with the outcome. It keeps the price of the
//! load: a later price of the model does not change it.

use crate::features::PromptCaching;
use crate::file::{FileStructure, ReferencedFile};
use crate::model::{InputBounds, Model, SVC_MOCK};
use crate::money::Money;
use crate::params::cache_control::CacheTtl;
use crate::params::{ChatParams, Params};
use crate::price::{CacheWriting, Price};
use crate::token_buckets::{TokenBuckets, TokenUsage};

/// Tokens that a provider may add to each text: roles, separators, start and end.
const OVERHEAD_TOKENS_PER_TEXT: u64 = 8;
/// The longest prompt that a provider adds to a request with tools.
const HIDDEN_TOOL_PROMPT_TOKENS: u64 = 900;
/// The longest prompt that a provider adds to a request with an output format.
const HIDDEN_FORMAT_PROMPT_TOKENS: u64 = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hold {
    pub amount: Money,
    /// None for a free model.
    pub price: Option<Price>,
    /// Reserved from the month's quota; 0 for a model that does not count.
    pub tokens: u64,
}

/// The most tokens that a load can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenBounds {
    pub input: u64,
    pub output: u64,
    /// For how long the provider may cache the prompt.
    pub writing: CacheWriting,
}

/// How a hold ended. The part that is not charged is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settlement {
    pub charged: Money,
    /// The cost beyond the hold, which we bear.
    pub lost: Money,
    /// Tokens that count toward the quota of the month in which they were reserved.
    pub tokens: u64,
}

impl Hold {
    /// The dearest that can happen: the most tokens, each at the highest rate that can apply to it.
    /// `files` has an entry for each reference of the load: a file that is referenced twice is read
    /// twice.
    pub fn of(params: &Params, model: &Model, files: &[ReferencedFile]) -> Self {
        if model.id == SVC_MOCK {
            return Self::default();
        }
        let bounds = TokenBounds::of(params, model, files);
        let price = model.prices.map(|prices| prices.batch);
        Self {
            amount: price.map_or(Money::ZERO, |price| bounds.max_cost(&price)),
            price,
            tokens: bounds.tokens().total(),
        }
    }

    /// Whether there is nothing to settle or release.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Charges the usage, and never more than was held.
    pub fn settle(&self, usage: TokenBuckets) -> Settlement {
        let worth = self
            .price
            .map_or(Money::ZERO, |price| price.rounded_cost(usage));
        let charged = worth.min(self.amount);
        Settlement {
            charged,
            lost: worth - charged,
            tokens: usage.total().min(self.tokens),
        }
    }

    /// Failed and cancelled work costs nothing.
    pub fn release(&self) -> Settlement {
        Settlement::default()
    }
}

impl TokenBounds {
    /// `files` has an entry for each reference of the load.
    pub fn of(params: &Params, model: &Model, files: &[ReferencedFile]) -> Self {
        let context = model.context.unwrap_or(u64::MAX);
        match params {
            Params::Chat(chat) => Self {
                input: files
                    .iter()
                    .map(|file| model.bounds.max_file_tokens(file))
                    .fold(max_chat_text_tokens(chat), u64::saturating_add)
                    .min(context),
                // Providers refuse a smaller maximum, so encoders raise it.
                output: u64::from(chat.max_tokens.max(model.features.min_output)),
                writing: cache_writing(chat, model),
            },
            // Each text is read separately.
            Params::Embedding(embedding) => Self {
                input: embedding
                    .input_text
                    .texts()
                    .iter()
                    .map(|text| max_text_tokens(text.len(), 1).min(context))
                    .fold(0, u64::saturating_add),
                output: 0,
                writing: CacheWriting::None,
            },
        }
    }

    pub const fn tokens(&self) -> TokenUsage {
        TokenUsage {
            input_tokens: self.input,
            output_tokens: self.output,
        }
    }

    /// The dearest that can happen at this price.
    pub fn max_cost(&self, price: &Price) -> Money {
        price.max_cost(self.input, self.output, self.writing)
    }
}

impl InputBounds {
    /// The most tokens that a file can have.
    fn max_file_tokens(&self, file: &ReferencedFile) -> u64 {
        match file.structure {
            Some(FileStructure::Image { .. }) => self.image,
            Some(FileStructure::Pages(pages)) => u64::from(pages).saturating_mul(self.page),
            Some(FileStructure::Text) => file.size_bytes,
            Some(FileStructure::Video { milliseconds }) => milliseconds
                .div_ceil(1000)
                .saturating_mul(self.video_second),
            // A ready file always has a structure. Without one, only the context is a bound.
            None => u64::MAX,
        }
    }
}

/// A token has at least one byte, so its bytes bound the tokens of a text.
fn max_text_tokens(bytes: usize, texts: usize) -> u64 {
    to_u64(bytes).saturating_add(to_u64(texts).saturating_mul(OVERHEAD_TOKENS_PER_TEXT))
}

/// The most tokens of a chat without its files: messages, system prompt, tools, schemas and the
/// prompts that a provider adds for them.
fn max_chat_text_tokens(chat: &ChatParams) -> u64 {
    let texts = chat.messages.len() + 1 + chat.tools.len();
    let tools = if chat.tools.is_empty() {
        0
    } else {
        HIDDEN_TOOL_PROMPT_TOKENS
    };
    let format = chat
        .output_format()
        .map_or(0, |_| HIDDEN_FORMAT_PROMPT_TOKENS);
    max_text_tokens(chat.text_bytes(), texts)
        .saturating_add(tools)
        .saturating_add(format)
}

/// For how long the provider may cache the prompt. Marks count only if some route sends them.
fn cache_writing(chat: &ChatParams, model: &Model) -> CacheWriting {
    if model.features.caching == PromptCaching::Automatic {
        return CacheWriting::None;
    }
    let longest = chat.cache_marks().map(|mark| match mark.ttl() {
        CacheTtl::FiveMinutes => CacheWriting::Minutes,
        CacheTtl::OneHour => CacheWriting::Hour,
    });
    longest.max().unwrap_or_default()
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
