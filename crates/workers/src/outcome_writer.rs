//! Stores outcomes, and hands their callbacks over to deliver.

use std::collections::HashSet;

use domain::id::{BatchId, CargoId};
use domain::money::Money;
use domain::outcome::Outcome;
use domain::price::Price;
use domain::reason_code::{CargoFailure, FailureCode};
use domain::route::InferenceMode;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use store::body;
use store::shard::delivery::Destination;
use store::shard::manifest::OpenCargo;
use store::shard::node::Claim;
use store::shard::outcome::{self, ExpectedCargoState, NewOutcome};

use crate::callback_slots::{CallbackSlots, PayloadNames, PendingCallback};
use crate::claimed_batch::ClaimedBatch;
use crate::spans::EndedCargo;

/// How many outcomes one transaction stores.
const MAX_OUTCOMES_PER_TRANSACTION: usize = 1000;

/// The error of cargo whose outcome the database rejects.
const UNSTORABLE_MESSAGE: &str = "the result could not be stored";

/// A cargo and its outcome.
#[derive(Debug)]
pub(crate) struct FinishedCargo {
    pub(crate) open_cargo: OpenCargo,
    pub(crate) outcome: Outcome,
    /// The model's realtime price, if it is known.
    pub(crate) realtime_price: Option<Price>,
    /// What the caller is charged for. None if the provider has not reported it.
    pub(crate) usage: Option<TokenBuckets>,
    /// What the provider bills, where that is not `usage`.
    pub(crate) billed: Option<TokenBuckets>,
    /// What the provider bills us for tokens, if it is known.
    pub(crate) cost_price: Option<Price>,
    /// The way by which the provider served the request.
    pub(crate) served: Option<InferenceMode>,
}

impl FinishedCargo {
    /// Cargo that fails without an answer of its provider.
    pub(crate) fn failed(head: OpenCargo, failure: CargoFailure) -> Self {
        Self {
            open_cargo: head,
            outcome: Outcome::Failure(failure),
            realtime_price: None,
            usage: Some(TokenBuckets::default()),
            billed: None,
            cost_price: None,
            served: None,
        }
    }

    /// What the provider bills us for this attempt, if it is known. The store adds the cost of
    /// earlier attempts.
    pub(crate) fn cost(&self) -> Option<Money> {
        let billed = self.billed.or(self.usage).unwrap_or_default();
        self.cost_price.map(|price| price.rounded_cost(billed))
    }
}

impl ClaimedBatch {
    /// Stores outcomes; returns how many were new. This node makes the first callbacks that get a
    /// slot: their rows are claimed as they are written.
    pub(crate) async fn store_outcomes(
        &self,
        finished: Vec<FinishedCargo>,
        now: Timestamp,
    ) -> Result<usize, store::Error> {
        store(self, Some(&self.deps.callback_slots), finished, now).await
    }

    /// Stores the outcomes of cargo that fails before a provider has it. Deliver finds the
    /// callbacks.
    pub(crate) async fn store_failures(
        &self,
        failed: Vec<FinishedCargo>,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        store(self, None, failed, now).await?;
        Ok(())
    }
}

/// Stores outcomes in groups. A group with an outcome that cannot be stored is split until that
/// outcome is alone: its cargo fails, and the other outcomes are stored.
async fn store(
    claimed: &ClaimedBatch,
    slots: Option<&CallbackSlots>,
    finished: Vec<FinishedCargo>,
    now: Timestamp,
) -> Result<usize, store::Error> {
    let write = async |group: &[FinishedCargo]| write_group(claimed, slots, group, now).await;
    let (mut stored, mut unstorable) = (0, None);
    let mut groups: Vec<&[FinishedCargo]> = finished
        .chunks(MAX_OUTCOMES_PER_TRANSACTION)
        .rev()
        .collect();
    while let Some(group) = groups.pop() {
        match (write(group).await, group) {
            (Ok(written), _) => stored += written,
            (Err(failure), [one]) if failure.is_data_error() => {
                report_unstorable(claimed.batch.id, one, &failure);
                let failure = FailureCode::ResultNotStored.with_message(UNSTORABLE_MESSAGE);
                let failed = FinishedCargo::failed(one.open_cargo.clone(), failure);
                match write(&[failed]).await {
                    Ok(written) => stored += written,
                    Err(failure) if failure.is_data_error() => unstorable = Some(failure),
                    Err(failure) => return Err(failure),
                }
            }
            (Err(failure), group) if failure.is_data_error() => {
                let (first, second) = group.split_at(group.len() / 2);
                groups.extend([second, first]);
            }
            (Err(failure), _) => return Err(failure),
        }
    }
    unstorable.map_or(Ok(stored), Err)
}

