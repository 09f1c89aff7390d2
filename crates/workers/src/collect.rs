//! Collect: polls the jobs of submitted batches and stores their results as outcomes.

use async_trait::async_trait;
use domain::reason_code::FailureCode;
use outbound::provider::ProviderJobId;
use store::shard::batch_submission;

use crate::batch_end::BatchEnd;
use crate::batch_stage::{BatchStageKind, BatchWork, BatchWorker};
use crate::byte_budget::ByteBudget;
use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::FinishedCargo;
use crate::providers::ProviderAccess;
use crate::requeue::RequeueTiming;

mod job_polling;
mod mock;
mod result_group;
mod result_ingestion;
mod result_lines;

use job_polling::JobPoll;

#[derive(Debug, Default)]
pub(crate) struct CollectWorker {
    memory: ByteBudget,
}

#[async_trait]
impl BatchWorker for CollectWorker {
    fn kind(&self) -> BatchStageKind {
        BatchStageKind::Collect
    }

    async fn start(&mut self, claimed: ClaimedBatch) -> BatchWork {
        claimed.failpoint("collect.claimed");
        let memory = self.memory.clone();
        Box::pin(async move { poll(&claimed, &memory).await })
    }
}

async fn poll(claimed: &ClaimedBatch, memory: &ByteBudget) -> Result<usize, store::Error> {
    let access = claimed.deps.providers.find(&claimed.lane.provider);
    match (&claimed.model, access, &claimed.batch.job) {
        (Some(model), Some(ProviderAccess::Mock(mock)), Some(_)) => {
            mock::poll(claimed, model, *mock, memory).await
        }
        (
            Some(_),
            Some(ProviderAccess::Batch {
                batch: provider,
                share,
                ..
            }),
            Some(job),
        ) => {
            let job_poll = JobPoll {
                claimed,
                provider: &**provider,
                share: *share,
                job: ProviderJobId(job.clone()),
                record: batch_submission::read(claimed.shard(), claimed.batch.id).await?,
            };
            job_poll.poll().await
        }
        // The provider or the job is not known here: the open cargo takes another route.
        _ => {
            end_batch(claimed, RequeueTiming::Immediately).await?;
            Ok(1)
        }
    }
}

/// Ends the batch and requeues cargo without an outcome.
async fn end_batch(claimed: &ClaimedBatch, timing: RequeueTiming) -> Result<(), store::Error> {
    let end = BatchEnd::JobOver(timing);
    claimed.end(end, claimed.claimed_at).await
}

/// Fails the open cargo of a batch whose results have killed too many workers. The results are not
/// read again.
async fn fail_remaining(claimed: &ClaimedBatch) -> Result<usize, store::Error> {
    let batch = &claimed.batch;
    let heads = claimed.list_open().await?;
    for head in &heads {
        let cargo = head.cargo;
        let trace_id = head.trace.map(|it| tracing::field::display(it.trace));
        tracing::error!(batch.id = %batch.id, cargo.id = %cargo, trace_id, takeovers = batch.takeovers, "a result is not processed again: workers died while processing it");
    }
    let count = heads.len();
    metrics::counter!("longshore_outcomes_unprocessable_total", "reason" => "takeovers")
        .increment(count as u64);
    let failure = FailureCode::ProcessingInterrupted
        .with_message("processing the result was interrupted too often");
    let failed = heads.into_iter();
    let failed = failed.map(|head| FinishedCargo::failed(head, failure.clone()));
    claimed
        .store_outcomes(failed.collect(), claimed.claimed_at)
        .await?;
    end_batch(claimed, RequeueTiming::Immediately).await?;
    Ok(count.max(1))
}
