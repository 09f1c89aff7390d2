//! Properties of the token bucket, over random histories.

use proptest::prelude::*;

use super::*;
use crate::plan_limits::MAX_BURST;

const FREE: RateLimit = RateLimit {
    burst: 100,
    per_minute: 30,
};

#[derive(Debug, Clone, Copy)]
enum BucketStep {
    Wait(u32),
    Take(u32),
    GiveBack(u32),
    Debit(u32),
}

fn step() -> impl Strategy<Value = BucketStep> {
    prop_oneof![
        (0..100_000_000_u32).prop_map(BucketStep::Wait),
        (0..300_u32).prop_map(BucketStep::Take),
        (0..50_u32).prop_map(BucketStep::GiveBack),
        (0..50_u32).prop_map(BucketStep::Debit),
    ]
}

fn rate() -> impl Strategy<Value = RateLimit> {
    (1..=MAX_BURST, 1..=100_000_000_u32)
        .prop_map(|(burst, per_minute)| RateLimit { burst, per_minute })
}

fn small_rate() -> impl Strategy<Value = RateLimit> {
    (1..=500_u32, 1..=1_000_u32).prop_map(|(burst, per_minute)| RateLimit { burst, per_minute })
}

fn empty_bucket(rate: RateLimit) -> TokenBucket {
    let mut bucket = TokenBucket::full(rate, 0);
    assert_eq!(bucket.take(u32::MAX, 1), rate.burst);
    bucket
}

proptest! {
    #[test]
    fn no_more_is_granted_than_the_burst_and_the_refill(
        rate in small_rate(), weight in 1..5_u32, steps in prop::collection::vec(step(), 1..60),
    ) {
        let (mut bucket, mut now) = (TokenBucket::full(rate, 0), 0);
        let (mut granted, mut given) = (0_u64, 0_u64);
        for step in steps {
            bucket.refill(rate, now);
            match step {
                BucketStep::Wait(micros) => now += i64::from(micros),
                BucketStep::Take(wanted) => granted += u64::from(bucket.take(wanted, weight)),
                BucketStep::GiveBack(count) => {
                    let count = count.min(u32::try_from(granted - given).unwrap());
                    given += u64::from(count);
                    bucket.refund(rate, count, weight);
                }
                BucketStep::Debit(count) => bucket.debit(count),
            }
            prop_assert!(bucket.level <= BucketLevel::full(rate));
        }
        let refilled = u64::from(rate.per_minute) * u64::try_from(now).unwrap();
        let most = BucketLevel::full(rate).0 + refilled;
        prop_assert!((granted - given) * u64::from(weight) * UNITS_PER_REQUEST <= most);
    }

    #[test]
    fn levels_stay_where_a_script_counts_exactly(rate in rate(), wait in 0..i64::MAX, taken in 0..MAX_BURST) {
        let mut bucket = TokenBucket::full(rate, 0);
        bucket.take(taken, 1);
        bucket.refill(rate, wait);
        bucket.refund(rate, taken, 1);
        prop_assert!(bucket.level <= BucketLevel::full(rate));
        prop_assert!(bucket.level.0 < 1 << 53);
    }

    #[test]
    fn retry_after_is_long_enough_and_a_second_less_is_not(
        rate in small_rate(), taken in 0..600_u32, waited in 0..200_000_000_i64, weight in 1..4_u32,
    ) {
        let weight = weight.min(rate.burst);
        let mut bucket = TokenBucket::full(rate, 0);
        bucket.take(taken, 1);
        bucket.refill(rate, waited);
        while bucket.take(1, weight) == 1 {}
        let told = i64::try_from(bucket.level.retry_after(rate, weight)).unwrap();
        let granted_after = |seconds: i64| {
            let mut later = bucket;
            later.refill(rate, waited + seconds * 1_000_000);
            later.take(1, weight)
        };
        prop_assert_eq!(granted_after(told), 1);
        prop_assert_eq!(granted_after(told - 1), 0);
    }

    #[test]
    fn until_full_is_long_enough_and_a_second_less_is_not(rate in small_rate(), taken in 1..600_u32) {
        let mut bucket = TokenBucket::full(rate, 0);
        bucket.take(taken, 1);
        let told = i64::try_from(bucket.level.until_full(rate)).unwrap();
        let level_after = |seconds: i64| {
            let mut later = bucket;
            later.refill(rate, seconds * 1_000_000);
            later.level
        };
        prop_assert_eq!(level_after(told), BucketLevel::full(rate));
        prop_assert!(level_after(told - 1) < BucketLevel::full(rate));
    }

    #[test]
    fn an_hour_at_the_sustained_rate_admits_that_rate(rate in small_rate(), pause in 1..5_000_000_i64) {
        // A pause that refills more than the burst loses the excess.
        let whole_pause = u64::try_from(pause).unwrap() * u64::from(rate.per_minute);
        prop_assume!(whole_pause + UNITS_PER_REQUEST <= BucketLevel::full(rate).0);
        let (mut bucket, mut now, mut granted) = (empty_bucket(rate), 0, 0);
        // A caller asks more often than the bucket refills, for an hour.
        while now < 3_600_000_000 {
            now = (now + pause).min(3_600_000_000);
            bucket.refill(rate, now);
            granted += bucket.take(u32::MAX, 1);
        }
        prop_assert_eq!(granted, rate.per_minute * 60);
    }

    #[test]
    fn refunded_requests_can_be_taken_again(rate in small_rate(), taken in 1..600_u32, weight in 1..4_u32) {
        let mut bucket = TokenBucket::full(rate, 0);
        let granted = bucket.take(taken, weight);
        let level = bucket.level;
        bucket.refund(rate, granted, weight);
        prop_assert_eq!(bucket.level, BucketLevel::full(rate));
        prop_assert_eq!(bucket.take(taken, weight), granted);
        prop_assert_eq!(bucket.level, level);
    }
}

