//! Claims due deliveries, then reads and unpacks their payloads as memory allows.

use chrono::TimeDelta;
use domain::batch::MAX_TAKEOVERS;
use domain::id::CargoId;
use domain::time::Timestamp;
use store::shard::delivery::{self, ClaimedDelivery};
use store::shard::node::Claim;
use tokio_util::sync::CancellationToken;

use super::contents::CallbackContents;
use super::send::FinishedCallback;
use super::{DeliverStage, contents};
use crate::callback_slots::PendingCallback;

/// When a callback is tried again whose data key is unavailable.
const KEY_RETRY_DELAY: TimeDelta = TimeDelta::seconds(15);

/// Why an attempt ends without a POST.
#[derive(Debug, Clone, Copy)]
pub(super) struct NotSentReason {
    /// In the metric and the log.
    label: &'static str,
    /// In the attempt.
    error: &'static str,
}

const INTERRUPTED_REASON: NotSentReason = NotSentReason {
    label: "interrupted",
    error: "not sent: workers stopped too often during earlier attempts",
};
const UNREADABLE_REASON: NotSentReason = NotSentReason {
    label: "unreadable",
    error: "not sent: the stored outcome cannot be read",
};

pub(super) const ROOT_MISSING_REASON: NotSentReason = NotSentReason {
    label: "signing_root_missing",
    error: "not sent: signing is on, but the worker has no signing root",
};

/// A claimed delivery that has its slot and is not sent yet.
#[derive(Debug)]
pub(super) struct UnsentDelivery {
    delivery: ClaimedDelivery,
    claim: Claim,
    lease: CancellationToken,
    /// Read by a second statement, which takes no locks.
    stored: Option<CallbackContents>,
    /// How many bytes of the payload budget it holds.
    bytes: usize,
}

impl UnsentDelivery {
    /// Whether another worker has this attempt now.
    fn is_lost(&self, current: Claim) -> bool {
        self.claim != current || self.lease.is_cancelled()
    }

    fn lacks_key(&self) -> bool {
        let stored = self.stored.as_ref();
        stored.is_some_and(CallbackContents::lacks_key)
    }
}

impl DeliverStage {
    /// Claims due deliveries, as many as there are free slots.
    pub(super) async fn claim_due(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let (claim, lease) = self.lease.claim_and_token();
        if lease.is_cancelled() {
            return Ok(());
        }
        let turns = self.queue.next_quotas(&self.slots, now);
        if turns.is_empty() {
            return Ok(());
        }
        let claimed = match delivery::claim(&self.shard, claim, &turns, now).await {
            Ok(claimed) => claimed,
            Err(failure) => {
                self.queue.restore(turns, &self.slots);
                self.slots.mark_claims_in_doubt();
                return Err(failure);
            }
        };
        // First, because it decides how many slots the destinations have left.
        for delivery in &claimed {
            self.slots.take(delivery.cargo, &delivery.destination, now);
        }
        self.queue.apply_claim(turns, &claimed, &self.slots);
        self.unsent
            .extend(claimed.into_iter().map(|delivery| UnsentDelivery {
                delivery,
                claim,
                lease: lease.clone(),
                stored: None,
                bytes: 0,
            }));
        Ok(())
    }

    /// Sends the claimed deliveries that fit into memory; returns how many.
    pub(super) async fn send_claimed(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        if self.unsent.is_empty() {
            return Ok(0);
        }
        self.drop_lost(now);
        self.read_contents(now).await?;
        self.postpone_without_key(now).await?;
        let (mut chosen, mut waiting, mut ended) = (Vec::new(), Vec::new(), 0);
        for unsent in std::mem::take(&mut self.unsent) {
            let size = unsent
                .stored
                .as_ref()
                .and_then(CallbackContents::unpacked_size);
            let reason = match size {
                _ if unsent.delivery.takeovers >= MAX_TAKEOVERS => INTERRUPTED_REASON,
                None => UNREADABLE_REASON,
                Some(size) if self.slots.reserve_bytes(&unsent.delivery.destination, size) => {
                    chosen.push(UnsentDelivery {
                        bytes: size,
                        ..unsent
                    });
                    continue;
                }
                Some(_) => {
                    waiting.push(unsent);
                    continue;
                }
            };
            ended += 1;
            self.skip_attempt(unsent, reason, now);
        }
        self.unsent = waiting;
        self.read_bodies(&mut chosen).await?;
        ended += chosen.len();
        for unsent in chosen {
            self.unpack(unsent, now);
        }
        Ok(ended)
    }

    fn drop_lost(&mut self, now: Timestamp) {
        let current = self.lease.claim();
        let unsent = std::mem::take(&mut self.unsent).into_iter();
        let (lost, kept): (Vec<_>, Vec<_>) = unsent.partition(|it| it.is_lost(current));
        self.unsent = kept;
        for UnsentDelivery { delivery, .. } in lost {
            self.slots.release(&delivery.destination, 0, None, now);
            self.slots.forget([delivery.cargo]);
        }
    }

