//! Where to look for a model or a key: only in hours that loaded some of it.

use chrono::TimeDelta;
use domain::id;
use domain::time::Timestamp;
use store::view::cargo::Span;
use store::view::loads::Hour;

/// So few of others between two hours are read rather than jumped over.
const FEW: u64 = 50;
/// An id is older than the moment in which its load is counted, by less than this.
const SLACK: TimeDelta = TimeDelta::minutes(1);
const HOUR: TimeDelta = TimeDelta::hours(1);

/// From the newest on. `hours` are newest first; what is younger than `counted` may not be counted yet.
pub(crate) fn of(hours: &[Hour], whole: Span, counted: Timestamp) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut current = (counted, None);
    let mut between = 0;
    for hour in hours {
        if hour.meant == 0 {
            between += hour.all;
            continue;
        }
        if between > FEW && hour.at + HOUR < current.0 {
            spans.push(current);
            current = (hour.at - SLACK, Some(hour.at + HOUR));
        } else {
            current.0 = current.0.min(hour.at - SLACK);
        }
        between = 0;
    }
    spans.push(current);
    let ids = spans.into_iter().map(|(first, beyond)| Span {
        first: id::floor(first).max(whole.first),
        beyond: beyond.map_or(whole.beyond, |beyond| id::floor(beyond).min(whole.beyond)),
    });
    ids.filter(|span| span.first < span.beyond).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: u32) -> Timestamp {
        format!("2026-03-10T{hour:02}:00:00Z").parse().unwrap()
    }

    fn hour(hour: u32, all: u64, meant: u64) -> Hour {
        Hour {
            at: at(hour),
            all,
            meant,
        }
    }

    fn whole(from: u32, to: u32) -> Span {
        Span {
            first: id::floor(at(from)),
            beyond: id::floor(at(to)),
        }
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
        let spans = of(&hours, whole(0, 23), at(22));
        let told: Vec<_> = spans.iter().map(|it| (it.first, it.beyond)).collect();
        assert_eq!(
            told,
            [
                (id::floor(at(22)), id::floor(at(23))),
                (id::floor(at(17) - SLACK), id::floor(at(20))),
                (id::floor(at(12) - SLACK), id::floor(at(13))),
            ]
        );
    }

    #[test]
    fn nothing_outside_of_the_time_asked_for_is_looked_at() {
        let hours = [hour(19, 10, 3), hour(5, 10, 3)];
        let spans = of(&hours, whole(6, 19), at(22));
        assert_eq!(spans.len(), 1);
        assert!(spans.iter().all(|it| it.first >= id::floor(at(6))));
    }
}
