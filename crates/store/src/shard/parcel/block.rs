//! The blocks of a parcel: some items, one after the other.
//!
//! Unpacked, a block is the number of its first item and then the items, each after its length.
//! The number is encrypted with them, so a block that was moved to another place is not read there.

use domain::id::{ParcelId, ProjectId};

use crate::Error;
use crate::Shard;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, KeyRequest, ValueIdentity};
use crate::number::{signed, unsigned};
use crate::shard::project_keys::read_keys;

/// Some items of a parcel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParcelBlock {
    /// The place of the first item in the parcel, from 0.
    pub first_item: u64,
    /// As they came.
    pub items: Vec<Vec<u8>>,
}

impl ParcelBlock {
    /// The items from this place on, each with its place.
    pub fn items_from(self, item: u64) -> impl Iterator<Item = (u64, Vec<u8>)> {
        let first = self.first_item;
        let places = self.items.into_iter().zip(first..);
        let places = places.map(|(bytes, place)| (place, bytes));
        places.skip_while(move |(place, _)| *place < item)
    }
}

/// The block that has this item. None if the parcel has no such item.
pub async fn read_block(
    shard: &Shard,
    project: ProjectId,
    parcel: ParcelId,
    item: u64,
) -> Result<Option<ParcelBlock>, Error> {
    let row = sqlx::query!(
        "select b.first_item, b.codec, b.body
         from shard.parcel p join shard.parcel_block b on b.parcel = p.id
         where p.id = $1 and p.project = $2 and p.items > $3 and b.first_item <= $3
         order by b.first_item desc limit 1",
        parcel.uuid(),
        project.uuid(),
        signed(item)
    )
    .fetch_optional(&shard.reads)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let body = PackedBody {
        codec: row.codec,
        bytes: row.body,
    };
    let mut request = KeyRequest::default();
    body.add_key(project, &mut request);
    let keys = read_keys(shard, &request).await?;
    let identity = ValueIdentity {
        project,
        row: parcel.uuid(),
        kind: ContentKind::ParcelBlock,
    };
    let plain = body.decrypt(&keys, identity)?.unpack("parcel_block")?;
    let first_item = unsigned(row.first_item);
    let items = split_items(&plain, first_item).ok_or(Error::Corrupt {
        table: "parcel_block",
        column: "body",
    })?;
    Ok(Some(ParcelBlock { first_item, items }))
}

/// The start of a block.
pub(super) fn begin_block(first_item: u64) -> Vec<u8> {
    first_item.to_be_bytes().to_vec()
}

/// Adds an item. An item is at most some megabytes.
pub(super) fn push_item(block: &mut Vec<u8>, item: &[u8]) {
    let length = u32::try_from(item.len()).unwrap_or(u32::MAX);
    block.extend_from_slice(&length.to_be_bytes());
    block.extend_from_slice(item);
}

fn split_items(plain: &[u8], first_item: u64) -> Option<Vec<Vec<u8>>> {
    let (number, mut rest) = plain.split_first_chunk::<8>()?;
    if u64::from_be_bytes(*number) != first_item {
        return None;
    }
    let mut items = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (item, after) = after.split_at_checked(length)?;
        items.push(item.to_vec());
        rest = after;
    }
    Some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_as_it_was_written() {
        let items: [&[u8]; 4] = [b"{}", b"", b"{\"a\":\n1}\n", &[7; 300]];
        let mut plain = begin_block(41);
        for item in items {
            push_item(&mut plain, item);
        }
        let read = split_items(&plain, 41);
        assert_eq!(read, Some(items.map(<[u8]>::to_vec).to_vec()));
        assert_eq!(split_items(&plain, 42), None);
        assert_eq!(split_items(&plain[..plain.len() - 1], 41), None);
    }

    #[test]
    fn items_are_numbered_from_the_first_of_the_block() {
        let block = ParcelBlock {
            first_item: 10,
            items: vec![b"a".to_vec(), b"b".to_vec(), b"c".to_vec()],
        };
        let read: Vec<_> = block.items_from(11).collect();
        assert_eq!(read, [(11, b"b".to_vec()), (12, b"c".to_vec())]);
    }
}
