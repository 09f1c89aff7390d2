//! Polls the mock in groups, so that only one group of a batch is in memory.

use std::collections::VecDeque;

use domain::batch::ResultIngestionMode;
use domain::model::Model;
use domain::money::Money;
use domain::outcome::Outcome;
use domain::price::Price;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use outbound::provider::mock::{MockAnswer, MockProvider};
use store::shard::batch;
use store::shard::manifest::OpenCargo;

use super::{end_batch, fail_remaining};
use crate::byte_budget::{ByteBudget, UnpackedGroup};
use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::FinishedCargo;
use crate::requeue::RequeueTiming;
use crate::stored_requests::{StoredRequest, read_chunk, sort_by_batch_order};

/// How many answers are stored together.
const MAX_ANSWERS_PER_GROUP: usize = 1000;

pub(super) async fn poll(
    claimed: &ClaimedBatch,
    model: &Model,
    mock: MockProvider,
    memory: &ByteBudget,
) -> Result<usize, store::Error> {
    let (shard, batch, now) = (claimed.shard(), &claimed.batch, claimed.claimed_at);
    let care = ResultIngestionMode::after_takeovers(batch.takeovers);
    if care == ResultIngestionMode::FailRemaining {
        return fail_remaining(claimed).await;
    }
    let mut unread = sort_by_batch_order(claimed.list_open().await?, &batch.cargo);
    if care == ResultIngestionMode::OneByOneBackward {
        unread = unread.into_iter().rev().collect();
    }
    let (mut stored, mut next_poll_at): (usize, Option<Timestamp>) = (0, None);
    while !unread.is_empty() {
        let mut chunk = VecDeque::from(read_chunk(shard, &mut unread).await?);
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
            } = memory.unpack(&mut chunk, most).await;
            for (item, open_cargo) in open {
                match mock.answer(&item, model, now) {
                    MockAnswer::Ready(outcome) => {
                        finished.push(finish(claimed, model, open_cargo, outcome));
                    }
                    MockAnswer::NotReady { next_poll_at: at } => {
                        next_poll_at = Some(next_poll_at.map_or(at, |other| other.min(at)));
                    }
                }
            }
            stored += claimed.store_outcomes(finished, now).await?;
            drop(permit);
        }
    }
    match next_poll_at {
        Some(at) => {
            batch::reschedule_after_progress(shard, batch.id, claimed.claim, at).await?;
        }
        None => end_batch(claimed, RequeueTiming::Immediately).await?,
    }
    Ok(stored)
}

/// The mock bills nothing.
fn finish(
    claimed: &ClaimedBatch,
    model: &Model,
    open_cargo: OpenCargo,
    outcome: Outcome,
) -> FinishedCargo {
    FinishedCargo {
        open_cargo,
        usage: Some(TokenBuckets::plain(outcome.usage())),
        outcome,
        realtime_price: model.realtime(),
        billed: None,
        cost_price: Some(Price::flat(Money::ZERO, Money::ZERO)),
        served: Some(claimed.lane.via),
    }
}
