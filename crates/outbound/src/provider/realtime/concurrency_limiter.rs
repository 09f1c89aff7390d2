//! An adaptive concurrency limit (AIMD): plus one after successes, halved on overload.
//!
//! Self-hosted servers do not publish a limit, and too many requests slow all of them down.

/// A request in flight.
#[derive(Debug)]
#[must_use = "a permit that is not released lowers the concurrency for good"]
pub struct ConcurrencyPermit {
    /// How often the limit had been halved when the request began.
    halvings: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConcurrencyFeedback {
    Success,
    /// 429, 5xx or a timeout.
    Overloaded,
    /// The result says nothing about the server's load.
    Ignored,
}

#[derive(Debug, Clone)]
pub struct ConcurrencyLimiter {
    limit: u32,
    max_limit: u32,
    /// Successes at the limit before the limit is raised.
    successes_to_grow: u32,
    successes: u32,
    in_flight: u32,
    halvings: u64,
}

impl ConcurrencyLimiter {
    /// The limit starts at 1. `max_limit` and `successes_to_grow` are raised to at least 1.
    pub fn new(max_limit: u32, successes_to_grow: u32) -> Self {
        Self {
            limit: 1,
            max_limit: max_limit.max(1),
            successes_to_grow: successes_to_grow.max(1),
            successes: 0,
            in_flight: 0,
            halvings: 0,
        }
    }

    pub const fn limit(&self) -> u32 {
        self.limit
    }

    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// `None` if the limit is reached.
    pub fn try_acquire(&mut self) -> Option<ConcurrencyPermit> {
        if self.in_flight >= self.limit {
            return None;
        }
        self.in_flight += 1;
        Some(ConcurrencyPermit {
            halvings: self.halvings,
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "a permit is released once")]
    pub fn release(&mut self, permit: ConcurrencyPermit, feedback: ConcurrencyFeedback) {
        // A success below the limit does not show that the server can take more.
        let at_limit = self.in_flight >= self.limit;
        self.in_flight = self.in_flight.saturating_sub(1);
        match feedback {
            ConcurrencyFeedback::Success if at_limit => self.record_success(),
            // Requests that were in flight together fail together: halve the limit once.
            ConcurrencyFeedback::Overloaded if permit.halvings == self.halvings => {
                self.limit = (self.limit / 2).max(1);
                self.halvings += 1;
                self.successes = 0;
            }
            ConcurrencyFeedback::Success
            | ConcurrencyFeedback::Overloaded
            | ConcurrencyFeedback::Ignored => {}
        }
    }

    fn record_success(&mut self) {
        self.successes += 1;
        if self.successes >= self.successes_to_grow {
            self.successes = 0;
            self.limit = self.limit.saturating_add(1).min(self.max_limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn acquire_all(concurrency: &mut ConcurrencyLimiter) -> Vec<ConcurrencyPermit> {
        std::iter::from_fn(|| concurrency.try_acquire()).collect()
    }

    fn limiter_at(most: u32) -> ConcurrencyLimiter {
        let mut concurrency = ConcurrencyLimiter::new(most, 1);
        while concurrency.limit() < most {
            let mut permits = acquire_all(&mut concurrency);
            concurrency.release(permits.pop().unwrap(), ConcurrencyFeedback::Success);
            for permit in permits {
                concurrency.release(permit, ConcurrencyFeedback::Ignored);
            }
        }
        concurrency
    }

    #[test]
    fn it_begins_with_one_and_grows_by_one_after_so_many_that_went_well() {
        let mut concurrency = ConcurrencyLimiter::new(10, 3);
        for limit in [1, 1, 1, 2] {
            assert_eq!(concurrency.limit(), limit);
            let mut permits = acquire_all(&mut concurrency);
            assert_eq!(permits.len(), limit as usize);
            concurrency.release(permits.pop().unwrap(), ConcurrencyFeedback::Success);
            for permit in permits {
                concurrency.release(permit, ConcurrencyFeedback::Ignored);
            }
        }
    }

    #[test]
    fn it_never_grows_beyond_the_maximum() {
        let mut concurrency = limiter_at(4);
        for _ in 0..10 {
            for permit in acquire_all(&mut concurrency) {
                concurrency.release(permit, ConcurrencyFeedback::Success);
            }
        }
        assert_eq!(concurrency.limit(), 4);
    }

    #[test]
    fn overload_halves_it_once_for_all_requests_in_flight_and_never_below_one() {
        let mut concurrency = limiter_at(8);
        for limit in [4, 2, 1, 1] {
            for permit in acquire_all(&mut concurrency) {
                concurrency.release(permit, ConcurrencyFeedback::Overloaded);
            }
            assert_eq!(concurrency.limit(), limit);
            assert_eq!(concurrency.in_flight(), 0);
        }
    }

    #[test]
    fn a_server_that_is_hardly_used_proves_nothing() {
        let mut concurrency = limiter_at(2);
        concurrency.max_limit = 9;
        for _ in 0..10 {
            let permit = concurrency.try_acquire().unwrap();
            concurrency.release(permit, ConcurrencyFeedback::Success);
        }
        assert_eq!(concurrency.limit(), 2);
    }

    proptest! {
        #[test]
        fn it_always_stays_between_one_and_the_maximum(
            most in 1_u32..20,
            after in 1_u32..4,
            steps in prop::collection::vec(0_u8..4, 0..200),
        ) {
            let mut concurrency = ConcurrencyLimiter::new(most, after);
            let mut permits = Vec::new();
            for step in steps {
                let feedback = [ConcurrencyFeedback::Success, ConcurrencyFeedback::Overloaded, ConcurrencyFeedback::Ignored].get(usize::from(step));
                match (feedback, permits.pop()) {
                    (Some(feedback), Some(permit)) => concurrency.release(permit, *feedback),
                    (_, permit) => {
                        permits.extend(permit);
                        permits.extend(concurrency.try_acquire());
                    }
                }
                prop_assert!((1..=most).contains(&concurrency.limit()));
                prop_assert_eq!(concurrency.in_flight() as usize, permits.len());
            }
        }
    }
}
