//! The models of the catalogue: prices, turnaround, availability and recent usage.

use std::collections::HashMap;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chrono::TimeDelta;
use domain::id::ProjectId;
use domain::model::{Model, Price};
use domain::route::{InferenceMode, Route};
use domain::time::Timestamp;
use store::Shard;
use store::shard::provider::{self, ProviderPauseRow};
use store::view::models::{self, ModelCounts, ModelLane};

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

#[derive(Debug, Template)]
#[template(path = "models.html")]
struct ModelsPage {
    page: PageLayout,
    rows: Vec<ModelRow>,
}

#[derive(Debug)]
struct ModelRow {
    model: Model,
    routes: Vec<RouteStatus>,
    recent_usage: Option<ModelCounts>,
}

/// The status of a model's route on this shard.
#[derive(Debug)]
struct RouteStatus {
    provider: String,
    via: InferenceMode,
    turnaround: Option<TimeDelta>,
    /// Why the route is paused.
    pause: Option<RoutePause>,
}

#[derive(Debug)]
enum RoutePause {
    /// An operator paused the lane.
    Lane(Option<String>),
    Provider(ProviderPauseRow),
}

impl ModelRow {
    fn state(&self) -> (&'static str, &'static str) {
        let open = self.routes.iter().filter(|route| route.pause.is_none());
        match open.count() {
            0 => ("bad", "paused"),
            open if open < self.routes.len() => ("warm", "partly paused"),
            _ => ("good", "available"),
        }
    }

    fn batch_price(&self) -> Option<Price> {
        self.model.prices.map(|prices| prices.batch)
    }

    /// The batch discount in percent of the realtime price, for equal input and output tokens.
    fn discount(&self) -> Option<i64> {
        let (batch, realtime) = (self.batch_price()?, self.model.realtime()?);
        let sum = |price: Price| (price.input + price.output).nanos();
        let less = (sum(realtime) - sum(batch)).checked_mul(100)?;
        less.checked_div(sum(realtime)).filter(|less| *less > 0)
    }

    fn turnaround(&self) -> Option<TimeDelta> {
        let open = self.routes.iter().filter(|route| route.pause.is_none());
        open.filter_map(|route| route.turnaround).min()
    }

    fn completed(&self) -> u64 {
        let done = self.recent_usage.as_ref();
        done.map_or(0, |done| done.succeeded + done.failed)
    }
}

impl ModelsPage {
    fn is_operator(&self) -> bool {
        self.page.access.signed_in.person.is_operator
    }
}

struct ShardLanes {
    lanes: Vec<ModelLane>,
    paused: HashMap<String, ProviderPauseRow>,
    now: Timestamp,
}

impl ShardLanes {
    fn route_status(&self, model: &Model, route: &Route) -> RouteStatus {
        let lane = self.lanes.iter().find(|lane| {
            lane.model == model.id && lane.provider == route.provider && lane.via == route.via
        });
        let lane_pause = lane.filter(|lane| lane.paused_at.is_some());
        let lane_pause = lane_pause.map(|lane| RoutePause::Lane(lane.pause_reason.clone()));
        let paused = self.paused.get(&route.provider);
        let paused = paused
            .filter(|paused| paused.is_in_force(self.now))
            .cloned();
        RouteStatus {
            provider: route.provider.clone(),
            via: route.via,
            turnaround: lane.and_then(|lane| lane.turnaround_seconds).map(took),
            pause: lane_pause.or_else(|| paused.map(RoutePause::Provider)),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "clamped")]
pub(crate) fn took(seconds: f64) -> TimeDelta {
    TimeDelta::milliseconds((seconds.clamp(0.0, 1e9) * 1000.0) as i64)
}

async fn read_recent_usage(
    shard: &Shard,
    of: ProjectId,
    now: Timestamp,
) -> Result<HashMap<String, ModelCounts>, PageError> {
    let done = models::count_by_model(shard, of, now - TimeDelta::hours(24)).await?;
    let named = done.into_iter().map(|done| (done.model.clone(), done));
    Ok(named.collect())
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    let (shard, now) = (within.shard(), state.clock.now());
    let seen = ShardLanes {
        lanes: models::list_lanes(shard).await?,
        paused: provider::list_paused(shard).await?,
        now,
    };
    let mut done = read_recent_usage(shard, within.id(), now).await?;
    let catalogue = state.catalogue.borrow().clone();
    let rows = catalogue.models().map(|model| {
        let routes = model.routes.for_shard(&shard.name);
        ModelRow {
            routes: routes
                .iter()
                .map(|it| seen.route_status(model, it))
                .collect(),
            recent_usage: done.remove(&model.id),
            model: model.clone(),
        }
    });
    Ok(render_page(&ModelsPage {
        rows: rows.collect(),
        page: PageLayout::for_project("Models", NavItem::Models, &within, &client),
    }))
}
