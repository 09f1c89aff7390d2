//! Limits the search for a model or key to hours in which it was loaded.

use chrono::TimeDelta;
use domain::id;
use domain::time::Timestamp;
use store::shard::cargo_id_range::CargoIdRange;
use store::view::loads::LoadHour;

/// Gaps with at most this many other cargo are read instead of skipped.
const MAX_READ_GAP: u64 = 50;
/// A load is counted less than this after the time in its id.
const COUNT_DELAY: TimeDelta = TimeDelta::minutes(1);
const HOUR: TimeDelta = TimeDelta::hours(1);

/// Newest first, like `hours`. Loads after `counted` may not be counted yet.
pub(crate) fn spans_with_loads(
    hours: &[LoadHour],
    whole: CargoIdRange,
    counted: Timestamp,
) -> Vec<CargoIdRange> {
    let mut spans = Vec::new();
    let mut current = (counted, None);
    let mut between = 0;
    for hour in hours {
        if hour.matching == 0 {
            between += hour.total;
            continue;
        }
        if between > MAX_READ_GAP && hour.at + HOUR < current.0 {
            spans.push(current);
            current = (hour.at - COUNT_DELAY, Some(hour.at + HOUR));
        } else {
            current.0 = current.0.min(hour.at - COUNT_DELAY);
        }
        between = 0;
    }
    spans.push(current);
    let ids = spans.into_iter().map(|(first, beyond)| CargoIdRange {
        first: id::first_id_at(first).max(whole.first),
        beyond: beyond.map_or(whole.beyond, |beyond| {
            id::first_id_at(beyond).min(whole.beyond)
        }),
    });
    ids.filter(|span| span.first < span.beyond).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: u32) -> Timestamp {
        format!("2026-03-10T{hour:02}:00:00Z").parse().unwrap()
    }

    fn hour(hour: u32, all: u64, meant: u64) -> LoadHour {
        LoadHour {
            at: at(hour),
            total: all,
            matching: meant,
        }
    }

    fn whole(from: u32, to: u32) -> CargoIdRange {
        CargoIdRange::loaded_between(at(from), at(to))
    }

    #[test]
    fn full_hours_of_others_are_jumped_over_and_thin_ones_are_not() {
        let hours = [
            hour(20, 900, 0),
            hour(19, 900, 3),
            hour(18, 10, 0),
            hour(17, 900, 1),
            hour(16, 9000, 0),
            hour(12, 5, 5),
        ];
        let spans = spans_with_loads(&hours, whole(0, 23), at(22));
        let ids: Vec<_> = spans.iter().map(|it| (it.first, it.beyond)).collect();
        assert_eq!(
            ids,
            [
                (id::first_id_at(at(22)), id::first_id_at(at(23))),
                (
                    id::first_id_at(at(17) - COUNT_DELAY),
                    id::first_id_at(at(20))
                ),
                (
                    id::first_id_at(at(12) - COUNT_DELAY),
                    id::first_id_at(at(13))
                ),
            ]
        );
    }

    #[test]
    fn nothing_outside_of_the_time_asked_for_is_looked_at() {
        let hours = [hour(19, 10, 3), hour(5, 10, 3)];
        let spans = spans_with_loads(&hours, whole(6, 19), at(22));
        assert_eq!(spans.len(), 1);
        assert!(spans.iter().all(|it| it.first >= id::first_id_at(at(6))));
    }
}
