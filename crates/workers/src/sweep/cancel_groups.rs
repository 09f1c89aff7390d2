//! Cancels the members of groups whose callers asked for it, some in each sweep.

use std::collections::{HashMap, HashSet, VecDeque};

use chrono::TimeDelta;
use domain::id::GroupId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::cancel::{self, GroupCancelStep};
use store::shard::node::Claim;

use crate::cancelling::count_cancelled;

const MAX_STEPS_PER_SWEEP: usize = 10;
const MEMBERS_PER_STEP: i64 = 500;
/// Only ids are read. Groups beyond this number wait until older ones are done.
const MAX_GROUPS_PER_SWEEP: i64 = 1000;
/// Positions count from 0.
const BEFORE_FIRST_POSITION: i64 = -1;
/// When a group is read again that was read to its end and is not completed: providers still have
/// some of its cargo.
const RECHECK_INTERVAL: TimeDelta = TimeDelta::minutes(10);
/// When a group is read again whose members could not be cancelled.
const FAILURE_RETRY_DELAY: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug, Default)]
pub(super) struct GroupCancelCursor {
    progress: HashMap<GroupId, GroupProgress>,
    /// How many steps were taken, for all groups.
    steps: u64,
}

#[derive(Debug)]
struct GroupProgress {
    after: i64,
    /// Members that other transactions were moving.
    skipped: u64,
    /// The number of its last step. The group with the smallest is next.
    last_step: u64,
    /// The group is left alone until then.
    paused_until: Option<Timestamp>,
}

impl Default for GroupProgress {
    fn default() -> Self {
        Self {
            after: BEFORE_FIRST_POSITION,
            skipped: 0,
            last_step: 0,
            paused_until: None,
        }
    }
}

impl GroupProgress {
    fn is_paused(&self, now: Timestamp) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }

    /// Returns whether the group may have more members.
    fn advance(&mut self, step: &GroupCancelStep, now: Timestamp) -> bool {
        self.skipped += step.skipped;
        self.paused_until = None;
        if let Some(last) = step.last_position {
            self.after = last;
            return true;
        }
        // The next sweep reads the group from its start, at once if members were skipped.
        if self.skipped == 0 {
            self.paused_until = Some(now + RECHECK_INTERVAL);
        }
        self.after = BEFORE_FIRST_POSITION;
        self.skipped = 0;
        false
    }
}

impl GroupCancelCursor {
    /// Takes each group in turn, and returns how much cargo was cancelled.
    pub(super) async fn cancel(
        &mut self,
        shard: &Shard,
        claim: Claim,
        now: Timestamp,
    ) -> Result<u64, store::Error> {
        let known = self.progress.iter();
        let paused = known.filter(|(_, progress)| progress.is_paused(now));
        let paused: Vec<GroupId> = paused.map(|(group, _)| *group).collect();
        let groups = cancel::list_cancelling(shard, claim, &paused, MAX_GROUPS_PER_SWEEP).await?;
        let mut groups = self.order_by_last_step(groups, now);
        // The counter is there from the start.
        count_cancelled(shard, 0);
        let mut cancelled = 0;
        for _ in 0..MAX_STEPS_PER_SWEEP {
            let Some(group) = groups.pop_front() else {
                break;
            };
            let Some(step) = self.cancel_some(shard, group, now).await? else {
                continue;
            };
            count_cancelled(shard, step.counts.cancelled);
            cancelled += step.counts.cancelled;
            let progress = self.progress.entry(group).or_default();
            if progress.advance(&step, now) {
                groups.push_back(group);
            }
        }
        Ok(cancelled)
    }

    /// Forgets groups that are neither listed nor paused, and orders the others: the least
    /// recently served first, so that large groups do not keep others waiting.
    fn order_by_last_step(
        &mut self,
        mut groups: Vec<GroupId>,
        now: Timestamp,
    ) -> VecDeque<GroupId> {
        let listed: HashSet<GroupId> = groups.iter().copied().collect();
        self.progress
            .retain(|group, progress| listed.contains(group) || progress.is_paused(now));
        // Stable: of groups without a step, the oldest request stays first.
        groups.sort_by_key(|group| self.progress.get(group).map_or(0, |it| it.last_step));
        groups.into()
    }

    /// Cancels some members of a group. None: that failed, and the group is paused. A failure is
    /// returned only if the database is unavailable, and then another group is next.
    async fn cancel_some(
        &mut self,
        shard: &Shard,
        group: GroupId,
        now: Timestamp,
    ) -> Result<Option<GroupCancelStep>, store::Error> {
        self.steps += 1;
        let progress = self.progress.entry(group).or_default();
        progress.last_step = self.steps;
        let after = progress.after;
        let failure = match cancel::cancel_members(shard, group, after, MEMBERS_PER_STEP, now).await
        {
            Ok(step) => return Ok(Some(step)),
            Err(failure) if failure.is_unavailable() => return Err(failure),
            Err(failure) => failure,
        };
        progress.paused_until = Some(now + FAILURE_RETRY_DELAY);
        report_failure(shard, group, &failure);
        Ok(None)
    }
}

fn report_failure(shard: &Shard, group: GroupId, failure: &store::Error) {
    let shard = shard.name.to_string();
    tracing::warn!(
        shard,
        group.id = %group,
        failure = failure.diagnosis(),
        "the members of a group could not be cancelled; sweep tries again in a minute"
    );
    metrics::counter!("longshore_sweep_failures_total", "part" => "cancel_groups", "shard" => shard)
        .increment(1);
}
