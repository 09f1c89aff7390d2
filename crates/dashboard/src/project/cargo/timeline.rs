//! Where a cargo's time went, in true proportions, with nothing too short to be seen.

use std::fmt::Write as _;

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::view::one_cargo::Attempt;

use crate::text::{Markup, duration, escaped};

const WIDTH: f64 = 1000.0;
const LEAST: f64 = 8.0;
const HEIGHT: u32 = 44;

/// What is known of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) created_at: Timestamp,
    /// When it came back from a batch without an outcome.
    pub(crate) returned_at: Option<Timestamp>,
    pub(crate) gathered_at: Option<Timestamp>,
    pub(crate) running_at: Option<Timestamp>,
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) attempts: &'a [Attempt],
    pub(crate) next_at: Option<Timestamp>,
    pub(crate) now: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    EarlierBatches,
    ToBeGathered,
    ToProvider,
    AtProvider,
    ToBeCalledBack,
    BetweenAttempts,
    Refused,
    Delivered,
    /// Planned, not yet made.
    NextAttempt,
}

impl What {
    const ALL: [Self; 9] = [
        Self::EarlierBatches,
        Self::ToBeGathered,
        Self::ToProvider,
        Self::AtProvider,
        Self::ToBeCalledBack,
        Self::BetweenAttempts,
        Self::Refused,
        Self::Delivered,
        Self::NextAttempt,
    ];

    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::EarlierBatches => "warm",
            Self::ToBeGathered => "s6",
            Self::ToProvider => "s2",
            Self::AtProvider => "s1",
            Self::ToBeCalledBack | Self::BetweenAttempts => "pause",
            Self::Refused => "bad",
            Self::Delivered => "good",
            Self::NextAttempt => "ghost",
        }
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::EarlierBatches => "in batches that did not answer",
            Self::ToBeGathered => "waited to be gathered",
            Self::ToProvider => "on its way to the provider",
            Self::AtProvider => "at the provider",
            Self::ToBeCalledBack => "waited to be called back",
            Self::BetweenAttempts => "waited between attempts",
            Self::Refused => "callback that failed",
            Self::Delivered => "callback that was taken",
            Self::NextAttempt => "until the next attempt",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) what: What,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// It goes on.
    pub(crate) is_open: bool,
}

impl Part {
    fn length(&self) -> TimeDelta {
        (self.to - self.from).max(TimeDelta::zero())
    }
}

pub(crate) fn parts(facts: &Facts<'_>) -> Vec<Part> {
    let mut parts = Parts {
        all: Vec::new(),
        at: facts.created_at,
    };
    let mut doing = What::ToBeGathered;
    if let Some(returned) = facts.returned_at {
        parts.until(What::EarlierBatches, returned);
    }
    if let Some(gathered) = facts.gathered_at.filter(|at| *at >= parts.at) {
        parts.until(What::ToBeGathered, gathered);
        doing = What::ToProvider;
    }
    if let Some(running) = facts.running_at.filter(|at| *at >= parts.at) {
        parts.until(What::ToProvider, running);
        doing = What::AtProvider;
    }
    let Some(completed) = facts.completed_at else {
        parts.open(doing, facts.now);
        return parts.all;
    };
    parts.until(doing, completed);
    let mut pause = What::ToBeCalledBack;
    for attempt in facts.attempts {
        parts.until(pause, attempt.started_at);
        let is_taken = attempt.status.is_some_and(|it| (200..300).contains(&it));
        let what = if is_taken {
            What::Delivered
        } else {
            What::Refused
        };
        parts.until(what, attempt.ended_at.max(parts.at));
        pause = What::BetweenAttempts;
    }
    if let Some(next) = facts.next_at {
        parts.open(What::NextAttempt, next);
    }
    parts.all
}

struct Parts {
    all: Vec<Part>,
    at: Timestamp,
}

impl Parts {
    fn until(&mut self, what: What, to: Timestamp) {
        let to = to.max(self.at);
        let is_call = matches!(what, What::Refused | What::Delivered);
        if to > self.at || is_call {
            self.push(what, to, false);
        }
    }

    fn open(&mut self, what: What, to: Timestamp) {
        let to = to.max(self.at);
        self.push(what, to, true);
    }

    fn push(&mut self, what: What, to: Timestamp, is_open: bool) {
        self.all.push(Part {
            what,
            from: self.at,
            to,
            is_open,
        });
        self.at = to;
    }
}

/// A line below the picture: what, how long together, how often, and since when if it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) what: What,
    pub(crate) length: TimeDelta,
    pub(crate) times: usize,
    pub(crate) open: Option<Timestamp>,
}

pub(crate) fn sums(parts: &[Part]) -> Vec<Sum> {
    What::ALL
        .into_iter()
        .filter_map(|what| {
            let these: Vec<&Part> = parts.iter().filter(|part| part.what == what).collect();
            let open = these.iter().find(|part| part.is_open);
            (!these.is_empty()).then(|| Sum {
                what,
                length: these.iter().map(|part| part.length()).sum(),
                times: these.len(),
                open: open.map(|part| {
                    if what == What::NextAttempt {
                        part.to
                    } else {
                        part.from
                    }
                }),
            })
        })
        .collect()
}

