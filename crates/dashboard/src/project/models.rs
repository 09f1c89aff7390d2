//! The models that a project may name: what they read, what they cost, how they fare here.

use std::collections::HashMap;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chrono::TimeDelta;
use domain::id::ProjectId;
use domain::model::{Model, Price};
use domain::route::{Route, Via};
use domain::time::Timestamp;
use store::Shard;
use store::shard::provider::{self, Paused};
use store::view::models::{self, Done, Way};

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::seat::{InProject, Visitor};
use crate::state::Desk;
use crate::text;

#[derive(Debug, Template)]
#[template(path = "models.html")]
struct Models {
    page: Page,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    model: Model,
    routes: Vec<OnRoute>,
    done: Option<Done>,
}

/// How a model's route stands on this shard.
#[derive(Debug)]
struct OnRoute {
    provider: String,
    via: Via,
    took: Option<TimeDelta>,
    /// Why nothing goes that way.
    stop: Option<Stop>,
}

#[derive(Debug)]
enum Stop {
    /// An operator lets nothing be gathered.
    Lane(Option<String>),
    Provider(Paused),
}

impl Row {
    fn state(&self) -> (&'static str, &'static str) {
        let open = self.routes.iter().filter(|route| route.stop.is_none());
        match open.count() {
            0 => ("bad", "paused"),
            open if open < self.routes.len() => ("warm", "partly paused"),
            _ => ("good", "available"),
        }
    }

    fn batch(&self) -> Option<Price> {
        self.model.prices.map(|prices| prices.batch)
    }

    /// How much less a batch costs, in per cent of the realtime price, for as much read as written.
    fn discount(&self) -> Option<i64> {
        let (batch, realtime) = (self.batch()?, self.model.realtime()?);
        let sum = |price: Price| (price.input + price.output).nanos();
        let less = (sum(realtime) - sum(batch)).checked_mul(100)?;
        less.checked_div(sum(realtime)).filter(|less| *less > 0)
    }

    fn took(&self) -> Option<TimeDelta> {
        let open = self.routes.iter().filter(|route| route.stop.is_none());
        open.filter_map(|route| route.took).min()
    }

    fn completed(&self) -> u64 {
        let done = self.done.as_ref();
        done.map_or(0, |done| done.succeeded + done.failed)
    }
}

impl Models {
    fn is_operator(&self) -> bool {
        self.page.seat.guest.person.is_operator
    }
}

struct Seen {
    ways: Vec<Way>,
    paused: HashMap<String, Paused>,
    now: Timestamp,
}

impl Seen {
    fn on_route(&self, model: &Model, route: &Route) -> OnRoute {
        let way = self.ways.iter().find(|way| {
            way.model == model.id && way.provider == route.provider && way.via == route.via
        });
        let lane = way.filter(|way| way.paused_at.is_some());
        let lane = lane.map(|way| Stop::Lane(way.pause_reason.clone()));
        let paused = self.paused.get(&route.provider);
        let paused = paused.filter(|paused| paused.lasts(self.now)).cloned();
        OnRoute {
            provider: route.provider.clone(),
            via: route.via,
            took: way.and_then(|way| way.turnaround_seconds).map(took),
            stop: lane.or_else(|| paused.map(Stop::Provider)),
        }
    }
}

/// Seconds as they were measured.
#[expect(clippy::cast_possible_truncation, reason = "bounded before")]
pub(crate) fn took(seconds: f64) -> TimeDelta {
    TimeDelta::milliseconds((seconds.clamp(0.0, 1e9) * 1000.0) as i64)
}

async fn done(shard: &Shard, of: ProjectId, now: Timestamp) -> Result<HashMap<String, Done>, No> {
    let done = models::done(shard, of, now - TimeDelta::hours(24)).await?;
    let named = done.into_iter().map(|done| (done.model.clone(), done));
    Ok(named.collect())
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
) -> Result<Response, No> {
    let (shard, now) = (within.shard(), desk.clock.now());
    let seen = Seen {
        ways: models::ways(shard).await?,
        paused: provider::paused(shard).await?,
        now,
    };
    let mut done = done(shard, within.id(), now).await?;
    let catalogue = desk.catalogue.borrow().clone();
    let rows = catalogue.models().map(|model| {
        let routes = model.routes.on(&shard.name);
        Row {
            routes: routes.iter().map(|it| seen.on_route(model, it)).collect(),
            done: done.remove(&model.id),
            model: model.clone(),
        }
    });
    Ok(show(&Models {
        rows: rows.collect(),
        page: Page::of_project("Models", Here::Models, &within, &visitor),
    }))
}
