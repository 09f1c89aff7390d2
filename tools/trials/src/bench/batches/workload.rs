//! How much the bench loads, how large each cargo is, and the limits of the account.

use crate::bench::batches::account_limits::BenchAccountLimits;
use crate::options::BenchBatchesOptions;

const PROMPTS_PER_ORGANIZATION: usize = 4;
const PROMPT_BYTES: usize = 600;

#[derive(Debug, Clone, Copy)]
pub struct BatchesWorkload {
    pub cargo: usize,
    pub organizations: usize,
    /// Bytes of each text.
    pub text_bytes: usize,
    pub limits: BenchAccountLimits,
    /// The most memory that a `work` process may ever have.
    pub max_worker_megabytes: f64,
    /// The most memory that the `serve` process may grow by.
    pub max_server_growth_megabytes: f64,
}

impl BatchesWorkload {
    pub fn from_options(options: &BenchBatchesOptions) -> Self {
        if options.large {
            return Self::large();
        }
        Self {
            cargo: options.cargo,
            organizations: options.organizations.max(4),
            text_bytes: 400,
            limits: BenchAccountLimits {
                // Small runs fill several batches, too.
                job_items: u64::try_from(options.cargo / 20)
                    .unwrap_or_default()
                    .clamp(50, 5000),
                job_bytes: 200_000_000,
                enqueued_tokens: options.enqueued_tokens,
            },
            // A worker packs eight jobs of each shard at once, from 8 MB of requests each.
            max_worker_megabytes: 256.0,
            max_server_growth_megabytes: 96.0,
        }
    }

    /// A little more than fits into one job.
    const fn large() -> Self {
        Self {
            cargo: 2100,
            organizations: 4,
            text_bytes: 100_000,
            limits: BenchAccountLimits {
                job_items: 50_000,
                job_bytes: 200_000_000,
                enqueued_tokens: 200_000_000,
            },
            max_worker_megabytes: 128.0,
            // All of it is loaded within seconds.
            max_server_growth_megabytes: 256.0,
        }
    }

    /// Half of the cargo belongs to one organization; in a large run, nearly all.
    pub const fn busy_cargo(&self, is_large: bool) -> usize {
        if is_large {
            self.cargo.saturating_sub(self.organizations)
        } else {
            self.cargo / 2
        }
    }
}

/// The system prompt of an organization's `number`th cargo.
pub fn build_prompt(place: usize, number: usize) -> String {
    let turn = number % PROMPTS_PER_ORGANIZATION;
    let mut prompt = format!("You are clerk {turn} of organization {place}. ");
    while prompt.len() < PROMPT_BYTES {
        prompt.push_str("Answer in one sentence and name the example. ");
    }
    prompt
}

/// A text that no other cargo has.
pub fn build_text(place: usize, number: usize, bytes: usize) -> String {
    let mut text = format!("cargo {number} of organization {place}: ");
    let mut state = u64::try_from(place * 1_000_003 + number).unwrap_or_default() | 1;
    text.reserve(bytes);
    // Compresses about as well as prose: sixteen letters from a simple generator.
    while text.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        for shift in [32_u32, 40, 48, 56] {
            let letter = u8::try_from((state >> shift) & 15).unwrap_or_default();
            text.push(char::from(b'a' + letter));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_another_and_prompts_come_again() {
        assert_ne!(build_text(1, 2, 400), build_text(2, 1, 400));
        assert_eq!(build_text(1, 2, 400), build_text(1, 2, 400));
        assert!((400..410).contains(&build_text(1, 2, 400).len()));
        assert_eq!(
            build_prompt(1, 2),
            build_prompt(1, 2 + PROMPTS_PER_ORGANIZATION)
        );
        assert_ne!(build_prompt(1, 2), build_prompt(1, 3));
        assert_ne!(build_prompt(1, 2), build_prompt(2, 2));
    }
}
