//! `POST /cargo/estimate`: what loads would cost, and when they would end.

use domain::load_estimate::LoadEstimate;
use domain::money::Money;
use serde::Serialize;
use utoipa::ToSchema;

use crate::bulk::{BulkLoadRequest, RefusedItem};
use crate::load::LoadRequest;
use crate::timestamp::WireTimestamp;

/// The body of `POST /cargo/load` or of `POST /cargo/bulk`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum EstimateRequest {
    Single(Box<LoadRequest>),
    Bulk(BulkLoadRequest),
}

/// Amounts are whole nano-dollars. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Estimate)]
pub struct EstimateResponse {
    /// The loads of the request, with those that have faults.
    #[schema(example = 1000)]
    pub items: usize,
    /// What `POST /cargo/load` would answer to the loads that it would refuse. All other figures
    /// are of the other loads.
    pub faults: Vec<RefusedItem>,
    pub hold: EstimatedHoldBody,
    pub cost: EstimatedCostBody,
    pub tokens: EstimatedTokensBody,
    pub turnaround: EstimatedTurnaroundBody,
    pub based_on: EstimateSamplesBody,
    /// The code with which a load would be refused now: `rate_limit_exceeded`, `quota_exceeded`,
    /// `insufficient_credits` or `key_spending_cap_exceeded`. Null if all would be accepted.
    #[schema(required = true, value_type = Option<String>, example = "insufficient_credits")]
    pub refused_by: Option<&'static str>,
    /// The available credit after all holds. Negative if there is too little. Null if the key has
    /// no right to read.
    #[schema(required = true, example = 41_600_000)]
    pub balance_after_hold: Option<i64>,
}

/// What would be set aside until the outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EstimatedHold)]
pub struct EstimatedHoldBody {
    #[schema(example = 57_150_000)]
    pub amount: i64,
    #[schema(value_type = String, example = "USD")]
    pub currency: &'static str,
    #[schema(example = 9)]
    pub scale: u8,
}

/// What the loads would be charged. `low`, `likely` and `high` are null with too few samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EstimatedCost)]
pub struct EstimatedCostBody {
    /// One of ten such sets of loads costs less.
    #[schema(required = true, example = 18_100_000)]
    pub low: Option<i64>,
    /// The mean.
    #[schema(required = true, example = 21_900_000)]
    pub likely: Option<i64>,
    /// One of ten such sets of loads costs more.
    #[schema(required = true, example = 31_200_000)]
    pub high: Option<i64>,
    /// They cannot cost more than their holds.
    #[schema(example = 57_150_000)]
    pub most: i64,
    /// What the same work would cost in realtime. Null with too few samples, without a realtime
    /// price, and for free loads.
    #[schema(required = true, example = 43_800_000)]
    pub realtime_likely: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EstimatedTokens)]
pub struct EstimatedTokensBody {
    pub input: EstimatedInputBody,
    pub output: EstimatedOutputBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EstimatedInput)]
pub struct EstimatedInputBody {
    /// The most that the provider can count.
    #[schema(example = 310_000)]
    pub bound: u64,
    /// Null with too few samples.
    #[schema(required = true, example = 84_000)]
    pub likely: Option<u64>,
}

/// The percentiles are of the sum over all loads. They are null with too few samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EstimatedOutput)]
pub struct EstimatedOutputBody {
    #[schema(example = 640_000)]
    pub bound: u64,
    #[schema(required = true, example = 110_000)]
    pub p10: Option<u64>,
    #[schema(required = true, example = 150_000)]
    pub p50: Option<u64>,
    #[schema(required = true, example = 240_000)]
    pub p90: Option<u64>,
}

/// How long recent batches of the same ways took, of the slowest way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EstimatedTurnaround)]
pub struct EstimatedTurnaroundBody {
    /// Null if it was not measured, or if a way is paused.
    #[schema(required = true, example = 660)]
    pub p50_seconds: Option<u64>,
    #[schema(required = true, example = 1140)]
    pub p90_seconds: Option<u64>,
    /// When the last outcome is expected, if the loads are sent from now on.
    #[schema(required = true)]
    pub expected_at: Option<WireTimestamp>,
    /// How long the plan's rate limit makes the loads take.
    #[schema(example = 0)]
    pub loading_seconds: u64,
}

