//! The choice between batch, flex and realtime, by the time that is left, the queue and the price.
//!
//! ```text
//! time left   ├──── realtime ────┼──── flex ────┼──────── batch ────────▶
//!             0            flex needs          batch p95 + margin
//! ```
//! Flex costs what batch costs and is quicker, so a short queue takes it whatever time is left.

use chrono::TimeDelta;

use crate::model::Model;
use crate::price::Price;
use crate::route::{InferenceMode, Route, Routes};

/// A cargo joins a batch only if this much time is left after the lane's usual batch.
pub const BATCH_MARGIN: TimeDelta = TimeDelta::hours(2);
/// The time that is kept for a realtime request when flex has not answered.
pub const REALTIME_RESERVE: TimeDelta = TimeDelta::minutes(5);
/// A queue that flex answers in this time is short.
pub const FLEX_WINDOW: TimeDelta = TimeDelta::minutes(15);
/// Cargo that can still take a batch waits this long for a provider without spare capacity.
pub const FLEX_PATIENCE: TimeDelta = TimeDelta::minutes(15);
/// Other cargo waits for spare capacity during this fraction of the time that it has left.
pub const REFUSED_PART_OF_LEFT: i32 = 4;
/// Cargo with less time than this is gathered before other cargo of its flex or realtime lane.
pub const URGENT_WINDOW: TimeDelta = TimeDelta::minutes(30);
/// A job with cargo that has less time than this is cancelled, if another way is quicker.
pub const JOB_CANCEL_LEFT: TimeDelta = TimeDelta::hours(1);

/// Of a lane without measurements.
pub const DEFAULT_BATCH_P95: TimeDelta = TimeDelta::hours(6);
pub const DEFAULT_FLEX_ANSWER: TimeDelta = TimeDelta::minutes(2);
pub const DEFAULT_FLEX_CAPACITY: u64 = 50;

/// How long the ways of a model take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WayTimes {
    /// The 95th percentile of the lane's batches.
    pub batch_p95: TimeDelta,
    /// How long the slow answers of flex take.
    pub flex_answer: TimeDelta,
    /// For how long flex has refused every request for lack of capacity.
    pub flex_refused_for: Option<TimeDelta>,
    /// How long flex needs for the cargo that waits for it now. New cargo joins the end.
    pub flex_wait: TimeDelta,
    /// Whether flex is not paused, and has not refused for longer than `FLEX_PATIENCE`.
    pub is_flex_usable: bool,
}

impl Default for WayTimes {
    fn default() -> Self {
        Self {
            batch_p95: DEFAULT_BATCH_P95,
            flex_answer: DEFAULT_FLEX_ANSWER,
            flex_refused_for: None,
            flex_wait: TimeDelta::zero(),
            is_flex_usable: true,
        }
    }
}

impl WayTimes {
    /// A cargo with more time than this joins a batch.
    pub fn batch_needs(&self) -> TimeDelta {
        self.batch_p95 + BATCH_MARGIN
    }

    /// Whether flex has refused for too long for cargo with this much time.
    pub fn is_flex_refused(&self, left: TimeDelta) -> bool {
        let patience = (left / REFUSED_PART_OF_LEFT).min(FLEX_PATIENCE);
        self.flex_refused_for.is_some_and(|it| it > patience)
    }

    /// One answer, and after a failure either a realtime request or another flex request.
    fn flex_needs(&self, has_realtime: bool) -> TimeDelta {
        let second = if has_realtime {
            REALTIME_RESERVE
        } else {
            self.flex_answer
        };
        self.flex_answer + second
    }
}

/// How long flex needs for so many requests, if it answers `capacity` of them in `FLEX_WINDOW`.
pub fn flex_queue_time(requests: u64, capacity: u64) -> TimeDelta {
    let windows = requests / capacity.max(1);
    FLEX_WINDOW * i32::try_from(windows).unwrap_or(i32::MAX).min(1000)
}

/// What is known when a cargo is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadSituation {
    /// Whether the caller set a deadline.
    pub has_deadline: bool,
    /// The time until the deadline.
    pub left: TimeDelta,
    pub times: WayTimes,
    /// Cargo that waits in the flex lane.
    pub queue_items: u64,
    /// The part of it with less time than `URGENT_WINDOW`.
    pub urgent_items: u64,
    /// How many requests flex answers in `FLEX_WINDOW`.
    pub flex_capacity: u64,
    /// Whether the flex route is not paused, and has not refused for too long. Open too if this
    /// cargo may probe whether flex has capacity again.
    pub is_flex_open: bool,
}

