//! The open items of a batch, read from their rows in chunks.

use std::collections::{HashMap, VecDeque};

use domain::id::CargoId;
use domain::params::Params;
use outbound::provider::{Item, Manifest, ManifestFailure};
use store::Shard;
use store::body::{self, Packed};
use store::shard::manifest::{self, Head};

use crate::storing::Finished;

/// Requests that are read at a time.
const AT_ONCE: usize = 500;
/// Fewer, when they are larger than this together: as they are stored, they are in memory.
const BYTES_AT_ONCE: i64 = 8 << 20;

/// Some open items, for the mock.
#[derive(Debug, Default)]
pub(crate) struct OpenItems(pub(crate) Vec<Item>);

#[async_trait::async_trait]
impl Manifest for OpenItems {
    async fn open_items(&mut self) -> Result<Vec<Item>, ManifestFailure> {
        Ok(std::mem::take(&mut self.0))
    }
}

/// Some open cargo in the order of their batch.
pub(crate) fn in_order(heads: Vec<Head>, order: &[CargoId]) -> VecDeque<Head> {
    let mut open: HashMap<CargoId, Head> =
        heads.into_iter().map(|head| (head.cargo, head)).collect();
    order.iter().filter_map(|id| open.remove(id)).collect()
}

/// A request as it was stored.
#[derive(Debug)]
pub(crate) struct StoredRequest {
    head: Head,
    packed: Packed,
}

impl StoredRequest {
    pub(crate) const fn new(head: Head, packed: Packed) -> Self {
        Self { head, packed }
    }

    pub(crate) fn unpacked_len(&self) -> usize {
        self.packed.unpacked_len()
    }

    /// Only one that is looked at takes the memory that it needs unpacked. One that cannot be
    /// read fails alone.
    pub(crate) fn open(self) -> Result<(Item, Head), Box<Finished>> {
        let request = body::unpack(self.packed.codec, self.packed.bytes, "request");
        match request.and_then(|request| item(&self.head, &request)) {
            Ok(item) => Ok((item, self.head)),
            Err(failure) => {
                let cargo = self.head.cargo;
                tracing::error!(cargo.id = %cargo, %failure, "the request of {cargo} cannot be read: it fails");
                let why = "the request cannot be read".to_owned();
                Err(Box::new(Finished::failed(self.head, why)))
            }
        }
    }
}

/// Takes the first of some open cargo with what they ask for: as many as memory is meant for,
/// whatever their size.
pub(crate) async fn read_chunk(
    shard: &Shard,
    heads: &mut VecDeque<Head>,
) -> Result<Vec<StoredRequest>, store::Error> {
    let open: Vec<CargoId> = heads.iter().take(AT_ONCE).map(|it| it.cargo).collect();
    let requests = manifest::first_requests(shard, &open, BYTES_AT_ONCE).await?;
    let mut chunk = Vec::with_capacity(requests.len());
    for (cargo, packed) in requests {
        let head = heads.pop_front().filter(|head| head.cargo == cargo);
        let head = head.ok_or_else(corrupt)?;
        chunk.push(StoredRequest::new(head, packed));
    }
    if chunk.is_empty() && !heads.is_empty() {
        return Err(corrupt());
    }
    Ok(chunk)
}

fn item(head: &Head, request: &[u8]) -> Result<Item, store::Error> {
    Ok(Item {
        cargo: head.cargo,
        attempt: head.attempt,
        loaded_at: head.loaded_at,
        params: serde_json::from_slice::<Params>(request).map_err(|_| corrupt())?,
    })
}

const fn corrupt() -> store::Error {
    store::Error::Corrupt {
        table: "request",
        column: "body",
    }
}