/// Widths that add up to the whole: what is too short gets the least, the rest shares what is left.
#[expect(clippy::cast_precision_loss, reason = "pixels are coarser")]
fn widths(lengths: &[TimeDelta]) -> Vec<f64> {
    let sizes: Vec<f64> = lengths
        .iter()
        .map(|length| length.num_milliseconds() as f64)
        .collect();
    let mut is_least = vec![false; sizes.len()];
    loop {
        let least = is_least.iter().filter(|it| **it).count() as f64;
        let rest: f64 = sizes
            .iter()
            .zip(&is_least)
            .filter(|(_, it)| !**it)
            .map(|(size, _)| size)
            .sum();
        let scale = if rest > 0.0 {
            (WIDTH - least * LEAST).max(0.0) / rest
        } else {
            0.0
        };
        let widths: Vec<f64> = sizes
            .iter()
            .zip(&is_least)
            .map(|(size, is_least)| if *is_least { LEAST } else { size * scale })
            .collect();
        let short = widths
            .iter()
            .zip(&is_least)
            .any(|(wide, it)| !it && *wide < LEAST);
        if !short {
            return widths;
        }
        for (wide, is_least) in widths.iter().zip(&mut is_least) {
            *is_least |= *wide < LEAST;
        }
    }
}

pub(crate) fn draw(parts: &[Part]) -> Markup {
    let lengths: Vec<TimeDelta> = parts.iter().map(Part::length).collect();
    let told: Vec<String> = parts
        .iter()
        .map(|part| format!("{}: {}", part.what.words(), duration(part.length())))
        .collect();
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{}\"><rect class=\"track\" x=\"0\" y=\"0\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>",
        escaped(&told.join(", "))
    );
    let mut left = 0.0;
    for ((part, wide), told) in parts.iter().zip(widths(&lengths)).zip(&told) {
        let (x, wide_shown) = (left + 0.5, (wide - 1.0).max(1.0));
        let _ = write!(
            svg,
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"6\" width=\"{wide_shown:.1}\" height=\"32\"><title>{}</title></rect>",
            part.what.class(),
            escaped(told)
        );
        left += wide;
    }
    svg.push_str("</svg>");
    Markup(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(seconds, 0).unwrap()
    }

    fn attempt(number: u32, from: i64, to: i64, status: Option<u16>) -> Attempt {
        Attempt {
            number,
            started_at: at(from),
            ended_at: at(to),
            status,
            error: None,
            answer: Vec::new(),
        }
    }

    #[test]
    fn a_journey_with_a_retry_and_a_next_attempt() {
        let attempts = [attempt(1, 61, 91, None), attempt(2, 121, 122, Some(500))];
        let facts = Facts {
            created_at: at(0),
            returned_at: None,
            gathered_at: Some(at(2)),
            running_at: Some(at(3)),
            completed_at: Some(at(60)),
            attempts: &attempts,
            next_at: Some(at(242)),
            now: at(130),
        };
        let told: Vec<String> = parts(&facts)
            .iter()
            .map(|part| format!("{} {}", part.what.words(), duration(part.length())))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        waited to be gathered 2.0 s
        on its way to the provider 1.0 s
        at the provider 57.0 s
        waited to be called back 1.0 s
        callback that failed 30.0 s
        waited between attempts 30.0 s
        callback that failed 1.0 s
        until the next attempt 2 m 00 s
        ");
        let sums = sums(&parts(&facts));
        assert_eq!(sums.iter().filter(|sum| sum.times == 2).count(), 1);
    }

    #[test]
    fn what_waits_is_open_and_goes_until_now() {
        let facts = Facts {
            created_at: at(0),
            returned_at: Some(at(100)),
            gathered_at: None,
            running_at: None,
            completed_at: None,
            attempts: &[],
            next_at: None,
            now: at(130),
        };
        let parts = parts(&facts);
        assert_eq!(parts.iter().filter(|part| part.is_open).count(), 1);
        assert_eq!(
            parts.last().map(|part| (part.what, part.to)),
            Some((What::ToBeGathered, at(130)))
        );
    }

    #[test]
    fn everything_can_be_seen_and_the_rest_is_true() {
        let lengths = [1, 3_600_000, 7_200_000, 0].map(TimeDelta::milliseconds);
        let widths = widths(&lengths);
        assert!((widths.iter().sum::<f64>() - WIDTH).abs() < 0.01);
        assert!(widths.iter().all(|wide| *wide >= LEAST));
        let (Some(one), Some(two)) = (widths.get(1), widths.get(2)) else {
            panic!("four widths");
        };
        assert!((two / one - 2.0).abs() < 0.01);
    }
}
