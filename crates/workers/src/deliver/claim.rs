//! From due rows to POSTs: claimed by id first, then read and unpacked as memory allows.

use domain::batch::MOST_TAKEOVERS;
use domain::time::Timestamp;
use store::shard::delivery::{self, ClaimedDelivery, StoredCallback};
use store::shard::node::Claim;
use tokio_util::sync::CancellationToken;

use super::Deliver;
use super::send::Finished;
use crate::callback_slots::PendingCallback;
use crate::storing;

/// Why an attempt ends without a POST: for metrics, and for the caller.
const INTERRUPTED: (&str, &str) = (
    "interrupted",
    "set aside: its attempts were interrupted too often",
);
const UNREADABLE: (&str, &str) = ("unreadable", "set aside: the stored outcome cannot be read");

/// A claimed delivery that has its slot and is not sent yet.
#[derive(Debug)]
pub(super) struct Unsent {
    delivery: ClaimedDelivery,
    claim: Claim,
    lease: CancellationToken,
    /// Read in a second statement, which locks nothing.
    stored: Option<StoredCallback>,
}

impl Unsent {
    /// Whether another worker makes this attempt.
    fn is_lost(&self, current: Claim) -> bool {
        self.claim != current || self.lease.is_cancelled()
    }
}

impl Deliver {
    /// Claims what is due, within the free slots.
    pub(super) async fn claim(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let (lease, claim) = (self.lease.token(), self.lease.claim());
        if lease.is_cancelled() {
            return Ok(());
        }
        let turns = self.queue.turns(&self.slots, now);
        if turns.is_empty() {
            return Ok(());
        }
        let claimed = match delivery::claim(&self.shard, claim, &turns, now).await {
            Ok(claimed) => claimed,
            Err(failure) => {
                self.queue.restore(turns, &self.slots);
                self.slots.doubt_claims();
                return Err(failure);
            }
        };
        // First, because it decides what the destinations may still take.
        for delivery in &claimed {
            self.slots.take(delivery.cargo, &delivery.destination, now);
        }
        self.queue.settle(turns, &claimed, &self.slots);
        self.unsent
            .extend(claimed.into_iter().map(|delivery| Unsent {
                delivery,
                claim,
                lease: lease.clone(),
                stored: None,
            }));
        Ok(())
    }

    /// Sends what was claimed and fits into memory; returns how many.
    pub(super) async fn send_claimed(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        if self.unsent.is_empty() {
            return Ok(0);
        }
        self.drop_lost(now);
        self.read_contents().await?;
        let (mut chosen, mut waiting, mut ended) = (Vec::new(), Vec::new(), 0);
        for unsent in std::mem::take(&mut self.unsent) {
            let size = unsent.stored.as_ref().and_then(|it| it.unpacked_size);
            let reason = match size {
                _ if unsent.delivery.takeovers >= MOST_TAKEOVERS => INTERRUPTED,
                None => UNREADABLE,
                Some(size) if self.slots.reserve_bytes(&unsent.delivery.destination, size) => {
                    chosen.push((unsent, size));
                    continue;
                }
                Some(_) => {
                    waiting.push(unsent);
                    continue;
                }
            };
            ended += 1;
            self.set_aside(unsent.delivery, unsent.claim, reason, now);
        }
        self.unsent = waiting;
        self.read_bodies(&mut chosen).await?;
        ended += chosen.len();
        for (unsent, bytes) in chosen {
            self.unpack(unsent, bytes, now);
        }
        Ok(ended)
    }

    fn drop_lost(&mut self, now: Timestamp) {
        let current = self.lease.claim();
        let unsent = std::mem::take(&mut self.unsent).into_iter();
        let (lost, kept): (Vec<_>, Vec<_>) = unsent.partition(|it| it.is_lost(current));
        self.unsent = kept;
        for Unsent { delivery, .. } in lost {
            self.slots.release(&delivery.destination, 0, None, now);
            self.slots.forget([delivery.cargo]);
        }
    }

    async fn read_contents(&mut self) -> Result<(), store::Error> {
        let unread = self.unsent.iter().filter(|it| it.stored.is_none());
        let cargo: Vec<_> = unread.map(|it| it.delivery.cargo).collect();
        if cargo.is_empty() {
            return Ok(());
        }
        let mut contents = delivery::contents(&self.shard, &cargo).await?;
        for unsent in &mut self.unsent {
            if unsent.stored.is_none() {
                unsent.stored = contents.remove(&unsent.delivery.cargo);
            }
        }
        Ok(())
    }

    /// Reads the long bodies of what is sent now. Their memory is reserved.
    async fn read_bodies(&mut self, chosen: &mut Vec<(Unsent, usize)>) -> Result<(), store::Error> {
        let lacks_body = |unsent: &Unsent| {
            let stored = unsent.stored.as_ref();
            stored.is_some_and(StoredCallback::lacks_body)
        };
        let long = chosen.iter().filter(|(unsent, _)| lacks_body(unsent));
        let cargo: Vec<_> = long.map(|(unsent, _)| unsent.delivery.cargo).collect();
        if cargo.is_empty() {
            return Ok(());
        }
        let mut bodies = match delivery::bodies(&self.shard, &cargo).await {
            Ok(bodies) => bodies,
            Err(failure) => {
                for (unsent, bytes) in chosen.drain(..) {
                    let to = &unsent.delivery.destination;
                    self.slots.release_bytes(to, bytes);
                    self.unsent.push(unsent);
                }
                return Err(failure);
            }
        };
        for (unsent, _) in chosen {
            if let (Some(stored), Some(body)) =
                (&mut unsent.stored, bodies.remove(&unsent.delivery.cargo))
            {
                stored.set_body(body);
            }
        }
        Ok(())
    }

    fn unpack(&self, unsent: Unsent, bytes: usize, now: Timestamp) {
        let Unsent {
            delivery,
            claim,
            lease,
            stored,
        } = unsent;
        let unpacked = stored.map(|stored| {
            let (url, success) = (stored.url.clone(), stored.success);
            stored.unpack().map(|plain| (url, success, plain))
        });
        let Some(Ok((url, success, plain))) = unpacked else {
            self.slots.release_bytes(&delivery.destination, bytes);
            self.set_aside(delivery, claim, UNREADABLE, now);
            return;
        };
        let payload = storing::payload(delivery.cargo, success, &plain);
        let callback = PendingCallback {
            cargo: delivery.cargo,
            destination: delivery.destination,
            url,
            number: delivery.number,
            is_resend: delivery.is_resend,
            due_at: delivery.due_at,
            claim,
            bytes,
            payload,
        };
        self.start(callback, lease, now);
    }

    /// Ends an attempt without a POST: it counts as failed, and the schedule goes on.
    fn set_aside(
        &self,
        delivery: ClaimedDelivery,
        claim: Claim,
        (reason, text): (&'static str, &'static str),
        now: Timestamp,
    ) {
        let cargo = delivery.cargo;
        tracing::warn!(shard = %self.shard.name, cargo.id = %cargo, reason, "Callback set aside: {cargo}");
        metrics::counter!("callback_set_aside_total", "reason" => reason).increment(1);
        self.sender
            .skip(Finished::set_aside(delivery, claim, text, now));
    }
}
