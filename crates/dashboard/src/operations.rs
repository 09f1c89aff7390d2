//! For those who run the service: every shard at a glance, and what can be stopped.

pub(crate) mod audit;

pub(crate) mod pause;

pub(crate) mod people;

mod shard;

mod words;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use futures::future::join_all;
use store::view::operations::{self, Node};

use crate::no::No;
use crate::operations::shard::{Report, Told};
use crate::page::{Here, Page, show};
use crate::seat::{Seated, Visitor};
use crate::state::Desk;
use crate::text;

#[derive(Debug, Template)]
#[template(path = "operations.html")]
struct Operations {
    page: Page,
    /// Every shard: what it told, or nothing.
    shards: Vec<Told>,
    serving: Vec<Node>,
}

impl Operations {
    fn reports(&self) -> impl Iterator<Item = (&str, &Report)> {
        let told = self.shards.iter();
        told.filter_map(|told| Some((told.name.as_str(), told.report.as_ref()?)))
    }

    fn away(&self) -> Vec<&str> {
        let away = self.shards.iter().filter(|told| told.report.is_none());
        away.map(|told| told.name.as_str()).collect()
    }

    fn has_lanes(&self) -> bool {
        self.reports().any(|(_, report)| !report.lanes.is_empty())
    }

    fn has_flights(&self) -> bool {
        self.reports().any(|(_, report)| !report.flights.is_empty())
    }

    fn has_odd(&self) -> bool {
        self.reports().any(|(_, report)| !report.odd.is_empty())
    }

    fn has_accounts(&self) -> bool {
        self.reports()
            .any(|(_, report)| !report.accounts.is_empty())
    }
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    visitor: Visitor,
) -> Result<Response, No> {
    let asked = desk.shards.iter().map(shard::ask);
    let (shards, serving) = tokio::join!(join_all(asked), operations::serving(&desk.control));
    Ok(show(&Operations {
        page: Page::new("Operations", Here::Operations, &seat, &visitor).live(),
        shards,
        serving: serving?,
    }))
}
