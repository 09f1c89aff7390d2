//! When a job is in which state: it follows from its creation, its pace and its faults.

use chrono::TimeDelta;

use super::Job;
use crate::clock::Moment;
use crate::fault::Name;
use crate::pace::milliseconds;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Validating,
    Running,
    Finalizing,
    Cancelling,
    Ended(End),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Completed,
    Failed,
    Expired,
    Cancelled,
}

/// The moments of a job's life, as far as it goes without another cancellation.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    pub running_at: Moment,
    /// None if it never gets there.
    pub finalizing_at: Option<Moment>,
    pub ended_at: Moment,
    pub end: End,
    /// Items that are done when it ends.
    pub done: usize,
}

impl Job {
    pub fn expires_at(&self) -> Moment {
        self.created_at + self.window
    }

    pub fn timeline(&self) -> Timeline {
        let running_at = self.created_at + milliseconds(self.pace.validating_ms);
        if !self.objections.is_empty() {
            return Timeline {
                running_at,
                finalizing_at: None,
                ended_at: running_at,
                end: End::Failed,
                done: 0,
            };
        }
        let natural = self.natural(running_at);
        match self.cancel_at {
            Some(cancel_at) if cancel_at < natural.ended_at => Timeline {
                ended_at: cancel_at + milliseconds(self.pace.cancelling_ms),
                end: End::Cancelled,
                done: self.done_at(cancel_at),
                ..natural
            },
            _ => natural,
        }
    }

    /// How it goes if nobody cancels it.
    fn natural(&self, running_at: Moment) -> Timeline {
        let expires_at = self.expires_at();
        let finalizing_at = running_at + milliseconds(self.pace.running_ms);
        let long = self.fault(Name::LongFinalizing);
        let finalizing = match long {
            Some(fault) => TimeDelta::seconds(i64::from(fault.seconds.unwrap_or(600))),
            None => milliseconds(self.pace.finalizing_ms),
        };
        let ended_at = finalizing_at + finalizing;
        let never = self.has(Name::Stuck) || self.has(Name::ExpirePartial);
        if never || ended_at > expires_at {
            Timeline {
                running_at,
                finalizing_at: (!never && finalizing_at <= expires_at).then_some(finalizing_at),
                ended_at: expires_at,
                end: End::Expired,
                done: self.done_at(expires_at),
            }
        } else {
            Timeline {
                running_at,
                finalizing_at: Some(finalizing_at),
                ended_at,
                end: End::Completed,
                done: self.total(),
            }
        }
    }

    pub fn phase(&self, now: Moment) -> Phase {
        let timeline = self.timeline();
        if now >= timeline.ended_at {
            return Phase::Ended(timeline.end);
        }
        if self.cancel_at.is_some_and(|at| at <= now) && self.objections.is_empty() {
            return Phase::Cancelling;
        }
        if now < timeline.running_at {
            Phase::Validating
        } else if timeline.finalizing_at.is_some_and(|at| at <= now) {
            Phase::Finalizing
        } else {
            Phase::Running
        }
    }

    pub fn is_ended(&self, now: Moment) -> bool {
        now >= self.timeline().ended_at
    }

    /// How many items are done at a moment, the first ones first.
    pub fn done_at(&self, moment: Moment) -> usize {
        let running_at = self.created_at + milliseconds(self.pace.validating_ms);
        if self.has(Name::Stuck) || moment < running_at {
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
        if self.has(Name::ExpirePartial) {
            reached.min(total / 2)
        } else {
            reached
        }
    }
}
