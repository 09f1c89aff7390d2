//! What Redis does not know yet: tokens that came back, and those spent while it was away.

use std::collections::HashMap;

use domain::id::OrganizationId;
use domain::limit::Rate;
use outbound::counters::{Asks, BucketAsk, Grants};

/// More organizations are not remembered while Redis is away.
const KEPT: usize = 200_000;
/// How many organizations that ask for nothing are told of in one call.
const ALONG: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Pending {
    of: HashMap<OrganizationId, Untold>,
}

#[derive(Debug, Clone, Copy)]
struct Untold {
    rate: Rate,
    given_back: u32,
    owed: u32,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Taken from Redis, and not spent.
    pub(super) fn give_back(&mut self, organization: OrganizationId, rate: Rate, count: u32) {
        self.add(organization, rate, count, 0);
    }

    /// Spent here, without Redis.
    pub(super) fn owe(&mut self, organization: OrganizationId, rate: Rate, count: u32) {
        self.add(organization, rate, 0, count);
    }

    /// Taken here, and not spent: what is not told yet need not be.
    pub(super) fn spare(&mut self, organization: OrganizationId, rate: Rate, count: u32) {
        let mut left = count;
        if let Some(untold) = self.of.get_mut(&organization) {
            let spared = untold.owed.min(count);
            untold.owed -= spared;
            left -= spared;
            if untold.owed == 0 && untold.given_back == 0 {
                self.of.remove(&organization);
            }
        }
        self.give_back(organization, rate, left);
    }

    /// Puts into a question what its organizations have to tell, and what others have
    /// as far as there is room.
    pub(super) fn tell(&mut self, asks: &mut Asks) {
        if self.of.is_empty() {
            return;
        }
        for ask in &mut asks.buckets {
            if let Some(untold) = self.of.remove(&ask.organization) {
                (ask.given_back, ask.owed) = (untold.given_back, untold.owed);
            }
        }
        let others: Vec<_> = self.of.keys().take(ALONG).copied().collect();
        for organization in others {
            if let Some(untold) = self.of.remove(&organization) {
                asks.buckets.push(BucketAsk {
                    organization,
                    rate: untold.rate,
                    wanted: 0,
                    given_back: untold.given_back,
                    owed: untold.owed,
                });
            }
        }
    }

    /// The question was not heard.
    pub(super) fn take_back(&mut self, asks: &Asks) {
        for ask in &asks.buckets {
            self.add(ask.organization, ask.rate, ask.given_back, ask.owed);
        }
    }

    /// The question was heard when nobody waited for the answer any more: what it granted
    /// was granted here instead.
    pub(super) fn heard_late(&mut self, asks: &Asks, grants: &Grants) {
        for (ask, taken) in asks.buckets.iter().zip(&grants.buckets) {
            self.give_back(ask.organization, ask.rate, taken.granted);
        }
    }

    fn add(&mut self, organization: OrganizationId, rate: Rate, given_back: u32, owed: u32) {
        if given_back == 0 && owed == 0 {
            return;
        }
        if self.of.len() >= KEPT && !self.of.contains_key(&organization) {
            return;
        }
        let nothing = Untold {
            rate,
            given_back: 0,
            owed: 0,
        };
        let untold = self.of.entry(organization).or_insert(nothing);
        untold.rate = rate;
        untold.given_back = untold.given_back.saturating_add(given_back);
        untold.owed = untold.owed.saturating_add(owed);
    }
}
