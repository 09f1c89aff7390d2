//! Operations pages: shards, lanes, provider accounts, batches and nodes.

pub(crate) mod audit_log;

pub(crate) mod pause;

pub(crate) mod people;

mod shard_status;

mod formatting;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use futures::future::join_all;
use store::view::operations::{self, NodeStatus};

use crate::access::{Authenticated, ClientInfo};
use crate::operations::shard_status::{ShardReport, ShardStatus};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

#[derive(Debug, Template)]
#[template(path = "operations.html")]
struct OperationsPage {
    page: PageLayout,
    shards: Vec<ShardStatus>,
    serving_nodes: Vec<NodeStatus>,
}

impl OperationsPage {
    fn reports(&self) -> impl Iterator<Item = (&str, &ShardReport)> {
        let shards = self.shards.iter();
        shards.filter_map(|shard| Some((shard.name.as_str(), shard.report.as_ref()?)))
    }

    fn unreachable_shards(&self) -> Vec<&str> {
        let unreachable = self.shards.iter().filter(|shard| shard.report.is_none());
        unreachable.map(|shard| shard.name.as_str()).collect()
    }

    fn has_lanes(&self) -> bool {
        self.reports().any(|(_, report)| !report.lanes.is_empty())
    }

    fn has_open_batches(&self) -> bool {
        self.reports()
            .any(|(_, report)| !report.open_batches.is_empty())
    }

    fn has_delayed_batches(&self) -> bool {
        self.reports()
            .any(|(_, report)| !report.delayed_batches.is_empty())
    }

    fn has_accounts(&self) -> bool {
        self.reports()
            .any(|(_, report)| !report.accounts.is_empty())
    }
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
) -> Result<Response, PageError> {
    let checks = state.shards.iter().map(shard_status::check_shard);
    let (shards, serving) = tokio::join!(
        join_all(checks),
        operations::list_serving_nodes(&state.control)
    );
    Ok(render_page(&OperationsPage {
        page: PageLayout::new("Operations", NavItem::Operations, &access, &client).live(),
        shards,
        serving_nodes: serving?,
    }))
}
