//! `POST /cargo/wait`: waiting for several cargo.

use serde::Serialize;
use utoipa::ToSchema;

use crate::tracking::TrackingResponse;

/// The cargo to wait for.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CargoWait)]
pub struct CargoWaitRequest {
    #[schema(min_items = 1, max_items = 1000, example = json!(["crg_019b76da807b774b805000000000002a"]))]
    pub cargo_ids: Vec<String>,
    /// The maximum number of seconds to wait. The operator can set a lower maximum, by default 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        minimum = 0,
        maximum = 60,
        default = 60,
        example = 50
    )]
    pub wait: Option<u32>,
}

/// Each cargo of the request is in one of the lists.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CargoWaitResult)]
pub struct CargoWaitResponse {
    /// The records of completed cargo: at most 100, and fewer if they are large.
    pub completed: Vec<TrackingResponse>,
    /// Wait for these again. Completed cargo whose record did not fit is here, too, and the next
    /// request gets it at once.
    #[schema(example = json!(["crg_019b76da807b774b805000000000002b"]))]
    pub pending: Vec<String>,
    /// Not an id of a cargo of your project.
    pub unknown: Vec<String>,
}
