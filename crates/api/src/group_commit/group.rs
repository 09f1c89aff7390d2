//! A group of loads. If the database rejects it, it is split in halves to find the bad load.

use std::collections::HashSet;
use std::time::Instant;

use domain::id::OrganizationId;
use store::Shard;

use crate::group_commit::transaction::{self, GroupWriteResult, WriteMode};
use crate::group_commit::write_turn::WriteTurn;
use crate::group_commit::{QueueSender, QueuedLoad, StoreLoadError, StoreLoadResult, StoredLoad};

/// The largest group, by loads and by bytes.
pub(super) const MAX_GROUP_LOADS: usize = 512;
const MAX_GROUP_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct LoadGroup {
    loads: Vec<QueuedLoad>,
    max_loads: usize,
    bytes: usize,
}

impl LoadGroup {
    pub(super) const fn with_limit(max_loads: usize) -> Self {
        Self {
            loads: Vec::new(),
            max_loads,
            bytes: 0,
        }
    }

    pub(super) fn push(&mut self, mut next: QueuedLoad) {
        next.ticket.begin();
        self.bytes += next.load.request.bytes.len();
        self.loads.push(next);
    }

    pub(super) const fn is_full(&self) -> bool {
        self.loads.len() >= self.max_loads || self.bytes >= MAX_GROUP_BYTES
    }

    pub(super) fn size(&self) -> u32 {
        u32::try_from(self.loads.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn organizations(&self) -> HashSet<OrganizationId> {
        let loads = self.loads.iter();
        loads
            .map(|queued| queued.load.caller.organization)
            .collect()
    }

    #[cfg(test)]
    pub(super) fn models(&self) -> Vec<&str> {
        let loads = self.loads.iter();
        loads.map(|queued| queued.load.model.as_str()).collect()
    }

    /// When its oldest load was queued.
    pub(super) fn oldest(&self) -> Instant {
        let first = self.loads.first();
        first.map_or_else(Instant::now, |queued| queued.ticket.queued_at)
    }

    /// Writes the group and answers every load. Returns how many loads the database decided.
    pub(super) async fn write(
        self,
        shard: &Shard,
        blocked: Option<&QueueSender>,
        mode: WriteMode,
        mut turn: WriteTurn,
    ) -> u32 {
        let mut answered = 0;
        let mut groups = vec![self.loads];
        while let Some(mut group) = groups.pop() {
            let loads: Vec<_> = group.iter().map(|queued| &queued.load).collect();
            match transaction::write(shard, &loads, mode, &mut turn).await {
                GroupWriteResult::Answers(answers) => {
                    for (queued, answer) in group.into_iter().zip(answers) {
                        match (answer, blocked) {
                            (Some(answer), _) => {
                                answered += 1;
                                send_reply(queued, answer);
                            }
                            // Another node has locked its account.
                            (None, Some(blocked)) => move_to_blocked(queued, blocked),
                            (None, None) => send_reply(queued, Err(StoreLoadError::Unavailable)),
                        }
                    }
                }
                GroupWriteResult::Unavailable => {
                    for queued in group {
                        send_reply(queued, Err(StoreLoadError::Unavailable));
                    }
                }
                GroupWriteResult::Rejected(text) if group.len() == 1 => {
                    for queued in group {
                        send_reply(queued, Err(StoreLoadError::Failed(text.clone())));
                    }
                }
                GroupWriteResult::Rejected(_) => {
                    let second = group.split_off(group.len() / 2);
                    groups.push(second);
                    groups.push(group);
                }
            }
        }
        answered
    }
}

/// Moves a load to the queue of loads whose account is locked. That queue is bounded, so one
/// account's loads never stop the writer of the others.
fn move_to_blocked(mut queued: QueuedLoad, blocked: &QueueSender) {
    match blocked.admission.transfer(&queued.ticket) {
        Ok(ticket) => queued.ticket = ticket,
        Err(overload) => return send_reply(queued, Err(overload.into())),
    }
    if let Err(unsent) = blocked.sender.try_send(queued) {
        send_reply(unsent.into_inner(), Err(StoreLoadError::Unavailable));
    }
}

fn send_reply(queued: QueuedLoad, answer: StoreLoadResult) {
    // Before the answer, so that a caller that retries at once finds the bucket up to date.
    match answer {
        Ok(StoredLoad::New(_)) => queued.token.spend(),
        Ok(StoredLoad::Replay(_)) | Err(_) => drop(queued.token),
    }
    // The caller may have disconnected. The load is stored all the same.
    let _ = queued.reply.send(answer);
}
