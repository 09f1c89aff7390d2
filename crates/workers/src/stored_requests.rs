//! Reads the stored requests of a batch's open items in chunks.

use std::collections::{HashMap, VecDeque};

use domain::id::CargoId;
use domain::params::Params;
use domain::reason_code::FailureCode;
use outbound::provider::BatchItem;
use store::Shard;
use store::body::PackedBody;
use store::shard::manifest::{self, OpenCargo};

use crate::outcome_writer::FinishedCargo;

/// How many requests are read at once.
const MAX_REQUESTS_PER_CHUNK: usize = 500;
/// Fewer requests are read when they are larger than this together, as stored.
const MAX_BYTES_PER_CHUNK: i64 = 8 << 20;

/// Sorts open cargo into the order of their batch.
pub(crate) fn sort_by_batch_order(heads: Vec<OpenCargo>, order: &[CargoId]) -> VecDeque<OpenCargo> {
    let mut open: HashMap<CargoId, OpenCargo> =
        heads.into_iter().map(|head| (head.cargo, head)).collect();
    order.iter().filter_map(|id| open.remove(id)).collect()
}

/// A request as stored: packed.
#[derive(Debug)]
pub(crate) struct StoredRequest {
    open_cargo: OpenCargo,
    packed: PackedBody,
}

impl StoredRequest {
    pub(crate) const fn new(head: OpenCargo, packed: PackedBody) -> Self {
        Self {
            open_cargo: head,
            packed,
        }
    }

    pub(crate) fn unpacked_len(&self) -> usize {
        self.packed.unpacked_len()
    }

    /// Unpacks the request. If it cannot be read, only its cargo fails.
    pub(crate) fn unpack(self) -> Result<(BatchItem, OpenCargo), Box<FinishedCargo>> {
        let request = self.packed.unpack("request");
        match request.and_then(|request| parse_item(&self.open_cargo, &request)) {
            Ok(item) => Ok((item, self.open_cargo)),
            Err(failure) => {
                let cargo = self.open_cargo.cargo;
                tracing::error!(cargo.id = %cargo, %failure, "a stored request cannot be read: its cargo fails");
                let failure = FailureCode::RequestUnreadable
                    .with_message("the stored request cannot be read: load it again");
                Err(Box::new(FinishedCargo::failed(self.open_cargo, failure)))
            }
        }
    }
}

/// Takes the first open cargo with their requests: as many as the byte limit allows, and at least
/// one.
pub(crate) async fn read_chunk(
    shard: &Shard,
    heads: &mut VecDeque<OpenCargo>,
) -> Result<Vec<StoredRequest>, store::Error> {
    let open: Vec<_> = heads
        .iter()
        .take(MAX_REQUESTS_PER_CHUNK)
        .map(|it| (it.cargo, it.project))
        .collect();
    let requests = manifest::read_first_requests(shard, &open, MAX_BYTES_PER_CHUNK).await?;
    let mut chunk = Vec::with_capacity(requests.len());
    for (cargo, packed) in requests {
        let head = heads.pop_front().filter(|head| head.cargo == cargo);
        let head = head.ok_or_else(corrupt_request)?;
        chunk.push(StoredRequest::new(head, packed));
    }
    if chunk.is_empty() && !heads.is_empty() {
        return Err(corrupt_request());
    }
    Ok(chunk)
}

fn parse_item(head: &OpenCargo, request: &[u8]) -> Result<BatchItem, store::Error> {
    Ok(BatchItem {
        cargo: head.cargo,
        attempt: head.attempt,
        loaded_at: head.loaded_at,
        organization: head.organization,
        params: serde_json::from_slice::<Params>(request).map_err(|_| corrupt_request())?,
    })
}

const fn corrupt_request() -> store::Error {
    store::Error::Corrupt {
        table: "request",
        column: "body",
    }
}
