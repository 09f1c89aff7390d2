//! Files: sessions, what became of them, and who names them.
//!
//! Locks are taken in one order everywhere: account, storage, file by id, object.

pub mod audit;
mod change;
mod claim;
mod complete;
mod create;
mod delete;
mod expire;
mod find;
mod publish;
pub mod reference;
mod row;
mod session;
mod staging;

pub use crate::shard::file::change::{Change, Changed, change};
pub use crate::shard::file::claim::{Class, claim, free_own, later, validating};
pub use crate::shard::file::complete::{Completed, complete, statuses};
pub use crate::shard::file::create::{Created, NewFile, create, keep_upload};
pub use crate::shard::file::delete::{Deleted, delete};
pub use crate::shard::file::expire::expire;
pub use crate::shard::file::find::{Filter, find, list};
pub use crate::shard::file::publish::{Published, publish};
pub use crate::shard::file::row::{ClaimedFile, File, Part};
pub use crate::shard::file::session::{abandon, fail, take_back};
pub use crate::shard::file::staging::{cleaned, staged};
