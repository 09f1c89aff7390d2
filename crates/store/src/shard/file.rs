//! Files: upload sessions, their results, and the cargo that references them.
//!
//! Locks are taken in one order everywhere: account, storage, file by id, object.

pub mod audit;
mod claim;
mod complete;
mod create;
mod delete;
mod expire;
mod find;
mod publish;
pub mod reference;
mod row;
mod staging;
mod update;
mod upload_session;

pub use crate::shard::file::claim::{
    FileSizeClass, claim, count_validating, free_unknown_claims, reschedule,
};
pub use crate::shard::file::complete::{UploadCompletion, complete, find_with_verdict};
pub use crate::shard::file::create::{FileCreation, NewFile, create, record_upload};
pub use crate::shard::file::delete::{FileDeletion, delete};
pub use crate::shard::file::expire::expire;
pub use crate::shard::file::find::{FileFilter, find, list};
pub use crate::shard::file::publish::{PublishResult, publish};
pub use crate::shard::file::row::{ClaimedFile, FileRow, UploadPart};
pub use crate::shard::file::staging::{list_staged, mark_cleaned};
pub use crate::shard::file::update::{FileChange, FileChangeResult, update};
pub use crate::shard::file::upload_session::{fail, fail_abandoned, retract};