#[test]
fn a_debit_beyond_the_level_leaves_nothing_and_no_debt() {
    let mut bucket = TokenBucket::full(FREE, 0);
    bucket.debit(40);
    assert_eq!(bucket.level.requests(1), 60);
    bucket.debit(1_000);
    assert_eq!(bucket.level, BucketLevel(0));
    bucket.refill(FREE, 2_000_000);
    assert_eq!(bucket.take(2, 1), 1);
}

#[test]
fn nodes_that_do_not_see_each_other_have_equal_parts() {
    let mut bucket = TokenBucket::full(FREE, 0);
    assert_eq!(bucket.level.requests(3), 33);
    assert_eq!(bucket.take(100, 3), 33);
    // A third of thirty a minute is one in six seconds, and a third of one is left over.
    assert_eq!(bucket.level.retry_after(FREE, 3), 4);
    bucket.refill(FREE, 60_000_000);
    assert_eq!(bucket.take(100, 3), 10);
}

#[test]
fn a_clock_that_is_set_back_adds_nothing_and_blocks_no_caller() {
    let mut bucket = empty_bucket(FREE);
    bucket.refill(FREE, -3_600_000_000);
    assert_eq!(bucket.take(1, 1), 0);
    bucket.refill(FREE, -3_598_000_000);
    assert_eq!(bucket.take(1, 1), 1);
}

#[test]
fn a_smaller_plan_takes_what_is_above_it() {
    let pro = RateLimit {
        burst: 5_000,
        per_minute: 600,
    };
    let mut bucket = TokenBucket::full(pro, 0);
    bucket.refill(FREE, 0);
    assert_eq!(bucket.take(u32::MAX, 1), 100);
}

#[test]
fn loads_beyond_the_bucket_take_the_time_of_its_refill() {
    let rate = RateLimit {
        burst: 10,
        per_minute: 60,
    };
    let full = BucketLevel::full(rate);
    assert_eq!(full.seconds_for(0, rate, 1), 0);
    assert_eq!(full.seconds_for(10, rate, 1), 0);
    assert_eq!(full.seconds_for(11, rate, 1), 1);
    assert_eq!(full.seconds_for(1000, rate, 1), 990);
    // A process with half of the limit.
    assert_eq!(full.seconds_for(10, rate, 2), 10);
    assert!(BucketLevel(0).seconds_for(u64::MAX, rate, 1) > 990);
}
