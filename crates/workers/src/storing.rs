//! Outcomes into rows, and those with a callback to the deliverer.

use std::collections::HashSet;

use bytes::Bytes;
use domain::id::{BatchId, CargoId};
use domain::model::Price;
use domain::outcome::Outcome;
use domain::time::Timestamp;
use store::Shard;
use store::body;
use store::shard::delivery::Destination;
use store::shard::manifest::Head;
use store::shard::node::Claim;
use store::shard::outcome::{self, NewOutcome, Standing};

use crate::callback_slots::{CallbackSlots, PendingCallback};

/// The most outcomes in one transaction.
const MOST: usize = 1000;

/// What a caller is told whose outcome the database does not take.
const UNSTORABLE: &str = "the result could not be stored";

/// What came back, and for whom.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) head: Head,
    pub(crate) outcome: Outcome,
    /// What the model costs in realtime, if that is known.
    pub(crate) realtime: Option<Price>,
}

impl Finished {
    pub(crate) const fn failed(head: Head, why: String) -> Self {
        Self {
            head,
            outcome: Outcome::Failure(why),
            realtime: None,
        }
    }
}

/// Stores what came back for a batch that `claim` holds; returns how much of it was new.
///
/// With slots, first callbacks for which there is one are made by this node: their rows are
/// claimed as they are written, and no other claim is needed. A group with an outcome
/// that cannot be stored is split until that one stands alone: it fails, and the others are stored.
pub(crate) async fn store(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    slots: Option<&CallbackSlots>,
    finished: Vec<Finished>,
    now: Timestamp,
) -> Result<usize, store::Error> {
    let write = async |group: &[Finished]| write(shard, batch, claim, slots, group, now).await;
    let (mut stored, mut unstorable) = (0, None);
    let mut groups: Vec<&[Finished]> = finished.chunks(MOST).rev().collect();
    while let Some(group) = groups.pop() {
        match (write(group).await, group) {
            (Ok(written), _) => stored += written,
            (Err(failure), [one]) if failure.is_about_data() => {
                report(batch, one, &failure);
                let failed = Finished::failed(one.head.clone(), UNSTORABLE.to_owned());
                match write(&[failed]).await {
                    Ok(written) => stored += written,
                    Err(failure) if failure.is_about_data() => unstorable = Some(failure),
                    Err(failure) => return Err(failure),
                }
            }
            (Err(failure), group) if failure.is_about_data() => {
                let (first, second) = group.split_at(group.len() / 2);
                groups.extend([second, first]);
            }
            (Err(failure), _) => return Err(failure),
        }
    }
    unstorable.map_or(Ok(stored), Err)
}

/// Never with what came back in it.
fn report(batch: BatchId, one: &Finished, failure: &store::Error) {
    let cargo = one.head.cargo;
    let cause = std::error::Error::source(failure).map(ToString::to_string);
    tracing::error!(batch.id = %batch, cargo.id = %cargo, %failure, cause, "the outcome of {cargo} cannot be stored: it fails");
    metrics::counter!("outcomes_set_aside_total", "reason" => "unstorable").increment(1);
}

/// All of a group, or nothing.
async fn write(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    slots: Option<&CallbackSlots>,
    group: &[Finished],
    now: Timestamp,
) -> Result<usize, store::Error> {
    let (rows, pending) = prepare(group, claim, slots, now)?;
    let written = outcome::record(shard, Standing::InBatch(batch), claim, rows, now).await;
    match (&written, slots) {
        (Ok(written), Some(slots)) => {
            let written: HashSet<CargoId> = written.iter().copied().collect();
            slots.hand_over(pending, &written, now);
        }
        (Err(_), Some(slots)) => slots.abandon(pending, now),
        (_, None) => {}
    }
    Ok(written?.len())
}

fn prepare(
    finished: &[Finished],
    claim: Claim,
    slots: Option<&CallbackSlots>,
    now: Timestamp,
) -> Result<(Vec<NewOutcome>, Vec<PendingCallback>), store::Error> {
    let mut rows = Vec::with_capacity(finished.len());
    let mut pending = Vec::new();
    for one in finished {
        let Finished {
            head,
            outcome,
            realtime,
        } = one;
        let (success, usage) = (outcome.is_success(), outcome.usage());
        let plain = plain(outcome)?;
        let destination = head.callback.as_ref().map(|(_, host)| Destination {
            organization: head.organization,
            host: host.clone(),
        });
        let reserved = match (slots, &destination) {
            (Some(slots), Some(destination)) => slots.reserve(destination, plain.len(), now),
            _ => false,
        };
        if let (true, Some((url, _)), Some(destination)) = (reserved, &head.callback, destination) {
            let payload = payload(head.cargo, success, &plain);
            pending.push(PendingCallback {
                cargo: head.cargo,
                destination,
                url: url.clone(),
                number: 1,
                is_resend: false,
                due_at: now,
                claim,
                bytes: plain.len(),
                payload,
            });
        }
        rows.push(NewOutcome {
            cargo: head.cargo,
            attempt: head.attempt,
            success,
            body: body::pack(&plain),
            usage,
            realtime: *realtime,
            claim_delivery: reserved,
        });
    }
    Ok((rows, pending))
}

/// The outcome as it is stored: the response as JSON, or the text of the error.
fn plain(outcome: &Outcome) -> Result<Vec<u8>, store::Error> {
    match outcome {
        Outcome::Success(completion) => {
            serde_json::to_vec(completion).map_err(|_| store::Error::Corrupt {
                table: "outcome",
                column: "body",
            })
        }
        Outcome::Failure(text) => Ok(text.clone().into_bytes()),
    }
}

/// What the receiver gets: the same bytes at every attempt.
pub(crate) fn payload(cargo: CargoId, success: bool, plain: &[u8]) -> Bytes {
    let bytes = if success {
        wire::callback::success(cargo, plain)
    } else {
        wire::callback::failure(cargo, &String::from_utf8_lossy(plain))
    };
    Bytes::from(bytes)
}
