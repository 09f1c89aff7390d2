//! How much is loaded, of what size, and what the account may take.

use crate::bench::batches::limits::Limits;
use crate::options::BatchesOptions;

/// Prompts that the cargo of an organization take turns with.
const PROMPTS: usize = 4;
const PROMPT_BYTES: usize = 600;

#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub cargo: usize,
    pub organizations: usize,
    /// Of the text of each.
    pub bytes: usize,
    pub limits: Limits,
    /// The most megabytes that one who works may ever have.
    pub most_working: f64,
    /// The most that one who serves may grow by.
    pub most_serving: f64,
}

impl Shape {
    pub fn of(options: &BatchesOptions) -> Self {
        if options.large {
            return Self::large();
        }
        Self {
            cargo: options.cargo,
            organizations: options.organizations.max(4),
            bytes: 400,
            limits: Limits {
                // Small trials have batches too.
                job_items: u64::try_from(options.cargo / 20)
                    .unwrap_or_default()
                    .clamp(50, 5000),
                job_bytes: 200_000_000,
                enqueued_tokens: options.enqueued_tokens,
            },
            // Eight jobs of each shard are put together at once, from 8 MB of requests each.
            most_working: 256.0,
            most_serving: 96.0,
        }
    }

    /// A little more than fits into one job.
    const fn large() -> Self {
        Self {
            cargo: 2100,
            organizations: 4,
            bytes: 100_000,
            limits: Limits {
                job_items: 50_000,
                job_bytes: 200_000_000,
                enqueued_tokens: 200_000_000,
            },
            most_working: 128.0,
            // All of it is loaded within seconds.
            most_serving: 256.0,
        }
    }

    /// Half of it is of one organization; in a large trial nearly all.
    pub const fn crowd(&self, is_large: bool) -> usize {
        if is_large {
            self.cargo.saturating_sub(self.organizations)
        } else {
            self.cargo / 2
        }
    }
}

/// The system prompt of an organization's `number`th cargo.
pub fn prompt(place: usize, number: usize) -> String {
    let turn = number % PROMPTS;
    let mut prompt = format!("You are clerk {turn} of organization {place}. ");
    while prompt.len() < PROMPT_BYTES {
        prompt.push_str("Answer in one sentence and name the harbour. ");
    }
    prompt
}

/// A text that no other cargo has.
pub fn text(place: usize, number: usize, bytes: usize) -> String {
    let mut text = format!("cargo {number} of organization {place}: ");
    let mut state = u64::try_from(place * 1_000_003 + number).unwrap_or_default() | 1;
    text.reserve(bytes);
    // About as dense as prose: sixteen letters, drawn by a simple generator.
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
        assert_ne!(text(1, 2, 400), text(2, 1, 400));
        assert_eq!(text(1, 2, 400), text(1, 2, 400));
        assert!((400..410).contains(&text(1, 2, 400).len()));
        assert_eq!(prompt(1, 2), prompt(1, 2 + PROMPTS));
        assert_ne!(prompt(1, 2), prompt(1, 3));
        assert_ne!(prompt(1, 2), prompt(2, 2));
    }
}