impl LoadSituation {
    /// A situation without measurements.
    pub fn unmeasured(has_deadline: bool, left: TimeDelta) -> Self {
        Self {
            has_deadline,
            left,
            times: WayTimes::default(),
            queue_items: 0,
            urgent_items: 0,
            flex_capacity: DEFAULT_FLEX_CAPACITY,
            is_flex_open: true,
        }
    }

    fn is_queue_short(&self) -> bool {
        self.queue_items < self.flex_capacity
    }

    /// How long the cargo before this one keep flex busy. Urgent cargo passes the others, but gets
    /// only half of each batch.
    fn flex_wait(&self) -> TimeDelta {
        let ahead = if self.left <= URGENT_WINDOW {
            self.urgent_items.saturating_mul(2)
        } else {
            self.queue_items
        };
        flex_queue_time(ahead, self.flex_capacity)
    }

    fn is_flex_in_time(&self, has_realtime: bool) -> bool {
        self.left >= self.flex_wait() + self.times.flex_needs(has_realtime)
    }
}

/// A route, and why the cargo takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteChoice<'a> {
    pub route: &'a Route,
    pub reason: RouteReason,
}

/// Why a cargo takes its way. The codes are stored, and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteReason {
    OnlyWay,
    FlexQueueShort,
    BatchInTime,
    FlexForDeadline,
    RealtimeForDeadline,
    FlexWithoutCapacity,
    AfterFailure,
}

impl RouteReason {
    pub const ALL: [Self; 7] = [
        Self::OnlyWay,
        Self::FlexQueueShort,
        Self::BatchInTime,
        Self::FlexForDeadline,
        Self::RealtimeForDeadline,
        Self::FlexWithoutCapacity,
        Self::AfterFailure,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnlyWay => "only_way",
            Self::FlexQueueShort => "flex_queue_short",
            Self::BatchInTime => "batch_in_time",
            Self::FlexForDeadline => "flex_for_deadline",
            Self::RealtimeForDeadline => "realtime_for_deadline",
            Self::FlexWithoutCapacity => "flex_without_capacity",
            Self::AfterFailure => "after_failure",
        }
    }

    pub const fn description(self) -> &'static str {
        match self {
            Self::OnlyWay => "the model has no other way",
            Self::FlexQueueShort => "few cargo wait, and flex costs no more than a batch",
            Self::BatchInTime => "a batch usually ends well before the deadline",
            Self::FlexForDeadline => "a batch may end after the deadline",
            Self::RealtimeForDeadline => "no cheaper way is sure to answer before the deadline",
            Self::FlexWithoutCapacity => "the provider has had no spare capacity for flex",
            Self::AfterFailure => "it had no answer by another way",
        }
    }
}

/// The ways of a model on a shard: the first route of each inference mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelWays<'a> {
    pub batch: Option<&'a Route>,
    pub flex: Option<&'a Route>,
    pub realtime: Option<&'a Route>,
}

/// Cargo with less time left than this takes this route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WayStep<'a> {
    pub left_below: TimeDelta,
    pub choice: RouteChoice<'a>,
}

impl<'a> ModelWays<'a> {
    pub fn of(routes: &'a Routes, shard: &str) -> Self {
        let serves_here = routes.iter().any(|route| route.serves(shard));
        let first = |via| {
            let mut here = routes.iter().filter(|it| !serves_here || it.serves(shard));
            here.find(|route| route.via == via)
        };
        Self {
            batch: first(InferenceMode::Batch),
            flex: first(InferenceMode::Flex),
            realtime: first(InferenceMode::Realtime),
        }
    }

    pub fn has_choice(&self) -> bool {
        let ways = [self.batch, self.flex, self.realtime];
        ways.into_iter().flatten().count() > 1
    }

    /// Whether cargo can leave a batch for a quicker way. Flex that is paused, that refuses, or whose
    /// queue takes longer than a batch is quicker only if realtime comes after it.
    pub fn has_quicker_way(&self, times: &WayTimes) -> bool {
        let is_flex_quicker = times.is_flex_usable && times.flex_wait < times.batch_p95;
        self.realtime.is_some() || (self.flex.is_some() && is_flex_quicker)
    }

