//! The timeline of a cargo as a chart. Short segments get a minimum width.

use std::fmt::Write as _;

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::view::cargo_detail::LoggedAttempt;

use crate::text::{Markup, duration, escape_html};

const WIDTH: f64 = 1000.0;
const MIN_WIDTH: f64 = 8.0;
const HEIGHT: u32 = 44;

/// Timestamps of a cargo.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimelineFacts<'a> {
    pub(crate) created_at: Timestamp,
    /// When its batch ended without an outcome and it was requeued.
    pub(crate) requeued_at: Option<Timestamp>,
    pub(crate) gathered_at: Option<Timestamp>,
    pub(crate) running_at: Option<Timestamp>,
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) attempts: &'a [LoggedAttempt],
    pub(crate) next_at: Option<Timestamp>,
    pub(crate) now: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimelineStep {
    EarlierBatches,
    WaitingForBatch,
    Submitting,
    AtProvider,
    WaitingForCallback,
    BetweenAttempts,
    CallbackFailed,
    CallbackDelivered,
    /// Scheduled, not yet made.
    NextAttempt,
}

impl TimelineStep {
    const ALL: [Self; 9] = [
        Self::EarlierBatches,
        Self::WaitingForBatch,
        Self::Submitting,
        Self::AtProvider,
        Self::WaitingForCallback,
        Self::BetweenAttempts,
        Self::CallbackFailed,
        Self::CallbackDelivered,
        Self::NextAttempt,
    ];

    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::EarlierBatches => "warm",
            Self::WaitingForBatch => "s6",
            Self::Submitting => "s2",
            Self::AtProvider => "s1",
            Self::WaitingForCallback | Self::BetweenAttempts => "pause",
            Self::CallbackFailed => "bad",
            Self::CallbackDelivered => "good",
            Self::NextAttempt => "ghost",
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::EarlierBatches => "in batches without a result",
            Self::WaitingForBatch => "waiting for a batch",
            Self::Submitting => "being submitted",
            Self::AtProvider => "at the provider",
            Self::WaitingForCallback => "waiting for the callback",
            Self::BetweenAttempts => "between callback attempts",
            Self::CallbackFailed => "callback attempt failed",
            Self::CallbackDelivered => "callback delivered",
            Self::NextAttempt => "next attempt",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimelineSegment {
    pub(crate) step: TimelineStep,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// The segment has not ended.
    pub(crate) is_open: bool,
}

impl TimelineSegment {
    fn length(&self) -> TimeDelta {
        (self.to - self.from).max(TimeDelta::zero())
    }
}

pub(crate) fn build_segments(facts: &TimelineFacts<'_>) -> Vec<TimelineSegment> {
    let mut parts = SegmentBuilder {
        segments: Vec::new(),
        at: facts.created_at,
    };
    let mut current = TimelineStep::WaitingForBatch;
    if let Some(returned) = facts.requeued_at {
        parts.until(TimelineStep::EarlierBatches, returned);
    }
    if let Some(gathered) = facts.gathered_at.filter(|at| *at >= parts.at) {
        parts.until(TimelineStep::WaitingForBatch, gathered);
        current = TimelineStep::Submitting;
    }
    if let Some(running) = facts.running_at.filter(|at| *at >= parts.at) {
        parts.until(TimelineStep::Submitting, running);
        current = TimelineStep::AtProvider;
    }
    let Some(completed) = facts.completed_at else {
        parts.open(current, facts.now);
        return parts.segments;
    };
    parts.until(current, completed);
    let mut pause = TimelineStep::WaitingForCallback;
    for attempt in facts.attempts {
        parts.until(pause, attempt.started_at);
        let is_taken = attempt.status.is_some_and(|it| (200..300).contains(&it));
        let step = if is_taken {
            TimelineStep::CallbackDelivered
        } else {
            TimelineStep::CallbackFailed
        };
        parts.until(step, attempt.ended_at.max(parts.at));
        pause = TimelineStep::BetweenAttempts;
    }
    if let Some(next) = facts.next_at {
        parts.open(TimelineStep::NextAttempt, next);
    }
    parts.segments
}

struct SegmentBuilder {
    segments: Vec<TimelineSegment>,
    at: Timestamp,
}

impl SegmentBuilder {
    fn until(&mut self, step: TimelineStep, to: Timestamp) {
        let to = to.max(self.at);
        let is_call = matches!(
            step,
            TimelineStep::CallbackFailed | TimelineStep::CallbackDelivered
        );
        if to > self.at || is_call {
            self.push(step, to, false);
        }
    }

    fn open(&mut self, step: TimelineStep, to: Timestamp) {
        let to = to.max(self.at);
        self.push(step, to, true);
    }

    fn push(&mut self, step: TimelineStep, to: Timestamp, is_open: bool) {
        self.segments.push(TimelineSegment {
            step,
            from: self.at,
            to,
            is_open,
        });
        self.at = to;
    }
}

/// A line of the legend: a step, its total duration, its count, and since when it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepDuration {
    pub(crate) step: TimelineStep,
    pub(crate) length: TimeDelta,
    pub(crate) times: usize,
    pub(crate) open_since: Option<Timestamp>,
}

