//! Spans of batches and of their cargo, recorded after the rows are committed.
//!
//! Everything is read from rows, so a worker that takes a batch over records the spans of its
//! whole path. Tracing never fails a stage: what cannot be read is not traced.

use domain::cargo_spans::{
    REQUEUED, TracedBatch, batch_span, gather_span, outcome_span, submit_span,
};
use domain::id::CargoId;
use domain::reason_code::FailureCode;
use domain::span::SpanTimes;
use domain::time::Timestamp;
use outbound::otlp::Tracer;
use store::Shard;
use store::shard::batch_trace::{self, SubmissionTimes, TracedCargoRow};
use store::shard::manifest::OpenCargo;

use crate::claimed_batch::ClaimedBatch;

/// A batch with sampled cargo, read before the batch ends.
#[derive(Debug)]
pub(crate) struct BatchTrace {
    cargo: Vec<TracedCargoRow>,
    submission: Option<SubmissionTimes>,
}

/// A cargo whose outcome is stored.
#[derive(Debug)]
pub(crate) struct EndedCargo<'a> {
    pub(crate) open_cargo: &'a OpenCargo,
    pub(crate) failure_code: Option<FailureCode>,
}

impl ClaimedBatch {
    /// Records the attempts of cargo whose outcomes are stored.
    pub(crate) fn trace_outcomes<'a>(
        &self,
        ended: impl Iterator<Item = EndedCargo<'a>>,
        now: Timestamp,
    ) {
        let Some(tracer) = &self.deps.tracer else {
            return;
        };
        let batch = self.traced();
        let ended = ended.filter_map(|it| Some((it.open_cargo.traced()?, it.failure_code)));
        tracer.record(ended.flat_map(|(cargo, code)| {
            let error = code.map(FailureCode::as_str);
            [
                gather_span(&cargo, &batch),
                outcome_span(&cargo, Some(&batch), error, now),
            ]
        }));
    }

    /// None if tracing is off or no cargo of the batch is sampled.
    pub(crate) async fn read_trace(&self) -> Option<BatchTrace> {
        self.deps.tracer.as_ref()?;
        let cargo = list_traced(self.shard(), &self.batch.cargo).await;
        if cargo.is_empty() {
            return None;
        }
        let submission = batch_trace::find_submission(self.shard(), self.batch.id).await;
        Some(BatchTrace {
            cargo,
            submission: submission.ok().flatten(),
        })
    }

    /// Records the batch and its submission.
    pub(crate) fn trace_batch(&self, trace: &BatchTrace, now: Timestamp) {
        let Some(tracer) = &self.deps.tracer else {
            return;
        };
        let batch = self.traced();
        let cargo = || trace.cargo.iter().map(|row| row.cargo.context);
        let submission = trace.submission.map(|submission| {
            let times = SpanTimes {
                started_at: submission.started_at,
                ended_at: submission.accepted_at,
            };
            submit_span(&batch, cargo(), times)
        });
        let root = batch_span(&batch, cargo(), now);
        tracer.record(submission.into_iter().chain([root]));
    }

    /// Records the attempts of cargo that had no outcome at the end of the batch.
    pub(crate) fn trace_requeued(&self, trace: &BatchTrace, now: Timestamp) {
        let Some(tracer) = &self.deps.tracer else {
            return;
        };
        let batch = self.traced();
        let rows = trace.cargo.iter();
        let open = rows.filter(|row| row.open_in == Some(self.batch.id));
        tracer.record(open.flat_map(|row| {
            [
                gather_span(&row.cargo, &batch),
                outcome_span(&row.cargo, Some(&batch), Some(REQUEUED), now),
            ]
        }));
    }

    fn traced(&self) -> TracedBatch {
        TracedBatch {
            batch: self.batch.id,
            provider: self.lane.provider.clone(),
            mode: self.lane.via.as_str(),
            model: self.lane.model.clone(),
            size: self.batch.cargo.len(),
        }
    }
}

/// Records cargo that failed before it was gathered.
pub(crate) async fn trace_waiting_failures(
    shard: &Shard,
    tracer: &Tracer,
    cargo: &[CargoId],
    code: FailureCode,
    now: Timestamp,
) {
    let rows = list_traced(shard, cargo).await;
    let spans = rows
        .iter()
        .map(|row| outcome_span(&row.cargo, None, Some(code.as_str()), now));
    tracer.record(spans);
}

async fn list_traced(shard: &Shard, cargo: &[CargoId]) -> Vec<TracedCargoRow> {
    match batch_trace::list_traced(shard, cargo).await {
        Ok(traced) => traced,
        Err(failure) => {
            tracing::debug!(shard = %shard.name, failure = %failure, "the traces of some cargo could not be read: they have no spans");
            Vec::new()
        }
    }
}
