//! Groups of cargo of one project: creation, members, progress and results.
//!
//! Locks are taken in one order everywhere: account, file by id, group by id. A transaction that
//! has locked a group locks nothing else.

mod callback;
mod change;
mod create;
mod expire;
mod find;
pub mod member;
pub(crate) mod progress;
mod result_body;
mod results;
mod row;

pub use crate::shard::group::callback::{StoredGroupCallback, find_callback, read_callbacks};
pub use crate::shard::group::change::{SealResult, request_cancel, seal};
pub(crate) use crate::shard::group::create::count_unfinished;
pub use crate::shard::group::create::{GroupCreation, NewGroup, create};
pub use crate::shard::group::expire::delete_expired;
pub(crate) use crate::shard::group::expire::delete_of_project;
pub use crate::shard::group::find::{GroupFailure, GroupFilter, failures, find, list};
pub use crate::shard::group::results::{
    GroupResultQuery, GroupResultRow, results_by_number, results_by_position,
};
pub use crate::shard::group::row::GroupRow;