/// The log never contains the outcome.
fn report_unstorable(batch: BatchId, one: &FinishedCargo, failure: &store::Error) {
    let cargo = one.open_cargo.cargo;
    let trace_id = one.open_cargo.trace;
    let trace_id = trace_id.map(|it| tracing::field::display(it.trace));
    tracing::error!(batch.id = %batch, cargo.id = %cargo, trace_id, failure = failure.diagnosis(), "an outcome could not be stored: its cargo fails");
    metrics::counter!("longshore_outcomes_unprocessable_total", "reason" => "unstorable")
        .increment(1);
}

/// Writes a whole group or nothing.
async fn write_group(
    claimed: &ClaimedBatch,
    slots: Option<&CallbackSlots>,
    group: &[FinishedCargo],
    now: Timestamp,
) -> Result<usize, store::Error> {
    let (claim, state) = (claimed.claim, ExpectedCargoState::InBatch(claimed.batch.id));
    let (rows, pending) = prepare_group(group, claim, slots, now)?;
    let written = outcome::record(claimed.shard(), state, claim, rows, now).await;
    let written: HashSet<CargoId> = match written {
        Ok(written) => written.into_iter().collect(),
        Err(failure) => {
            if let Some(slots) = slots {
                slots.abandon(pending, now);
            }
            return Err(failure);
        }
    };
    claimed.trace_outcomes(list_ended(group, &written), now);
    if let Some(slots) = slots {
        slots.hand_over(pending, &written, now);
    }
    Ok(written.len())
}

fn list_ended<'a>(
    group: &'a [FinishedCargo],
    written: &HashSet<CargoId>,
) -> impl Iterator<Item = EndedCargo<'a>> {
    let is_written = move |one: &&FinishedCargo| written.contains(&one.open_cargo.cargo);
    group.iter().filter(is_written).map(|one| EndedCargo {
        open_cargo: &one.open_cargo,
        failure_code: one.outcome.failure_code(),
    })
}

fn prepare_group(
    finished: &[FinishedCargo],
    claim: Claim,
    slots: Option<&CallbackSlots>,
    now: Timestamp,
) -> Result<(Vec<NewOutcome>, Vec<PendingCallback>), store::Error> {
    let mut rows = Vec::with_capacity(finished.len());
    let mut pending = Vec::new();
    for one in finished {
        let FinishedCargo {
            open_cargo: head,
            outcome,
            realtime_price: realtime,
            ..
        } = one;
        let failure_code = outcome.failure_code();
        let success = failure_code.is_none();
        let plain = encode_outcome(outcome)?;
        let destination = head.callback.as_ref().map(|(_, host)| Destination {
            organization: head.organization,
            host: host.clone(),
        });
        let reserved = match (slots, &destination) {
            (Some(slots), Some(destination)) => slots.reserve(destination, plain.len(), now),
            _ => false,
        };
        if let (true, Some((url, _)), Some(destination)) = (reserved, &head.callback, destination) {
            let code = failure_code.map(FailureCode::as_str);
            let names = PayloadNames::default();
            let payload = PendingCallback::encode_payload(head.cargo, success, code, &plain, names);
            pending.push(PendingCallback {
                cargo: head.cargo,
                group: None,
                project: head.project,
                destination,
                url: url.clone(),
                number: 1,
                is_resend: false,
                due_at: now,
                claim,
                bytes: plain.len(),
                lacks_names: head.group.is_some(),
                payload,
                trace: head.trace,
            });
        }
        rows.push(NewOutcome {
            cargo: head.cargo,
            project: head.project,
            attempt: head.attempt,
            success,
            failure_code,
            body: body::pack(&plain),
            usage: one.usage.unwrap_or_default(),
            cost: one.cost(),
            served: one.served,
            realtime: *realtime,
            claim_delivery: reserved,
        });
    }
    Ok((rows, pending))
}

/// Encodes an outcome for storage: the response as JSON, or the text of the error.
fn encode_outcome(outcome: &Outcome) -> Result<Vec<u8>, store::Error> {
    match outcome {
        Outcome::Success(completion) => {
            serde_json::to_vec(completion).map_err(|_| store::Error::Corrupt {
                table: "outcome",
                column: "body",
            })
        }
        Outcome::Failure(failure) => Ok(failure.message.clone().into_bytes()),
    }
}
