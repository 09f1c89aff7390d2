//! Results that are stored together.

use domain::model_answer::ModelAnswer;
use store::shard::earlier_cost::BilledAttempt;
use store::shard::manifest::OpenCargo;

use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::FinishedCargo;
use crate::result_outcome::ResultContext;
use crate::stop_sequences;
use crate::usage_estimate::estimate_missing_usage;

/// What the line of an open item says.
#[derive(Debug)]
pub(super) enum LineResult {
    Finished(Box<FinishedCargo>),
    Uncut(Box<UncutAnswer>),
    /// There is no outcome, but a bill.
    Billed(BilledAttempt),
}

/// Longshore applies the stop sequences of the request, which has to be read for it.
#[derive(Debug)]
pub(super) struct UncutAnswer {
    pub(super) open_cargo: OpenCargo,
    answer: ModelAnswer,
}

#[derive(Debug, Default)]
pub(super) struct ResultGroup {
    pub(super) finished: Vec<FinishedCargo>,
    pub(super) uncut: Vec<UncutAnswer>,
}

impl LineResult {
    pub(super) fn answered(
        head: &OpenCargo,
        answer: ModelAnswer,
        context: ResultContext<'_>,
    ) -> Self {
        let open_cargo = head.clone();
        if open_cargo.shape.cuts_at_stop_sequences {
            Self::Uncut(Box::new(UncutAnswer { open_cargo, answer }))
        } else {
            Self::finished(context.answered(open_cargo, answer, &[]))
        }
    }

    pub(super) fn finished(finished: FinishedCargo) -> Self {
        Self::Finished(Box::new(finished))
    }
}

impl ResultGroup {
    pub(super) const fn len(&self) -> usize {
        self.finished.len() + self.uncut.len()
    }

    /// Stores the outcomes; returns how many were new.
    pub(super) async fn store(self, claimed: &ClaimedBatch) -> Result<usize, store::Error> {
        let (shard, context) = (claimed.shard(), claimed.result_context());
        let heads = self.uncut.iter().map(|uncut| uncut.open_cargo.clone());
        let stops = stop_sequences::read(shard, heads).await?;
        let mut finished = self.finished;
        for UncutAnswer { open_cargo, answer } in self.uncut {
            let stops = stops.get(&open_cargo.cargo).map(Vec::as_slice);
            finished.push(context.answered(open_cargo, answer, stops.unwrap_or_default()));
        }
        let finished = estimate_missing_usage(shard, finished).await?;
        claimed.store_outcomes(finished, claimed.claimed_at).await
    }
}
