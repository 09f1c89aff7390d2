//! Polls the mock in groups, so that only one group of a batch is in memory.

use std::collections::VecDeque;

use domain::batch::ResultIngestionMode;
use domain::model::Model;
use domain::time::Timestamp;
use outbound::provider::mock::{MockAnswer, MockProvider};
use store::shard::batch;
use store::shard::manifest;

use super::Collector;
use crate::byte_budget::UnpackedGroup;
use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::{self, FinishedCargo};
use crate::requeue::RequeueTiming;
use crate::stored_requests::{StoredRequest, read_chunk, sort_by_batch_order};

/// How many answers are stored together.
const MAX_ANSWERS_PER_GROUP: usize = 1000;

impl Collector {
    pub(super) async fn poll_mock(
        &self,
        claimed: &ClaimedBatch,
        model: &Model,
        mock: MockProvider,
    ) -> Result<usize, store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
        let care = ResultIngestionMode::after_takeovers(batch.takeovers);
        if care == ResultIngestionMode::FailRemaining {
            return self.fail_remaining(claimed).await;
        }
        let heads = manifest::list_open(&self.shard, batch.id, &batch.cargo).await?;
        let mut unread = sort_by_batch_order(heads, &batch.cargo);
        if care == ResultIngestionMode::OneByOneBackward {
            unread = unread.into_iter().rev().collect();
        }
        let (mut stored, mut next_poll_at): (usize, Option<Timestamp>) = (0, None);
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
                let UnpackedGroup {
                    open,
                    failed: mut finished,
                    permit,
                } = self.memory.unpack(&mut chunk, most).await;
                for (item, open_cargo) in open {
                    match mock.answer(&item, model, now) {
                        MockAnswer::Ready(outcome) => finished.push(FinishedCargo {
                            open_cargo,
                            outcome,
                            realtime_price: model.realtime(),
                        }),
                        MockAnswer::NotReady { next_poll_at: at } => {
                            next_poll_at = Some(next_poll_at.map_or(at, |other| other.min(at)));
                        }
                    }
                }
                let slots = Some(&self.callback_slots);
                stored += outcome_writer::store_outcomes(
                    &self.shard,
                    batch.id,
                    claim,
                    slots,
                    finished,
                    now,
                )
                .await?;
                drop(permit);
            }
        }
        match next_poll_at {
            Some(at) => batch::reschedule_after_progress(&self.shard, batch.id, claim, at).await?,
            None => self.end_batch(claimed, RequeueTiming::Immediately).await?,
        }
        Ok(stored)
    }
}
