//! Bounds the bytes of unpacked requests in memory, over all tasks of a stage.

use std::collections::VecDeque;
use std::sync::Arc;

use outbound::provider::BatchItem;
use store::shard::manifest::OpenCargo;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::outcome_writer::FinishedCargo;
use crate::stored_requests::StoredRequest;

/// For all tasks together. A request and its answer are in memory several times.
const MAX_UNPACKED_BYTES: usize = 32 << 20;
/// For one group, so that several tasks can run at once.
const MAX_GROUP_BYTES: usize = 8 << 20;
const BYTES_PER_PERMIT: usize = 1 << 10;

#[derive(Debug, Clone)]
pub(crate) struct ByteBudget(Arc<Semaphore>);

/// Unpacked requests, and the memory that they may take.
#[derive(Debug)]
pub(crate) struct UnpackedGroup {
    pub(crate) open: Vec<(BatchItem, OpenCargo)>,
    /// Cargo whose requests cannot be read.
    pub(crate) failed: Vec<FinishedCargo>,
    /// Released when the group is done.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

impl Default for ByteBudget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(
            MAX_UNPACKED_BYTES / BYTES_PER_PERMIT,
        )))
    }
}

impl ByteBudget {
    /// Unpacks the first requests: at least one, at most `most`, and no more bytes than a group may
    /// have. Waits until the budget allows them.
    pub(crate) async fn unpack(
        &self,
        stored: &mut VecDeque<StoredRequest>,
        most: usize,
    ) -> UnpackedGroup {
        let (mut count, mut bytes) = (0, 0);
        for request in stored.iter().take(most) {
            let larger = bytes + request.unpacked_len();
            if count > 0 && larger > MAX_GROUP_BYTES {
                break;
            }
            (count, bytes) = (count + 1, larger);
        }
        let permits = (bytes.min(MAX_UNPACKED_BYTES) / BYTES_PER_PERMIT).max(1);
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let permit = self.0.clone().acquire_many_owned(permits).await.ok();
        let mut group = UnpackedGroup {
            open: Vec::with_capacity(count),
            failed: Vec::new(),
            permit,
        };
        for request in stored.drain(..count) {
            match request.unpack() {
                Ok(unpacked) => group.open.push(unpacked),
                Err(failed) => group.failed.push(*failed),
            }
        }
        group
    }
}

#[cfg(test)]
mod tests {
    use domain::id::{ApiKeyId, Berth, CargoId, OrganizationId, ProjectId};
    use domain::response_shape::ResponseShape;
    use domain::time::Timestamp;
    use store::body;

    use futures::FutureExt as _;

    use super::*;

    fn request(bytes: usize) -> StoredRequest {
        let (now, berth) = (Timestamp::UNIX_EPOCH, Berth::new(0).unwrap());
        let head = OpenCargo {
            cargo: CargoId::new(now, berth, 1),
            attempt: 1,
            loaded_at: now,
            organization: OrganizationId::new(now, berth, 2),
            project: ProjectId::new(now, berth, 3),
            key: ApiKeyId::new(now, berth, 4),
            model: "mock".to_owned(),
            callback: None,
            shape: ResponseShape::default(),
            deadline_at: now,
            queued_at: now,
            trace: None,
            group: None,
            is_cancel_requested: false,
        };
        StoredRequest::new(head, body::pack(&vec![b' '; bytes]))
    }

    #[tokio::test]
    async fn h4_a_group_is_bounded_by_bytes_as_they_are_unpacked() {
        let budget = ByteBudget::default();
        let sizes = [9 << 20, 9 << 20, 1 << 20, 2 << 20, 6 << 20, 10];
        let mut stored: VecDeque<_> = sizes.into_iter().map(request).collect();
        let mut groups = Vec::new();
        while !stored.is_empty() {
            let before = stored.len();
            let group = budget.unpack(&mut stored, 1000).await;
            // None of them can be read, so each fails.
            assert_eq!(group.failed.len(), before - stored.len());
            groups.push(group.failed.len());
        }
        assert_eq!(groups, [1, 1, 2, 2]);
    }

    #[tokio::test]
    async fn h4_who_finds_no_memory_waits_for_it() {
        let budget = ByteBudget::default();
        let mut held = Vec::new();
        for _ in 0..3 {
            let mut stored = VecDeque::from([request(9 << 20)]);
            held.push(budget.unpack(&mut stored, 1).await);
        }
        let mut stored = VecDeque::from([request(9 << 20)]);
        let mut waiting = std::pin::pin!(budget.unpack(&mut stored, 1));
        assert!((&mut waiting).now_or_never().is_none());
        held.clear();
        assert!((&mut waiting).now_or_never().is_some());
    }
}