/// The settled cargo from which the figures are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EstimateSamples)]
pub struct EstimateSamplesBody {
    /// Of the model with the fewest. With fewer than 20, only the bounds are stated.
    #[schema(example = 500)]
    pub samples: u64,
    /// When the oldest of them was loaded.
    #[schema(required = true)]
    pub since: Option<WireTimestamp>,
}

impl From<&LoadEstimate> for EstimatedHoldBody {
    fn from(estimate: &LoadEstimate) -> Self {
        Self {
            amount: estimate.hold.nanos(),
            currency: "USD",
            scale: 9,
        }
    }
}

impl From<&LoadEstimate> for EstimatedCostBody {
    fn from(estimate: &LoadEstimate) -> Self {
        let cost = estimate.cost;
        Self {
            low: cost.map(|cost| cost.low.nanos()),
            likely: cost.map(|cost| cost.likely.nanos()),
            high: cost.map(|cost| cost.high.nanos()),
            most: estimate.hold.nanos(),
            realtime_likely: estimate.realtime.map(Money::nanos),
        }
    }
}

impl From<&LoadEstimate> for EstimatedTokensBody {
    fn from(estimate: &LoadEstimate) -> Self {
        let (bounds, tokens) = (estimate.bounds, estimate.tokens);
        Self {
            input: EstimatedInputBody {
                bound: bounds.input_tokens,
                likely: tokens.map(|tokens| tokens.likely_input),
            },
            output: EstimatedOutputBody {
                bound: bounds.output_tokens,
                p10: tokens.map(|tokens| tokens.output_p10),
                p50: tokens.map(|tokens| tokens.output_p50),
                p90: tokens.map(|tokens| tokens.output_p90),
            },
        }
    }
}

impl From<&LoadEstimate> for EstimateSamplesBody {
    fn from(estimate: &LoadEstimate) -> Self {
        Self {
            samples: estimate.samples,
            since: estimate.since.map(WireTimestamp),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::load_estimate::{CostRange, TokenRange};
    use domain::token_buckets::TokenUsage;

    use super::*;

    #[test]
    fn unknown_figures_are_null_and_bounds_are_always_stated() {
        let mut estimate = LoadEstimate {
            hold: Money(50),
            bounds: TokenUsage {
                input_tokens: 7,
                output_tokens: 9,
            },
            samples: 3,
            ..LoadEstimate::default()
        };
        let cost = |estimate: &LoadEstimate| {
            serde_json::to_string(&EstimatedCostBody::from(estimate)).unwrap()
        };
        let tokens = |estimate: &LoadEstimate| {
            serde_json::to_string(&EstimatedTokensBody::from(estimate)).unwrap()
        };
        insta::assert_snapshot!(cost(&estimate), @r#"{"low":null,"likely":null,"high":null,"most":50,"realtime_likely":null}"#);
        insta::assert_snapshot!(tokens(&estimate), @r#"{"input":{"bound":7,"likely":null},"output":{"bound":9,"p10":null,"p50":null,"p90":null}}"#);
        estimate.cost = Some(CostRange {
            low: Money(1),
            likely: Money(2),
            high: Money(3),
        });
        estimate.realtime = Some(Money(4));
        estimate.tokens = Some(TokenRange {
            likely_input: 2,
            output_p10: 3,
            output_p50: 4,
            output_p90: 5,
        });
        insta::assert_snapshot!(cost(&estimate), @r#"{"low":1,"likely":2,"high":3,"most":50,"realtime_likely":4}"#);
        insta::assert_snapshot!(tokens(&estimate), @r#"{"input":{"bound":7,"likely":2},"output":{"bound":9,"p10":3,"p50":4,"p90":5}}"#);
    }
}
