//! A hold: the most that a cargo can cost, set aside while the cargo is in flight.
//!
//! It is placed with the load and settled or released with the outcome. It keeps the price of the
//! load: a later price of the model does not change it.

use crate::file::{FileStructure, ReferencedFile};
use crate::model::{InputBounds, Model, Price, SVC_MOCK};
use crate::money::Money;
use crate::outcome::TokenUsage;
use crate::params::Params;

/// A price is for so many tokens.
const TOKENS_PER_PRICE: i128 = 1_000_000;
/// Tokens that a provider may add to each text: roles, separators, start and end.
const OVERHEAD_TOKENS_PER_TEXT: u64 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hold {
    pub amount: Money,
    /// None for a free model.
    pub price: Option<Price>,
    /// Reserved from the month's quota; 0 for a model that does not count.
    pub tokens: u64,
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
    /// A token has at least one byte, so its bytes bound the tokens of a text. The model's bounds
    /// for images, pages and seconds bound the tokens of a file. `files` has an entry for each
    /// reference of the load: a file that is referenced twice is read twice.
    pub fn of(params: &Params, model: &Model, files: &[ReferencedFile]) -> Self {
        if model.id == SVC_MOCK {
            return Self::default();
        }
        let context = model.context.unwrap_or(u64::MAX);
        let most = match params {
            Params::Chat(chat) => TokenUsage {
                input_tokens: files
                    .iter()
                    .map(|file| model.bounds.max_file_tokens(file))
                    .fold(
                        max_text_tokens(chat.text_bytes(), chat.messages.len() + 1),
                        u64::saturating_add,
                    )
                    .min(context),
                output_tokens: u64::from(chat.max_tokens),
            },
            // Each text is read separately.
            Params::Embedding(embedding) => TokenUsage {
                input_tokens: embedding
                    .input_text
                    .texts()
                    .iter()
                    .map(|text| max_text_tokens(text.len(), 1).min(context))
                    .fold(0, u64::saturating_add),
                output_tokens: 0,
            },
        };
        let price = model.prices.map(|prices| prices.batch);
        Self {
            amount: price.map_or(Money::ZERO, |price| price.max_cost(most)),
            price,
            tokens: most.total(),
        }
    }

    /// Whether there is nothing to settle or release.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Charges the usage, and never more than was held.
    pub fn settle(&self, usage: TokenUsage) -> Settlement {
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

impl Price {
    /// In millionths of a nano-dollar, so nothing is rounded.
    fn exact_cost(self, usage: TokenUsage) -> i128 {
        let part = |tokens: u64, price: Money| i128::from(tokens).saturating_mul(price.0.into());
        part(usage.input_tokens, self.input).saturating_add(part(usage.output_tokens, self.output))
    }

    fn max_cost(self, usage: TokenUsage) -> Money {
        to_money(
            self.exact_cost(usage)
                .saturating_add(TOKENS_PER_PRICE - 1)
                .div_euclid(TOKENS_PER_PRICE),
        )
    }

    /// The only place that rounds a charge.
    pub fn rounded_cost(self, usage: TokenUsage) -> Money {
        to_money(
            self.exact_cost(usage)
                .saturating_add(TOKENS_PER_PRICE / 2)
                .div_euclid(TOKENS_PER_PRICE),
        )
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

/// The most tokens of so many bytes in so many texts.
fn max_text_tokens(bytes: usize, texts: usize) -> u64 {
    to_u64(bytes).saturating_add(to_u64(texts).saturating_mul(OVERHEAD_TOKENS_PER_TEXT))
}

fn to_money(nanos: i128) -> Money {
    Money(i64::try_from(nanos).unwrap_or(i64::MAX))
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
