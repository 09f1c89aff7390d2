//! A hold: what a cargo may cost at most, set aside while it is under way.
//!
//! It is placed with the load and settled or released with the outcome. It
//! remembers its price: what a model costs later does not matter to it.

use crate::file::{Referenced, Structure};
use crate::model::{InputBounds, Model, Price, SVC_MOCK};
use crate::money::Money;
use crate::outcome::Usage;
use crate::params::Params;

/// Prices are for so many tokens.
const MILLION: i128 = 1_000_000;
/// Tokens that a provider may put around each text: roles, separators, a beginning and an end.
const AROUND_A_TEXT: u64 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hold {
    pub amount: Money,
    /// Nothing for what is free.
    pub price: Option<Price>,
    /// Reserved of the month's quota; 0 for what does not count.
    pub tokens: u64,
}

/// What became of a hold. What is not charged is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settlement {
    pub charged: Money,
    /// What the work came to beyond the hold: ours to bear.
    pub lost: Money,
    /// What counts toward the quota of the month in which it was reserved.
    pub tokens: u64,
}

impl Hold {
    /// No token is shorter than a byte, so its bytes bound what a text can come to; what
    /// the model's bounds say of its images, pages and seconds bounds a file. `files` are
    /// the namings of the load: what is named twice is read twice.
    pub fn of(params: &Params, model: &Model, files: &[Referenced]) -> Self {
        if model.id == SVC_MOCK {
            return Self::default();
        }
        let context = model.context.unwrap_or(u64::MAX);
        let most = match params {
            Params::Chat(chat) => Usage {
                input_tokens: files
                    .iter()
                    .map(|file| model.bounds.most(file))
                    .fold(
                        bound(chat.text_bytes(), chat.messages.len() + 1),
                        u64::saturating_add,
                    )
                    .min(context),
                output_tokens: u64::from(chat.max_tokens),
            },
            // Each text is read by itself.
            Params::Embedding(embedding) => Usage {
                input_tokens: embedding
                    .input_text
                    .texts()
                    .iter()
                    .map(|text| bound(text.len(), 1).min(context))
                    .fold(0, u64::saturating_add),
                output_tokens: 0,
            },
        };
        let price = model.prices.map(|prices| prices.batch);
        Self {
            amount: price.map_or(Money::ZERO, |price| price.at_most(most)),
            price,
            tokens: most.total(),
        }
    }

    /// Whether there is anything to settle or release.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Charges what was used, and never more than was held.
    pub fn settle(&self, usage: Usage) -> Settlement {
        let worth = self.price.map_or(Money::ZERO, |price| price.nearest(usage));
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
    /// In millionths of a nano-dollar, where nothing has to be rounded.
    fn exactly(self, usage: Usage) -> i128 {
        let part = |tokens: u64, price: Money| i128::from(tokens).saturating_mul(price.0.into());
        part(usage.input_tokens, self.input).saturating_add(part(usage.output_tokens, self.output))
    }

    fn at_most(self, usage: Usage) -> Money {
        to_money(
            self.exactly(usage)
                .saturating_add(MILLION - 1)
                .div_euclid(MILLION),
        )
    }

    /// The one rounding of money.
    pub fn nearest(self, usage: Usage) -> Money {
        to_money(
            self.exactly(usage)
                .saturating_add(MILLION / 2)
                .div_euclid(MILLION),
        )
    }
}

impl InputBounds {
    /// The most tokens that a file can come to.
    fn most(&self, file: &Referenced) -> u64 {
        match file.structure {
            Some(Structure::Image { .. }) => self.image,
            Some(Structure::Pages(pages)) => u64::from(pages).saturating_mul(self.page),
            Some(Structure::Text) => file.size_bytes,
            Some(Structure::Video { milliseconds }) => milliseconds
                .div_ceil(1000)
                .saturating_mul(self.video_second),
            // Never so for what is ready; then only the context bounds it.
            None => u64::MAX,
        }
    }
}

/// The most tokens of so many bytes in so many texts.
fn bound(bytes: usize, texts: usize) -> u64 {
    to_u64(bytes).saturating_add(to_u64(texts).saturating_mul(AROUND_A_TEXT))
}

fn to_money(nanos: i128) -> Money {
    Money(i64::try_from(nanos).unwrap_or(i64::MAX))
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
