//! The operations page: a shard's backlogs, open batches and nodes.

mod backlog;

mod batches;

mod lanes;

mod nodes;

pub use crate::view::operations::backlog::{
    DeliveryBacklog, ScanBacklog, read_delivery_backlog, read_scan_backlog,
};
pub use crate::view::operations::batches::{
    BatchStateSummary, DelayedBatch, list_delayed_batches, summarize_batches,
};
pub use crate::view::operations::lanes::{LaneBacklog, QueueDepth, list_lane_backlogs};
pub use crate::view::operations::nodes::{
    NodeStatus, list_serving_nodes, list_shard_nodes, read_database_size,
};

/// Larger numbers of rows are estimated by the planner.
pub const MAX_EXACT_COUNT: i64 = 10_000;
