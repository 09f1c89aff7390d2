//! Latency buckets, and the percentiles estimated from them.

use proptest::prelude::*;

use super::*;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_duration_has_its_bucket() {
    let table = [
        (0, 0),
        (50, 0),
        (51, 1),
        (250, 2),
        (999, 4),
        (30_000, 8),
        (30_001, 9),
        (u64::MAX, 9),
    ];
    for (took, class) in table {
        assert_eq!(LatencyBucket::of(millis(took)).number(), class, "{took} ms");
    }
    assert_eq!(LatencyBucket::from_number(-1).number(), 0);
    assert_eq!(LatencyBucket::from_number(99).number(), 9);
}

#[test]
fn a_result_has_one_spelling() {
    for ending in CallbackAttemptResult::ALL {
        assert_eq!(CallbackAttemptResult::parse(ending.as_str()), Some(ending));
    }
    assert_eq!(
        CallbackAttemptResult::of(Some(200), true),
        CallbackAttemptResult::Delivered
    );
    assert_eq!(
        CallbackAttemptResult::of(Some(500), false),
        CallbackAttemptResult::Refused
    );
    assert_eq!(
        CallbackAttemptResult::of(None, false),
        CallbackAttemptResult::Unreachable
    );
}

#[test]
fn percentiles_are_estimated_within_their_bucket() {
    let mut latencies = LatencyHistogram::default();
    assert_eq!(latencies.percentile(50), None);
    latencies.add(LatencyBucket::from_number(0), 80);
    latencies.add(LatencyBucket::from_number(4), 16);
    latencies.add(LatencyBucket::from_number(9), 4);
    let micros = Duration::from_micros;
    assert_eq!(latencies.percentile(50), Some(micros(31_250)));
    assert_eq!(latencies.percentile(95), Some(micros(968_500)));
    assert_eq!(latencies.percentile(100), Some(millis(30_000)));
}

proptest! {
    #[test]
    fn a_duration_lies_within_its_bucket(took in 0..60_000_u64) {
        let (begin, end) = LatencyBucket::of(millis(took)).bounds();
        prop_assert!(begin <= millis(took) && end.is_none_or(|end| millis(took) <= end));
    }

    #[test]
    fn percentiles_grow(took in prop::collection::vec(0..60_000_u64, 1..50)) {
        let mut latencies = LatencyHistogram::default();
        for took in took {
            latencies.add(LatencyBucket::of(millis(took)), 1);
        }
        let told: Vec<_> = [0, 50, 95, 100].map(|it| latencies.percentile(it)).into();
        prop_assert!(told.is_sorted() && told.iter().all(Option::is_some));
    }
}