    /// The ways of cargo whose batch or flex request may end too late, for the shortest time
    /// first. Cargo with more time than all of them keeps its way.
    pub fn steps(&self, times: &WayTimes) -> Vec<WayStep<'a>> {
        let batch_needs = self.batch.map(|_| times.batch_needs());
        let mut steps = Vec::new();
        if let Some(route) = self.realtime {
            let flex_needs = self.flex.map(|_| {
                let refused_for = times.flex_refused_for.unwrap_or_default();
                let patient = refused_for * REFUSED_PART_OF_LEFT;
                patient.max(times.flex_wait + times.flex_needs(true))
            });
            let left_below = match (flex_needs, batch_needs) {
                (Some(flex), Some(batch)) => Some(flex.min(batch)),
                (flex, batch) => flex.or(batch),
            };
            let reason = RouteReason::RealtimeForDeadline;
            let choice = RouteChoice { route, reason };
            steps.extend(left_below.map(|left_below| WayStep { left_below, choice }));
        }
        if let (Some(route), Some(left_below)) = (self.flex, batch_needs)
            && self.has_quicker_way(times)
        {
            let reason = RouteReason::FlexForDeadline;
            let choice = RouteChoice { route, reason };
            steps.push(WayStep { left_below, choice });
        }
        steps
    }
}

/// Whether a load can take more than one way, so that its situation matters. Loads without a
/// deadline on a model without flex take the preferred route.
pub fn has_choice(model: &Model, shard: &str, has_deadline: bool) -> bool {
    let ways = ModelWays::of(&model.routes, shard);
    ways.has_choice() && (has_deadline || ways.flex.is_some())
}

/// The way of a new cargo.
pub fn choose<'a>(model: &'a Model, shard: &str, situation: &LoadSituation) -> RouteChoice<'a> {
    let ways = ModelWays::of(&model.routes, shard);
    let chosen = |route, reason| RouteChoice { route, reason };
    if !ways.has_choice() {
        return chosen(model.routes.preferred(shard), RouteReason::OnlyWay);
    }
    let has_realtime = ways.realtime.is_some();
    let open_flex = ways.flex.filter(|_| situation.is_flex_open);
    let timely_flex = open_flex.filter(|_| situation.is_flex_in_time(has_realtime));
    if let Some(flex) = timely_flex
        && situation.is_queue_short()
        && ways
            .batch
            .is_none_or(|batch| is_no_dearer(model, flex, batch))
    {
        return chosen(flex, RouteReason::FlexQueueShort);
    }
    if let Some(batch) = ways.batch
        && situation.left > situation.times.batch_needs()
    {
        let reason = match (ways.flex, open_flex) {
            (Some(_), None) => RouteReason::FlexWithoutCapacity,
            _ => RouteReason::BatchInTime,
        };
        return chosen(batch, reason);
    }
    if let Some(flex) = timely_flex {
        return chosen(flex, RouteReason::FlexForDeadline);
    }
    if let Some(realtime) = ways.realtime {
        return chosen(realtime, RouteReason::RealtimeForDeadline);
    }
    // No way is sure to answer in time: the quickest that works now.
    let late_batch = ways
        .batch
        .filter(|_| open_flex.is_none() && situation.left >= situation.times.batch_p95);
    match late_batch.or(ways.flex).or(ways.batch) {
        Some(route) if route.via == InferenceMode::Batch => {
            chosen(route, RouteReason::FlexWithoutCapacity)
        }
        Some(route) => chosen(route, RouteReason::FlexForDeadline),
        None => chosen(model.routes.preferred(shard), RouteReason::OnlyWay),
    }
}

/// Whether flex costs us no more than a batch. Without a cost of their own, both cost the batch
/// price.
fn is_no_dearer(model: &Model, flex: &Route, batch: &Route) -> bool {
    let usual = model.prices.map(|prices| prices.batch);
    let cost = |route: &Route| -> Option<Price> { route.cost.or(usual) };
    match (cost(flex), cost(batch)) {
        (Some(flex), Some(batch)) => {
            flex.base.input <= batch.base.input
                && flex.base.cached_input <= batch.base.cached_input
                && flex.base.output <= batch.base.output
        }
        (flex, batch) => flex.is_none() && batch.is_none(),
    }
}

#[cfg(test)]
mod tests;
