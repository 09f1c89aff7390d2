//! How a shard does: what waits, what is under way, who works.

mod backlog;

mod batches;

mod lanes;

mod nodes;

pub use crate::view::operations::backlog::{Deliveries, Scans, deliveries, scans};
pub use crate::view::operations::batches::{Flight, Odd, flights, odd};
pub use crate::view::operations::lanes::{Depth, Waiting, lanes};
pub use crate::view::operations::nodes::{Node, bytes, nodes, serving};

/// Up to here rows are counted; beyond, the planner's word is taken.
pub const EXACT: i64 = 10_000;
