//! What batching saved: the realtime price of the same work, compared with the charge.

use crate::money::Money;
use crate::price::Price;
use crate::token_buckets::TokenBuckets;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Saving {
    /// What the same tokens would have cost in realtime.
    pub realtime: Money,
    /// Never negative: a batch that cost more than realtime saved nothing.
    pub saved: Money,
}

impl Saving {
    /// The realtime price is rounded as a charge is.
    pub fn of(realtime: Price, usage: TokenBuckets, charged: Money) -> Self {
        Self::between(realtime.rounded_cost(usage), charged)
    }

    pub fn between(realtime: Money, charged: Money) -> Self {
        Self {
            realtime,
            saved: (realtime - charged).max(Money::ZERO),
        }
    }
}

impl std::ops::Add for Saving {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            realtime: self.realtime + other.realtime,
            saved: self.saved + other.saved,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hold::Hold;

    fn price(input: i64, output: i64) -> Price {
        Price::flat(Money(input), Money(output))
    }

    fn used(fresh: u64, output: u64) -> TokenBuckets {
        TokenBuckets {
            fresh,
            output,
            ..TokenBuckets::default()
        }
    }

    #[test]
    fn half_the_price_saves_half() {
        let realtime = price(150_000_000, 600_000_000);
        let saving = Saving::of(realtime, used(1000, 100), Money(105_000));
        assert_eq!(saving, Saving::between(Money(210_000), Money(105_000)));
        assert_eq!(saving.saved, Money(105_000));
    }

    #[test]
    fn each_bucket_is_compared_at_its_own_realtime_rate() {
        let mut realtime = price(2_000_000, 0);
        realtime.base.cached_input = Money(1_000_000);
        let half_cached = TokenBuckets {
            cached: 50,
            ..used(50, 0)
        };
        let saving = Saving::of(realtime, half_cached, Money(75));
        assert_eq!(saving, Saving::between(Money(150), Money(75)));
    }

    #[test]
    fn a_dearer_batch_saves_nothing_and_takes_nothing_back() {
        let saving = Saving::of(price(1_000_000, 0), used(7, 0), Money(8));
        assert_eq!((saving.realtime, saving.saved), (Money(7), Money::ZERO));
    }

    proptest! {
        /// Both amounts are rounded alike, so the same price saves and loses nothing.
        #[test]
        fn the_same_price_saves_nothing(
            (input, output) in (0..10_000_000_000_000_i64, 0..10_000_000_000_000_i64),
            (read, written) in (0..1_000_000_u64, 0..1_000_000_u64),
        ) {
            let hold = Hold {
                amount: Money(i64::MAX),
                price: Some(price(input, output)),
                tokens: 0,
            };
            let charged = hold.settle(used(read, written)).charged;
            let saving = Saving::of(price(input, output), used(read, written), charged);
            prop_assert_eq!(saving, Saving { realtime: charged, saved: Money::ZERO });
        }

        #[test]
        fn a_saving_and_its_charge_are_the_realtime_price(
            realtime in 0..i64::MAX, charged in 0..i64::MAX,
        ) {
            let saving = Saving::between(Money(realtime), Money(charged));
            prop_assert!(saving.saved >= Money::ZERO);
            prop_assert_eq!(saving.saved + Money(charged.min(realtime)), Money(realtime));
        }
    }
}
