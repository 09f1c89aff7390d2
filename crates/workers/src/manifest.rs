//! The open items of a batch, read from the rows when a provider asks for them.

use std::collections::HashMap;

use domain::id::{BatchId, CargoId};
use domain::params::Params;
use outbound::provider::{Item, Manifest, ManifestFailure};
use store::Shard;
use store::shard::manifest::{self, Head};

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
        let corrupt = store::Error::Corrupt {
            table: "request",
            column: "body",
        };
        let request = requests.remove(&head.cargo);
        let params = request.and_then(|it| serde_json::from_slice::<Params>(&it).ok());
        let item = Item {
            cargo: head.cargo,
            attempt: head.attempt,
            loaded_at: head.loaded_at,
            params: params.ok_or(corrupt)?,
        };
        items.push((item, head));
    }
    Ok(items)
}
