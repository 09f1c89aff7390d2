//! The time window of the cargo list: a range up to now, and the selected part of it.

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::shard::cargo_id_range::CargoIdRange;

use crate::project::cargo::filter::CargoFilter;

/// The time range of the histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeRange {
    Day,
    Week,
    Month,
}

impl TimeRange {
    pub(crate) const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Day => "24 h",
            Self::Week => "7 d",
            Self::Month => "30 d",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|range| range.as_str() == text)
    }

    pub(crate) const fn is_per_day(self) -> bool {
        matches!(self, Self::Month)
    }

    /// The time that one column covers.
    pub(crate) const fn step(self) -> TimeDelta {
        TimeDelta::hours(if self.is_per_day() { 24 } else { 1 })
    }

    const fn length(self) -> TimeDelta {
        TimeDelta::hours(match self {
            Self::Day => 24,
            Self::Week => 24 * 7,
            Self::Month => 24 * 30,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeWindow {
    pub(crate) range: TimeRange,
    pub(crate) from: Timestamp,
    /// Exclusive end.
    pub(crate) to: Timestamp,
    /// The selected part.
    pub(crate) selected: Option<(Timestamp, Timestamp)>,
}

impl TimeWindow {
    /// Without a range, uses the shortest one that includes the last load.
    pub(crate) fn of(
        range: Option<TimeRange>,
        filter: &CargoFilter,
        now: Timestamp,
        last: Option<Timestamp>,
    ) -> Self {
        let chosen = match (filter.from, filter.to) {
            (None, None) => None,
            (from, to) => {
                let from = from.unwrap_or_default();
                Some((from, to.unwrap_or(now).max(from)))
            }
        };
        let oldest = chosen.map(|(from, _)| from).or(last).unwrap_or(now);
        let range = range.unwrap_or_else(|| {
            let reaches = |range: &TimeRange| now - range.length() < oldest;
            TimeRange::ALL
                .into_iter()
                .find(reaches)
                .unwrap_or(TimeRange::Month)
        });
        let mut to = column_end(now, range.step());
        if let Some((_, until)) = chosen.filter(|(from, _)| *from < to - range.length()) {
            to = column_end(until, range.step());
        }
        Self {
            range,
            from: to - range.length(),
            to,
            selected: chosen,
        }
    }

    /// The time range of the listed cargo.
    pub(crate) fn listed_range(&self) -> (Timestamp, Timestamp) {
        self.selected.unwrap_or((self.from, self.to))
    }

    /// The ids of the listed range, before the cursor.
    pub(crate) fn id_range(&self, filter: &CargoFilter) -> CargoIdRange {
        let (from, to) = self.listed_range();
        let mut ids = CargoIdRange::loaded_between(from, to);
        if let Some(before) = filter.before {
            ids.beyond = ids.beyond.min(before.uuid());
        }
        ids
    }
}

/// The end of the column that contains a timestamp.
fn column_end(at: Timestamp, step: TimeDelta) -> Timestamp {
    let step = step.num_seconds().max(1);
    let seconds = (at.timestamp().div_euclid(step) + 1) * step;
    Timestamp::from_timestamp(seconds, 0).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use domain::id;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_range_reaches_back_to_the_last_load_unless_it_is_told() {
        let now = at("2026-03-10T14:30:00Z");
        let of =
            |range, last: &str| TimeWindow::of(range, &CargoFilter::default(), now, Some(at(last)));
        assert_eq!(of(None, "2026-03-10T14:29:00Z").range, TimeRange::Day);
        assert_eq!(of(None, "2026-03-07T14:29:00Z").range, TimeRange::Week);
        assert_eq!(of(None, "2026-01-07T14:29:00Z").range, TimeRange::Month);
        let day = of(Some(TimeRange::Day), "2026-01-07T14:29:00Z");
        assert_eq!(
            (day.from, day.to),
            (at("2026-03-09T15:00:00Z"), at("2026-03-10T15:00:00Z"))
        );
        let month = of(Some(TimeRange::Month), "2026-03-10T14:29:00Z");
        assert_eq!(month.to, at("2026-03-11T00:00:00Z"));
    }

    #[test]
    fn what_was_chosen_is_in_the_picture() {
        let filter = CargoFilter {
            from: Some(at("2026-02-01T10:00:00Z")),
            to: Some(at("2026-02-01T11:00:00Z")),
            ..CargoFilter::default()
        };
        let now = at("2026-03-10T14:30:00Z");
        let window = TimeWindow::of(Some(TimeRange::Day), &filter, now, None);
        assert!(window.from <= at("2026-02-01T10:00:00Z"));
        assert!(window.to >= at("2026-02-01T11:00:00Z"));
        assert_eq!(
            window.id_range(&filter).first,
            id::first_id_at(at("2026-02-01T10:00:00Z"))
        );
    }
}
