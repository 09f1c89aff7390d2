//! Polls the mock in groups, so that only one group of a batch is in memory.

use std::collections::{HashMap, VecDeque};

use domain::batch::ResultIngestionMode;
use domain::id::CargoId;
use domain::model::{Model, Price};
use domain::time::Timestamp;
use outbound::provider::{
    BatchSubmission, ItemOutcome, PollFailure, PollProgress, PollResponse, Provider, ProviderJobId,
};
use store::shard::batch;
use store::shard::manifest::{self, OpenCargo};

use super::{Collector, POLL_RETRY_DELAY};
use crate::byte_budget::UnpackedGroup;
use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::{self, FinishedCargo};
use crate::requeue::RequeueTiming;
use crate::stored_requests::{OpenItems, StoredRequest, read_chunk, sort_by_batch_order};

/// How many answers are stored together.
const MAX_ANSWERS_PER_GROUP: usize = 1000;

/// The job to poll, and the mock.
struct MockJob<'a> {
    mock: &'a dyn Provider,
    job: ProviderJobId,
    submission: BatchSubmission,
}

impl Collector {
    pub(super) async fn poll_mock(
        &self,
        claimed: &ClaimedBatch,
        model: &Model,
        mock: &dyn Provider,
        job: &str,
    ) -> Result<usize, store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
        let care = ResultIngestionMode::after_takeovers(batch.takeovers);
        if care == ResultIngestionMode::FailRemaining {
            return self.fail_remaining(claimed).await;
        }
        let mock_job = MockJob {
            mock,
            job: ProviderJobId(job.to_owned()),
            submission: BatchSubmission {
                batch: batch.id,
                model: model.clone(),
            },
        };
        let heads = manifest::list_open(&self.shard, batch.id, &batch.cargo).await?;
        let mut unread = sort_by_batch_order(heads, &batch.cargo);
        if care == ResultIngestionMode::OneByOneBackward {
            unread = unread.into_iter().rev().collect();
        }
        let (mut stored, mut next_poll_at) = (0, None);
        while !unread.is_empty() {
            let mut chunk = VecDeque::from(read_chunk(&self.shard, &mut unread).await?);
            if care == ResultIngestionMode::Normal {
                // A small request does not wait for large ones.
                chunk
                    .make_contiguous()
                    .sort_by_key(StoredRequest::unpacked_len);
            }
            while !chunk.is_empty() {
                let most = care.group_size(MAX_ANSWERS_PER_GROUP);
                let group = self.memory.unpack(&mut chunk, most).await;
                match self.poll_group(claimed, &mock_job, group).await? {
                    Ok((count, at)) => {
                        stored += count;
                        next_poll_at = earlier(next_poll_at, at);
                    }
                    Err(failure) => {
                        tracing::warn!(batch.id = %batch.id, failure = %failure.0, "the mock could not be polled and will be tried again");
                        batch::reschedule(&self.shard, batch.id, claim, now + POLL_RETRY_DELAY)
                            .await?;
                        return Ok(stored);
                    }
                }
            }
        }
        match next_poll_at {
            Some(at) => batch::reschedule_after_progress(&self.shard, batch.id, claim, at).await?,
            None => self.end_batch(claimed, RequeueTiming::Immediately).await?,
        }
        Ok(stored)
    }

    /// How many answers were stored, and when more may be ready.
    async fn poll_group(
        &self,
        claimed: &ClaimedBatch,
        mock_job: &MockJob<'_>,
        group: UnpackedGroup,
    ) -> Result<Result<(usize, Option<Timestamp>), PollFailure>, store::Error> {
        let UnpackedGroup {
            items,
            open_cargo: heads,
            failed: mut finished,
            permit,
        } = group;
        let (now, submission) = (claimed.claimed_at, &mock_job.submission);
        let mut items = OpenItems(items);
        let polled = mock_job
            .mock
            .poll(&mock_job.job, submission, &mut items, now);
        let PollResponse { results, progress } = match polled.await {
            Ok(polled) => polled,
            Err(failure) => return Ok(Err(failure)),
        };
        finished.extend(match_results(heads, results, submission.model.realtime()));
        let (batch, slots) = (claimed.batch.id, Some(&self.callback_slots));
        let stored =
            outcome_writer::store_outcomes(&self.shard, batch, claimed.claim, slots, finished, now)
                .await?;
        drop(permit);
        let next_poll_at = match progress {
            PollProgress::Running { next_poll_at } => Some(next_poll_at),
            PollProgress::Ended => None,
        };
        Ok(Ok((stored, next_poll_at)))
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// Matches results with open cargo of the same attempt. Ignores and counts the others.
fn match_results(
    heads: Vec<OpenCargo>,
    results: Vec<ItemOutcome>,
    realtime: Option<Price>,
) -> Vec<FinishedCargo> {
    let mut open: HashMap<CargoId, OpenCargo> =
        heads.into_iter().map(|head| (head.cargo, head)).collect();
    let mut finished = Vec::with_capacity(results.len());
    for answer in results {
        if open
            .get(&answer.cargo)
            .is_none_or(|head| head.attempt != answer.attempt)
        {
            metrics::counter!("longshore_batch_results_unmatched_total").increment(1);
            continue;
        }
        if let Some(head) = open.remove(&answer.cargo) {
            finished.push(FinishedCargo {
                open_cargo: head,
                outcome: answer.outcome,
                realtime_price: realtime,
            });
        }
    }
    finished
}