pub(crate) fn sum_by_step(parts: &[TimelineSegment]) -> Vec<StepDuration> {
    TimelineStep::ALL
        .into_iter()
        .filter_map(|step| {
            let these: Vec<&TimelineSegment> =
                parts.iter().filter(|part| part.step == step).collect();
            let open = these.iter().find(|part| part.is_open);
            (!these.is_empty()).then(|| StepDuration {
                step,
                length: these.iter().map(|part| part.length()).sum(),
                times: these.len(),
                open_since: open.map(|part| {
                    if step == TimelineStep::NextAttempt {
                        part.to
                    } else {
                        part.from
                    }
                }),
            })
        })
        .collect()
}

/// Widths that add up to `WIDTH`. Short segments get `MIN_WIDTH`, the others share the rest.
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
            (WIDTH - least * MIN_WIDTH).max(0.0) / rest
        } else {
            0.0
        };
        let widths: Vec<f64> = sizes
            .iter()
            .zip(&is_least)
            .map(|(size, is_least)| if *is_least { MIN_WIDTH } else { size * scale })
            .collect();
        let short = widths
            .iter()
            .zip(&is_least)
            .any(|(wide, it)| !it && *wide < MIN_WIDTH);
        if !short {
            return widths;
        }
        for (wide, is_least) in widths.iter().zip(&mut is_least) {
            *is_least |= *wide < MIN_WIDTH;
        }
    }
}

pub(crate) fn draw(parts: &[TimelineSegment]) -> Markup {
    let lengths: Vec<TimeDelta> = parts.iter().map(TimelineSegment::length).collect();
    let labels: Vec<String> = parts
        .iter()
        .map(|part| format!("{}: {}", part.step.label(), duration(part.length())))
        .collect();
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{}\"><rect class=\"track\" x=\"0\" y=\"0\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>",
        escape_html(&labels.join(", "))
    );
    let mut left = 0.0;
    for ((part, wide), label) in parts.iter().zip(widths(&lengths)).zip(&labels) {
        let (x, wide_shown) = (left + 0.5, (wide - 1.0).max(1.0));
        let _ = write!(
            svg,
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"6\" width=\"{wide_shown:.1}\" height=\"32\"><title>{}</title></rect>",
            part.step.class(),
            escape_html(label)
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

    fn attempt(number: u32, from: i64, to: i64, status: Option<u16>) -> LoggedAttempt {
        LoggedAttempt {
            number,
            started_at: at(from),
            ended_at: at(to),
            status,
            error: None,
            answer: Vec::new(),
            is_resend: false,
        }
    }

    #[test]
    fn a_journey_with_a_retry_and_a_next_attempt() {
        let attempts = [attempt(1, 61, 91, None), attempt(2, 121, 122, Some(500))];
        let facts = TimelineFacts {
            created_at: at(0),
            requeued_at: None,
            gathered_at: Some(at(2)),
            running_at: Some(at(3)),
            completed_at: Some(at(60)),
            attempts: &attempts,
            next_at: Some(at(242)),
            now: at(130),
        };
        let lines: Vec<String> = build_segments(&facts)
            .iter()
            .map(|part| format!("{} {}", part.step.label(), duration(part.length())))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        waiting for a batch 2.0 s
        being submitted 1.0 s
        at the provider 57.0 s
        waiting for the callback 1.0 s
        callback attempt failed 30.0 s
        between callback attempts 30.0 s
        callback attempt failed 1.0 s
        next attempt 2 m 00 s
        ");
        let sums = sum_by_step(&build_segments(&facts));
        assert_eq!(sums.iter().filter(|sum| sum.times == 2).count(), 1);
    }

    #[test]
    fn an_open_segment_ends_now() {
        let facts = TimelineFacts {
            created_at: at(0),
            requeued_at: Some(at(100)),
            gathered_at: None,
            running_at: None,
            completed_at: None,
            attempts: &[],
            next_at: None,
            now: at(130),
        };
        let parts = build_segments(&facts);
        assert_eq!(parts.iter().filter(|part| part.is_open).count(), 1);
        assert_eq!(
            parts.last().map(|part| (part.step, part.to)),
            Some((TimelineStep::WaitingForBatch, at(130)))
        );
    }

    #[test]
    fn short_segments_are_visible_and_long_ones_proportional() {
        let lengths = [1, 3_600_000, 7_200_000, 0].map(TimeDelta::milliseconds);
        let widths = widths(&lengths);
        assert!((widths.iter().sum::<f64>() - WIDTH).abs() < 0.01);
        assert!(widths.iter().all(|wide| *wide >= MIN_WIDTH));
        let (Some(one), Some(two)) = (widths.get(1), widths.get(2)) else {
            panic!("four widths");
        };
        assert!((two / one - 2.0).abs() < 0.01);
    }
}
