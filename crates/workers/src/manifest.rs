//! The open items of a batch, read from the rows when a provider asks for them.

use std::collections::{HashMap, VecDeque};

use domain::id::{BatchId, CargoId};
use domain::params::Params;
use outbound::provider::{Item, Manifest, ManifestFailure};
use store::Shard;
use store::body::{self, Packed};
use store::shard::manifest::{self, Head};

/// Requests that are read at a time.
const AT_ONCE: usize = 500;
/// Fewer, when they are larger than this together: as they are stored, they are in memory.
const BYTES_AT_ONCE: i64 = 8 << 20;

#[derive(Debug)]
pub(crate) struct BatchManifest<'a> {
    shard: &'a Shard,
    batch: BatchId,
    cargo: &'a [CargoId],
    heads: Option<Vec<Head>>,
}

impl<'a> BatchManifest<'a> {
    pub(crate) const fn new(shard: &'a Shard, batch: BatchId, cargo: &'a [CargoId]) -> Self {
        Self {
            shard,
            batch,
            cargo,
            heads: None,
        }
    }

    /// With the heads that were read before.
    pub(crate) const fn with_heads(
        shard: &'a Shard,
        batch: BatchId,
        cargo: &'a [CargoId],
        heads: Vec<Head>,
    ) -> Self {
        Self {
            shard,
            batch,
            cargo,
            heads: Some(heads),
        }
    }

    async fn read(&mut self) -> Result<Vec<Item>, store::Error> {
        let heads = match self.heads.take() {
            Some(heads) => heads,
            None => manifest::heads(self.shard, self.batch, self.cargo).await?,
        };
        let items = items(self.shard, heads).await?;
        Ok(items.into_iter().map(|(item, _)| item).collect())
    }
}

#[async_trait::async_trait]
impl Manifest for BatchManifest<'_> {
    async fn open_items(&mut self) -> Result<Vec<Item>, ManifestFailure> {
        self.read()
            .await
            .map_err(|failure| ManifestFailure(failure.to_string()))
    }
}

/// Some open cargo with what they ask for, in the same order.
pub(crate) async fn items(
    shard: &Shard,
    heads: Vec<Head>,
) -> Result<Vec<(Item, Head)>, store::Error> {
    let open: Vec<CargoId> = heads.iter().map(|head| head.cargo).collect();
    let requests = manifest::requests(shard, &open).await?;
    let mut requests: HashMap<CargoId, Vec<u8>> = requests.into_iter().collect();
    let mut items = Vec::with_capacity(heads.len());
    for head in heads {
        let request = requests.remove(&head.cargo).ok_or_else(corrupt)?;
        items.push((item(&head, &request)?, head));
    }
    Ok(items)
}

/// A request as it was stored.
#[derive(Debug)]
pub(crate) struct Stowed {
    head: Head,
    packed: Packed,
}

impl Stowed {
    /// Only one that is looked at takes the room that it needs unpacked.
    pub(crate) fn open(self) -> Result<(Item, Head), store::Error> {
        let request = body::unpack(self.packed.codec, self.packed.bytes, "request")?;
        Ok((item(&self.head, &request)?, self.head))
    }
}

/// Takes the first of some open cargo with what they ask for: as many as memory is meant for,
/// whatever their size.
pub(crate) async fn handful(
    shard: &Shard,
    heads: &mut VecDeque<Head>,
) -> Result<Vec<Stowed>, store::Error> {
    let open: Vec<CargoId> = heads.iter().take(AT_ONCE).map(|it| it.cargo).collect();
    let requests = manifest::first_requests(shard, &open, BYTES_AT_ONCE).await?;
    let mut handful = Vec::with_capacity(requests.len());
    for (cargo, packed) in requests {
        let head = heads.pop_front().filter(|head| head.cargo == cargo);
        let head = head.ok_or_else(corrupt)?;
        handful.push(Stowed { head, packed });
    }
    if handful.is_empty() && !heads.is_empty() {
        return Err(corrupt());
    }
    Ok(handful)
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
