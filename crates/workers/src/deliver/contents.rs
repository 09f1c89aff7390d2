//! What a claimed delivery sends: the outcome of a cargo, or the completion of a group.

use std::collections::HashMap;

use bytes::Bytes;
use domain::id::{CargoId, GroupId, ProjectId};
use domain::trace_context::TraceContext;
use store::Shard;
use store::shard::delivery::{self, StoredCallback};
use store::shard::group::{self, StoredGroupCallback};
use wire::group::{GROUP_COMPLETED, GroupCallbackBody};
use wire::timestamp::WireTimestamp;
use wire::tracking::raw_json;

use crate::callback_slots::{PayloadNames, PendingCallback};

/// What the payload of a group needs besides its metadata, at most: names have 128 bytes.
const MAX_GROUP_FIELDS_BYTES: usize = 512;

/// The contents of a delivery as they are stored.
#[derive(Debug)]
pub(super) enum CallbackContents {
    Outcome(StoredCallback),
    Group(GroupId, StoredGroupCallback),
}

/// A callback that is ready to be signed and sent.
pub(super) struct UnpackedCallback {
    pub(super) group: Option<GroupId>,
    pub(super) project: ProjectId,
    pub(super) url: String,
    pub(super) payload: Bytes,
    pub(super) trace: Option<TraceContext>,
}

/// The contents of some deliveries. Most are of cargo, so groups are looked up for the rest only.
pub(super) async fn read(
    shard: &Shard,
    deliveries: &[CargoId],
) -> Result<HashMap<CargoId, CallbackContents>, store::Error> {
    let outcomes = delivery::read_callbacks(shard, deliveries).await?;
    let others = deliveries.iter().copied();
    let others: Vec<CargoId> = others.filter(|id| !outcomes.contains_key(id)).collect();
    let mut contents: HashMap<CargoId, CallbackContents> = outcomes
        .into_iter()
        .map(|(id, stored)| (id, CallbackContents::Outcome(stored)))
        .collect();
    if !others.is_empty() {
        let groups = group::read_callbacks(shard, &others).await?;
        contents.extend(groups.into_iter().map(|(id, stored)| {
            let group = GroupId::from(id.uuid());
            (id, CallbackContents::Group(group, stored))
        }));
    }
    Ok(contents)
}

impl CallbackContents {
    pub(super) const fn project(&self) -> ProjectId {
        match self {
            Self::Outcome(stored) => stored.project,
            Self::Group(_, stored) => stored.project,
        }
    }

    /// The group whose callback it is.
    pub(super) const fn group(&self) -> Option<GroupId> {
        match self {
            Self::Outcome(_) => None,
            Self::Group(group, _) => Some(*group),
        }
    }

    pub(super) const fn lacks_key(&self) -> bool {
        match self {
            Self::Outcome(stored) => stored.lacks_key,
            Self::Group(_, stored) => stored.lacks_key,
        }
    }

    /// None: the row is corrupt.
    pub(super) fn unpacked_size(&self) -> Option<usize> {
        match self {
            Self::Outcome(stored) => stored.unpacked_size,
            Self::Group(_, stored) => {
                let metadata = stored.group.as_ref()?.metadata.as_ref();
                Some(metadata.map_or(0, Vec::len) + MAX_GROUP_FIELDS_BYTES)
            }
        }
    }

    /// Whether the body has yet to be read.
    pub(super) const fn lacks_body(&self) -> bool {
        match self {
            Self::Outcome(stored) => stored.lacks_body(),
            Self::Group(..) => false,
        }
    }

    pub(super) fn set_body(&mut self, body: Vec<u8>) {
        match self {
            Self::Outcome(stored) => stored.set_body(body),
            Self::Group(..) => {}
        }
    }

    /// None: the row is corrupt. `cargo` is the id of the delivery.
    pub(super) fn unpack(self, cargo: CargoId) -> Option<UnpackedCallback> {
        match self {
            Self::Outcome(stored) => unpack_outcome(cargo, stored),
            Self::Group(id, stored) => unpack_group(id, stored),
        }
    }
}

fn unpack_outcome(cargo: CargoId, mut stored: StoredCallback) -> Option<UnpackedCallback> {
    let (project, success, group) = (stored.project, stored.success, stored.group);
    let (url, trace) = (std::mem::take(&mut stored.url), stored.trace);
    let (code, metadata) = (stored.failure_code.take(), stored.metadata.take());
    let custom_id = stored.custom_id.take();
    let plain = stored.unpack().ok()?;
    let names = PayloadNames {
        group,
        custom_id: custom_id.as_deref(),
        metadata: metadata.as_deref(),
    };
    let payload = PendingCallback::encode_payload(cargo, success, code.as_deref(), &plain, names);
    Some(UnpackedCallback {
        group: None,
        project,
        url,
        payload,
        trace,
    })
}

/// Every attempt sends the same bytes, because a completed group does not change.
fn unpack_group(id: GroupId, stored: StoredGroupCallback) -> Option<UnpackedCallback> {
    let group = stored.group?;
    let body = GroupCallbackBody {
        event: GROUP_COMPLETED,
        group_id: id.to_string(),
        status: group.status().into(),
        name: group.name,
        completed_at: WireTimestamp(group.times.completed_at?),
        counts: group.counts.into(),
        metadata: group.metadata.and_then(raw_json),
    };
    Some(UnpackedCallback {
        group: Some(id),
        project: stored.project,
        url: group.callback_url?,
        payload: Bytes::from(body.encode()),
        trace: None,
    })
}
