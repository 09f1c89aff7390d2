//! Stop sequences that the provider does not apply: they are in the stored request, and a result
//! arrives without it.

use std::collections::{HashMap, VecDeque};

use domain::id::CargoId;
use domain::params::Params;
use store::Shard;
use store::shard::manifest::OpenCargo;

use crate::stored_requests::read_chunk;

pub(crate) const fn of_request(params: &Params) -> &[String] {
    match params {
        Params::Chat(chat) => chat.stop_sequences.as_slice(),
        Params::Embedding(_) => &[],
    }
}

/// The stop sequences of some cargo. Cargo whose request cannot be read is left out.
pub(crate) async fn read(
    shard: &Shard,
    cargo: impl Iterator<Item = OpenCargo>,
) -> Result<HashMap<CargoId, Vec<String>>, store::Error> {
    let mut unread: VecDeque<OpenCargo> = cargo.collect();
    let mut found = HashMap::with_capacity(unread.len());
    while !unread.is_empty() {
        // Only one request is unpacked at a time.
        for stored in read_chunk(shard, &mut unread).await? {
            if let Ok((item, head)) = stored.unpack() {
                found.insert(head.cargo, of_request(&item.params).to_vec());
            }
        }
    }
    Ok(found)
}
