//! The mock is polled in groups: no more of a batch is in memory than a group may hold.

use std::collections::{HashMap, VecDeque};

use domain::batch::Care;
use domain::id::CargoId;
use domain::model::{Model, Price};
use domain::time::Timestamp;
use outbound::provider::{Answer, Job, PollFailure, Polled, Progress, Provider, Submission};
use store::shard::batch;
use store::shard::manifest::{self, Head};

use super::{Collector, LATER};
use crate::claimed::ClaimedBatch;
use crate::manifest::{OpenItems, StoredRequest, in_order, read_chunk};
use crate::memory::UnpackedGroup;
use crate::onward::Going;
use crate::storing::{self, Finished};

/// The most answers that are stored together.
const MAX_GROUP: usize = 1000;

/// Whom to ask, and for what.
struct MockJob<'a> {
    mock: &'a dyn Provider,
    job: Job,
    submission: Submission,
}

impl Collector {
    pub(super) async fn poll_mock(
        &self,
        claimed: &ClaimedBatch,
        model: &Model,
        mock: &dyn Provider,
        job: &str,
    ) -> Result<usize, store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.now);
        let care = Care::after(batch.takeovers);
        if care == Care::SetAside {
            return self.set_aside(claimed).await;
        }
        let asked = MockJob {
            mock,
            job: Job(job.to_owned()),
            submission: Submission {
                batch: batch.id,
                model: model.clone(),
            },
        };
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let mut unread = in_order(heads, &batch.cargo);
        if care == Care::OneByOneFromTheEnd {
            unread = unread.into_iter().rev().collect();
        }
        let (mut stored, mut next_poll_at) = (0, None);
        while !unread.is_empty() {
            let mut chunk = VecDeque::from(read_chunk(&self.shard, &mut unread).await?);
            if care == Care::Usual {
                // A small request does not wait for its large neighbours.
                chunk
                    .make_contiguous()
                    .sort_by_key(StoredRequest::unpacked_len);
            }
            while !chunk.is_empty() {
                let most = care.group(MAX_GROUP);
                let group = self.memory.unpack(&mut chunk, most).await;
                match self.poll_group(claimed, &asked, group).await? {
                    Ok((count, at)) => {
                        stored += count;
                        next_poll_at = earlier(next_poll_at, at);
                    }
                    Err(failure) => {
                        tracing::warn!(batch.id = %batch.id, failure = %failure.0, "{} could not be asked for", batch.id);
                        batch::ask_again(&self.shard, batch.id, claim, now + LATER).await?;
                        return Ok(stored);
                    }
                }
            }
        }
        match next_poll_at {
            Some(at) => batch::poll_again(&self.shard, batch.id, claim, at).await?,
            None => self.end(claimed, Going::AtOnce).await?,
        }
        Ok(stored)
    }

    /// How many answers were stored, and when others may be there.
    async fn poll_group(
        &self,
        claimed: &ClaimedBatch,
        asked: &MockJob<'_>,
        group: UnpackedGroup,
    ) -> Result<Result<(usize, Option<Timestamp>), PollFailure>, store::Error> {
        let UnpackedGroup {
            items,
            heads,
            failed: mut finished,
            permit,
        } = group;
        let (now, submission) = (claimed.now, &asked.submission);
        let mut items = OpenItems(items);
        let polled = asked.mock.poll(&asked.job, submission, &mut items, now);
        let Polled { results, progress } = match polled.await {
            Ok(polled) => polled,
            Err(failure) => return Ok(Err(failure)),
        };
        finished.extend(matched(heads, results, submission.model.realtime()));
        let (batch, slots) = (claimed.batch.id, Some(&self.callback_slots));
        let stored =
            storing::store(&self.shard, batch, claimed.claim, slots, finished, now).await?;
        drop(permit);
        let next_poll_at = match progress {
            Progress::Running { next_poll_at } => Some(next_poll_at),
            Progress::Ended => None,
        };
        Ok(Ok((stored, next_poll_at)))
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// Results that belong to open cargo in this very attempt; others are no answers of ours.
fn matched(heads: Vec<Head>, results: Vec<Answer>, realtime: Option<Price>) -> Vec<Finished> {
    let mut open: HashMap<CargoId, Head> =
        heads.into_iter().map(|head| (head.cargo, head)).collect();
    let mut finished = Vec::with_capacity(results.len());
    for answer in results {
        if open
            .get(&answer.cargo)
            .is_none_or(|head| head.attempt != answer.attempt)
        {
            metrics::counter!("collect_unmatched_results_total").increment(1);
            continue;
        }
        if let Some(head) = open.remove(&answer.cargo) {
            finished.push(Finished {
                head,
                outcome: answer.outcome,
                realtime,
            });
        }
    }
    finished
}
