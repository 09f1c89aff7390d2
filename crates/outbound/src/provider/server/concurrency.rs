//! How many requests one server is given at once: one more while it is well, half when it is not.
//!
//! Such servers have no limit of their own that they would tell. Whoever gives them too much
//! waits for all of it.

/// A request that is under way.
#[derive(Debug)]
#[must_use = "a turn that is not given back is lost to the server"]
pub struct Turn {
    /// How often the limit had been halved when it began.
    halvings: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Well,
    /// 429, 503, any other 5xx, or not in time.
    Troubled,
    /// In a way that says nothing about the server.
    Aside,
}

#[derive(Debug, Clone)]
pub struct Concurrency {
    limit: u32,
    most: u32,
    /// So many must end well, at the limit, before it is raised.
    after: u32,
    well: u32,
    under_way: u32,
    halvings: u64,
}

impl Concurrency {
    /// Begins with one. `most` and `after` are at least 1.
    pub fn new(most: u32, after: u32) -> Self {
        Self {
            limit: 1,
            most: most.max(1),
            after: after.max(1),
            well: 0,
            under_way: 0,
            halvings: 0,
        }
    }

    pub const fn limit(&self) -> u32 {
        self.limit
    }

    pub const fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Nothing when the server has enough to do.
    pub fn begin(&mut self) -> Option<Turn> {
        if self.under_way >= self.limit {
            return None;
        }
        self.under_way += 1;
        Some(Turn {
            halvings: self.halvings,
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "a turn is given back once")]
    pub fn end(&mut self, turn: Turn, how: Ended) {
        // A server that is not given all it may have proves nothing.
        let at_limit = self.under_way >= self.limit;
        self.under_way = self.under_way.saturating_sub(1);
        match how {
            Ended::Well if at_limit => self.went_well(),
            // Those that were under way together fail together: that is one trouble, not many.
            Ended::Troubled if turn.halvings == self.halvings => {
                self.limit = (self.limit / 2).max(1);
                self.halvings += 1;
                self.well = 0;
            }
            Ended::Well | Ended::Troubled | Ended::Aside => {}
        }
    }

    fn went_well(&mut self) {
        self.well += 1;
        if self.well >= self.after {
            self.well = 0;
            self.limit = self.limit.saturating_add(1).min(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(concurrency: &mut Concurrency) -> Vec<Turn> {
        std::iter::from_fn(|| concurrency.begin()).collect()
    }

    fn grown(most: u32) -> Concurrency {
        let mut concurrency = Concurrency::new(most, 1);
        while concurrency.limit() < most {
            let mut turns = all(&mut concurrency);
            concurrency.end(turns.pop().unwrap(), Ended::Well);
            for turn in turns {
                concurrency.end(turn, Ended::Aside);
            }
        }
        concurrency
    }

    #[test]
    fn it_begins_with_one_and_grows_by_one_after_so_many_that_went_well() {
        let mut concurrency = Concurrency::new(10, 3);
        for limit in [1, 1, 1, 2] {
            assert_eq!(concurrency.limit(), limit);
            let mut turns = all(&mut concurrency);
            assert_eq!(turns.len(), limit as usize);
            concurrency.end(turns.pop().unwrap(), Ended::Well);
            for turn in turns {
                concurrency.end(turn, Ended::Aside);
            }
        }
    }

    #[test]
    fn it_never_grows_beyond_the_most() {
        let mut concurrency = grown(4);
        for _ in 0..10 {
            for turn in all(&mut concurrency) {
                concurrency.end(turn, Ended::Well);
            }
        }
        assert_eq!(concurrency.limit(), 4);
    }

    #[test]
    fn trouble_halves_it_once_for_all_that_were_under_way_and_never_below_one() {
        let mut concurrency = grown(8);
        for limit in [4, 2, 1, 1] {
            for turn in all(&mut concurrency) {
                concurrency.end(turn, Ended::Troubled);
            }
            assert_eq!(concurrency.limit(), limit);
            assert_eq!(concurrency.under_way(), 0);
        }
    }

    #[test]
    fn a_server_that_is_hardly_used_proves_nothing() {
        let mut concurrency = grown(2);
        concurrency.most = 9;
        for _ in 0..10 {
            let turn = concurrency.begin().unwrap();
            concurrency.end(turn, Ended::Well);
        }
        assert_eq!(concurrency.limit(), 2);
    }

    proptest! {
        #[test]
        fn whatever_happens_it_stays_between_one_and_the_most(
            most in 1_u32..20,
            after in 1_u32..4,
            steps in prop::collection::vec(0_u8..4, 0..200),
        ) {
            let mut concurrency = Concurrency::new(most, after);
            let mut turns = Vec::new();
            for step in steps {
                let ended = [Ended::Well, Ended::Troubled, Ended::Aside].get(usize::from(step));
                match (ended, turns.pop()) {
                    (Some(ended), Some(turn)) => concurrency.end(turn, *ended),
                    (_, turn) => {
                        turns.extend(turn);
                        turns.extend(concurrency.begin());
                    }
                }
                prop_assert!((1..=most).contains(&concurrency.limit()));
                prop_assert_eq!(concurrency.under_way() as usize, turns.len());
            }
        }
    }
}
