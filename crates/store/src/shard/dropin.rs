//! Batches in the formats of other providers: a group, a parcel of items, and how far the unpacker
//! has loaded them. Each row belongs to one group and has its id.

mod create;
mod ended_members;
mod expire;
mod find;
mod lease;
mod row;

pub use crate::shard::dropin::create::{
    DropinCreation, NewDropinBatch, RepeatIdentity, create, find_repeat,
};
pub use crate::shard::dropin::ended_members::{EndedMember, insert_ended};
pub(crate) use crate::shard::dropin::expire::delete_of_project;
pub use crate::shard::dropin::expire::{archive, delete_archived};
pub use crate::shard::dropin::find::{DropinPage, find, hide, list};
pub use crate::shard::dropin::lease::{UnpackLease, UnpackPlace, advance, claim, fail, finish};
pub use crate::shard::dropin::row::DropinBatch;
