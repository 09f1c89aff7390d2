//! The time that a list is of: a range up to now, and within it what was chosen.

use chrono::TimeDelta;
use domain::id;
use domain::time::Timestamp;
use store::view::cargo::Span;

use crate::project::cargo::filter::Filter;

/// How much time the picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    Day,
    Week,
    Month,
}

impl Range {
    pub(crate) const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
        }
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Day => "24 h",
            Self::Week => "7 d",
            Self::Month => "30 d",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|range| range.as_str() == text)
    }

    pub(crate) const fn per_day(self) -> bool {
        matches!(self, Self::Month)
    }

    /// Of one column.
    pub(crate) const fn step(self) -> TimeDelta {
        TimeDelta::hours(if self.per_day() { 24 } else { 1 })
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
pub(crate) struct Window {
    pub(crate) range: Range,
    pub(crate) from: Timestamp,
    /// The first moment after.
    pub(crate) to: Timestamp,
    /// What was chosen within it.
    pub(crate) chosen: Option<(Timestamp, Timestamp)>,
}

impl Window {
    /// Without a range, the shortest that shows what was loaded last.
    pub(crate) fn of(
        range: Option<Range>,
        filter: &Filter,
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
        let wanted = chosen.map(|(from, _)| from).or(last).unwrap_or(now);
        let range = range.unwrap_or_else(|| {
            let reach = |range: &Range| now - range.length() < wanted;
            Range::ALL.into_iter().find(reach).unwrap_or(Range::Month)
        });
        let mut to = end(now, range.step());
        if let Some((_, until)) = chosen.filter(|(from, _)| *from < to - range.length()) {
            to = end(until, range.step());
        }
        Self {
            range,
            from: to - range.length(),
            to,
            chosen,
        }
    }

    /// The time whose cargo are listed.
    pub(crate) fn listed(&self) -> (Timestamp, Timestamp) {
        self.chosen.unwrap_or((self.from, self.to))
    }

    /// The ids of that time, before a cursor.
    pub(crate) fn span(&self, filter: &Filter) -> Span {
        let (from, to) = self.listed();
        let beyond = id::floor(to);
        let before = filter.before.map(|before| before.uuid());
        Span {
            first: id::floor(from),
            beyond: before.map_or(beyond, |before| before.min(beyond)),
        }
    }
}

/// The first end of a column that lies after a moment.
fn end(at: Timestamp, step: TimeDelta) -> Timestamp {
    let step = step.num_seconds().max(1);
    let seconds = (at.timestamp().div_euclid(step) + 1) * step;
    Timestamp::from_timestamp(seconds, 0).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_range_reaches_back_to_the_last_load_unless_it_is_told() {
        let now = at("2026-03-10T14:30:00Z");
        let of = |range, last: &str| Window::of(range, &Filter::default(), now, Some(at(last)));
        assert_eq!(of(None, "2026-03-10T14:29:00Z").range, Range::Day);
        assert_eq!(of(None, "2026-03-07T14:29:00Z").range, Range::Week);
        assert_eq!(of(None, "2026-01-07T14:29:00Z").range, Range::Month);
        let told = of(Some(Range::Day), "2026-01-07T14:29:00Z");
        assert_eq!(
            (told.from, told.to),
            (at("2026-03-09T15:00:00Z"), at("2026-03-10T15:00:00Z"))
        );
        let month = of(Some(Range::Month), "2026-03-10T14:29:00Z");
        assert_eq!(month.to, at("2026-03-11T00:00:00Z"));
    }

    #[test]
    fn what_was_chosen_is_in_the_picture() {
        let filter = Filter {
            from: Some(at("2026-02-01T10:00:00Z")),
            to: Some(at("2026-02-01T11:00:00Z")),
            ..Filter::default()
        };
        let now = at("2026-03-10T14:30:00Z");
        let window = Window::of(Some(Range::Day), &filter, now, None);
        assert!(window.from <= at("2026-02-01T10:00:00Z"));
        assert!(window.to >= at("2026-02-01T11:00:00Z"));
        assert_eq!(
            window.span(&filter).first,
            id::floor(at("2026-02-01T10:00:00Z"))
        );
    }
}
