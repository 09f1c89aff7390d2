//! Outcomes into rows, and those with a callback onto the deliverer's desk.

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

use crate::desk::{Desk, Parcel};

/// The most outcomes in one transaction.
const MOST: usize = 1000;

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
/// With a desk, first callbacks for which there is room are made by this node: their
/// rows are claimed as they are written, and no other claim is needed.
pub(crate) async fn store(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    desk: Option<&Desk>,
    mut finished: Vec<Finished>,
    now: Timestamp,
) -> Result<usize, store::Error> {
    let mut stored = 0;
    while !finished.is_empty() {
        let rest = finished.split_off(finished.len().min(MOST));
        let (rows, parcels) = prepare(finished, desk)?;
        let written = outcome::record(shard, Standing::InBatch(batch), claim, rows, now).await;
        match (written, desk) {
            (Ok(written), Some(desk)) => {
                stored += written.len();
                desk.hand_over(parcels, &written.into_iter().collect::<HashSet<CargoId>>());
            }
            (Ok(written), None) => stored += written.len(),
            (Err(failure), Some(desk)) => {
                desk.hand_over(parcels, &HashSet::new());
                return Err(failure);
            }
            (Err(failure), None) => return Err(failure),
        }
        finished = rest;
    }
    Ok(stored)
}

fn prepare(
    finished: Vec<Finished>,
    desk: Option<&Desk>,
) -> Result<(Vec<NewOutcome>, Vec<Parcel>), store::Error> {
    let mut rows = Vec::with_capacity(finished.len());
    let mut parcels = Vec::new();
    for one in finished {
        let Finished {
            head,
            outcome,
            realtime,
        } = one;
        let (success, usage) = (outcome.is_success(), outcome.usage());
        let plain = plain(&outcome)?;
        let destination = head.callback.as_ref().map(|(_, host)| Destination {
            organization: head.organization,
            host: host.clone(),
        });
        let reserved = match (desk, &destination) {
            (Some(desk), Some(destination)) => desk.reserve(destination),
            _ => false,
        };
        if let (true, Some((url, _)), Some(destination)) = (reserved, head.callback, destination) {
            let payload = payload(head.cargo, success, &plain);
            parcels.push(Parcel {
                cargo: head.cargo,
                destination,
                url,
                number: 1,
                is_resend: false,
                payload,
            });
        }
        rows.push(NewOutcome {
            cargo: head.cargo,
            attempt: head.attempt,
            success,
            body: body::pack(&plain),
            usage,
            realtime,
            claim_delivery: reserved,
        });
    }
    Ok((rows, parcels))
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
