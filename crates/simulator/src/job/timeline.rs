//! The states of a job over time, computed from its creation, pace and faults.

use chrono::TimeDelta;

use super::SimulatedJob;
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::pace::milliseconds;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobPhase {
    Validating,
    Running,
    Finalizing,
    Cancelling,
    Ended(JobEnd),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd {
    Completed,
    Failed,
    Expired,
    Cancelled,
}

/// The times of a job's state changes.
#[derive(Debug, Clone, Copy)]
pub struct JobTimeline {
    pub running_at: SimulatorTime,
    /// None: it never reaches this state.
    pub finalizing_at: Option<SimulatorTime>,
    pub ended_at: SimulatorTime,
    pub end: JobEnd,
    /// Items that are done at the end.
    pub done: usize,
}

impl SimulatedJob {
    pub fn expires_at(&self) -> SimulatorTime {
        self.created_at + self.window
    }

    pub fn timeline(&self) -> JobTimeline {
        let running_at = self.created_at + milliseconds(self.pace.validating_ms);
        if !self.validation_errors.is_empty() {
            return JobTimeline {
                running_at,
                finalizing_at: None,
                ended_at: running_at,
                end: JobEnd::Failed,
                done: 0,
            };
        }
        let natural = self.timeline_without_cancel(running_at);
        match self.cancel_at {
            Some(cancel_at) if cancel_at < natural.ended_at => JobTimeline {
                ended_at: cancel_at + milliseconds(self.pace.cancelling_ms),
                end: JobEnd::Cancelled,
                done: self.done_at(cancel_at),
                ..natural
            },
            _ => natural,
        }
    }

    /// The timeline without a cancellation.
    fn timeline_without_cancel(&self, running_at: SimulatorTime) -> JobTimeline {
        let expires_at = self.expires_at();
        let finalizing_at = running_at + milliseconds(self.pace.running_ms);
        let long = self.fault(FaultName::LongFinalizing);
        let finalizing = match long {
            Some(fault) => TimeDelta::seconds(i64::from(fault.seconds.unwrap_or(600))),
            None => milliseconds(self.pace.finalizing_ms),
        };
        let ended_at = finalizing_at + finalizing;
        let never = self.has(FaultName::Stuck) || self.has(FaultName::ExpirePartial);
        if never || ended_at > expires_at {
            JobTimeline {
                running_at,
                finalizing_at: (!never && finalizing_at <= expires_at).then_some(finalizing_at),
                ended_at: expires_at,
                end: JobEnd::Expired,
                done: self.done_at(expires_at),
            }
        } else {
            JobTimeline {
                running_at,
                finalizing_at: Some(finalizing_at),
                ended_at,
                end: JobEnd::Completed,
                done: self.total(),
            }
        }
    }

    pub fn phase(&self, now: SimulatorTime) -> JobPhase {
        let timeline = self.timeline();
        if now >= timeline.ended_at {
            return JobPhase::Ended(timeline.end);
        }
        if self.cancel_at.is_some_and(|at| at <= now) && self.validation_errors.is_empty() {
            return JobPhase::Cancelling;
        }
        if now < timeline.running_at {
            JobPhase::Validating
        } else if timeline.finalizing_at.is_some_and(|at| at <= now) {
            JobPhase::Finalizing
        } else {
            JobPhase::Running
        }
    }

    pub fn is_ended(&self, now: SimulatorTime) -> bool {
        now >= self.timeline().ended_at
    }

    /// How many items are done at a time. Items finish in order.
    pub fn done_at(&self, moment: SimulatorTime) -> usize {
        let running_at = self.created_at + milliseconds(self.pace.validating_ms);
        if self.has(FaultName::Stuck) || moment < running_at {
            return 0;
        }
        let elapsed = (moment - running_at).num_milliseconds();
        let running = i64::from(self.pace.running_ms);
        let total = self.total();
        let reached = if elapsed >= running {
            total
        } else {
            let share = i64::try_from(total).unwrap_or(i64::MAX);
            let share = share.saturating_mul(elapsed) / running.max(1);
            usize::try_from(share).unwrap_or(total)
        };
        if self.has(FaultName::ExpirePartial) {
            reached.min(total / 2)
        } else {
            reached
        }
    }
}
