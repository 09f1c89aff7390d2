//! Encryption of customers' values at rest: the byte format, the keys that a transaction or a page
//! needs, and the cache of unwrapped data keys. The rows of the keys are in `shard::project_keys`.

mod envelope;
mod key_cache;
mod key_set;

pub(crate) use crate::encryption::envelope::{
    ContentKind, DataKey, EncryptedHeader, KEY_BYTES, ValueIdentity,
};
pub(crate) use crate::encryption::key_cache::KeyCache;
pub(crate) use crate::encryption::key_set::{KeyRequest, ReadKeys};
pub use crate::encryption::key_set::{WriteKey, WriteKeys};