    /// Callbacks whose data key is unavailable wait, and hold no slot meanwhile. That is no attempt.
    async fn postpone_without_key(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let unsent = std::mem::take(&mut self.unsent).into_iter();
        let (waiting, kept): (Vec<_>, Vec<_>) = unsent.partition(UnsentDelivery::lacks_key);
        self.unsent = kept;
        if waiting.is_empty() {
            return Ok(());
        }
        let cargo: Vec<_> = waiting.iter().map(|it| it.delivery.cargo).collect();
        let (claim, due_at) = (self.lease.claim(), now + KEY_RETRY_DELAY);
        if let Err(failure) = delivery::postpone(&self.shard, claim, &cargo, due_at).await {
            self.unsent.extend(waiting);
            return Err(failure);
        }
        let count = waiting.len();
        tracing::warn!(shard = %self.shard.name, count, "callbacks wait because the data key of their project is unavailable");
        metrics::counter!("longshore_data_key_unavailable_total", "operation" => "callback")
            .increment(count as u64);
        for UnsentDelivery { delivery, .. } in waiting {
            self.slots.release(&delivery.destination, 0, None, now);
            self.slots.forget([delivery.cargo]);
        }
        Ok(())
    }

    async fn read_contents(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let unread = self.unsent.iter().filter(|it| it.stored.is_none());
        let cargo: Vec<_> = unread.map(|it| it.delivery.cargo).collect();
        if !cargo.is_empty() {
            let mut contents = contents::read(&self.shard, &cargo).await?;
            for unsent in &mut self.unsent {
                if unsent.stored.is_none() {
                    unsent.stored = contents.remove(&unsent.delivery.cargo);
                }
            }
        }
        let stored = self.unsent.iter().filter_map(|it| it.stored.as_ref());
        let projects = stored.map(CallbackContents::project);
        let settings = &mut self.project_settings;
        settings.refresh(&self.shard, projects, now).await
    }

    /// Reads the payload of a callback that was handed over again, now with its metadata.
    pub(super) fn read_again(&mut self, callback: PendingCallback, lease: CancellationToken) {
        self.slots
            .release_bytes(&callback.destination, callback.bytes);
        self.unsent.push(UnsentDelivery {
            claim: callback.claim,
            delivery: ClaimedDelivery {
                cargo: callback.cargo,
                destination: callback.destination,
                due_at: callback.due_at,
                number: callback.number,
                takeovers: 0,
                is_resend: callback.is_resend,
            },
            lease,
            stored: None,
            bytes: 0,
        });
    }

    /// Reads the long bodies of the deliveries to send now. Their memory is reserved.
    async fn read_bodies(&mut self, chosen: &mut Vec<UnsentDelivery>) -> Result<(), store::Error> {
        let lacks_body = |unsent: &UnsentDelivery| {
            let stored = unsent.stored.as_ref();
            stored.is_some_and(CallbackContents::lacks_body)
        };
        let long = chosen.iter().filter(|unsent| lacks_body(unsent));
        let cargo: Vec<_> = long.map(|unsent| unsent.delivery.cargo).collect();
        if cargo.is_empty() {
            return Ok(());
        }
        let mut bodies = match delivery::read_bodies(&self.shard, &cargo).await {
            Ok(bodies) => bodies,
            Err(failure) => {
                for unsent in chosen.drain(..) {
                    let to = &unsent.delivery.destination;
                    self.slots.release_bytes(to, unsent.bytes);
                    self.unsent.push(UnsentDelivery { bytes: 0, ..unsent });
                }
                return Err(failure);
            }
        };
        for unsent in chosen {
            if let (Some(stored), Some(body)) =
                (&mut unsent.stored, bodies.remove(&unsent.delivery.cargo))
            {
                stored.set_body(body);
            }
        }
        Ok(())
    }

    fn unpack(&self, mut unsent: UnsentDelivery, now: Timestamp) {
        let (cargo, bytes) = (unsent.delivery.cargo, unsent.bytes);
        let stored = unsent.stored.take();
        let Some(unpacked) = stored.and_then(|stored| stored.unpack(cargo)) else {
            self.slots
                .release_bytes(&unsent.delivery.destination, bytes);
            self.skip_attempt(unsent, UNREADABLE_REASON, now);
            return;
        };
        let delivery = unsent.delivery;
        let callback = PendingCallback {
            cargo,
            group: unpacked.group,
            project: unpacked.project,
            destination: delivery.destination,
            url: unpacked.url,
            number: delivery.number,
            is_resend: delivery.is_resend,
            due_at: delivery.due_at,
            claim: unsent.claim,
            bytes,
            lacks_names: false,
            payload: unpacked.payload,
            trace: unpacked.trace,
        };
        self.start(callback, unsent.lease, now);
    }

    /// Ends an attempt without a POST. It counts as failed, and the retry schedule continues.
    fn skip_attempt(&self, unsent: UnsentDelivery, reason: NotSentReason, now: Timestamp) {
        let UnsentDelivery {
            delivery,
            claim,
            stored,
            ..
        } = unsent;
        let group = stored.as_ref().and_then(CallbackContents::group);
        let error = self.report_unsent(delivery.cargo, reason);
        let finished = FinishedCallback::not_sent(delivery, group, claim, error, now);
        self.sender.skip(finished);
    }

    /// Returns the error for the attempt.
    pub(super) fn report_unsent(&self, cargo: CargoId, reason: NotSentReason) -> &'static str {
        let NotSentReason { label, error } = reason;
        tracing::warn!(shard = %self.shard.name, cargo.id = %cargo, reason = label, "a callback attempt was not sent and counts as failed");
        metrics::counter!("longshore_callback_attempt_errors_total", "reason" => label)
            .increment(1);
        error
    }
}
