//! The page of one group: progress, cost, failures and its newest results.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use domain::id::GroupId;
use domain::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use store::shard::group::{self, GroupFailure};
use store::view::groups::{self, GroupResultItem, ProjectGroup};

use super::group_text;
use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::read_audit::record_operator_read;
use crate::state::DashboardState;
use crate::text;

const PAGE_SIZE: usize = 50;
const MAX_FAILURES: u32 = 10;

#[derive(Debug, Template)]
#[template(path = "group.html")]
struct GroupPage {
    page: PageLayout,
    group: ProjectGroup,
    metadata: Option<String>,
    failures: Vec<GroupFailure>,
    results: Vec<GroupResultItem>,
    now: Timestamp,
    is_first_page: bool,
    /// The number before which the next page starts.
    older: Option<u64>,
}

impl GroupPage {
    fn base(&self) -> String {
        format!("{}/groups/{}", self.page.base(), self.group.id)
    }

    fn may_cancel(&self) -> bool {
        let times = &self.group.times;
        let is_running = times.completed_at.is_none() && times.cancel_requested_at.is_none();
        self.page.may_develop() && is_running
    }

    fn cancel_question(&self) -> String {
        format!(
            "Cancel the group {}? No more cargo can be added. {} of its cargo are unfinished: those \
             that no provider has are cancelled and cost nothing. This cannot be undone.",
            self.group.name,
            text::count(self.group.counts.unfinished())
        )
    }
}

/// Rejects invalid ids and ids of another berth without a query.
pub(super) fn parse_group_id(within: &ProjectAccess, text: &str) -> Result<GroupId, PageError> {
    let group = text.parse::<GroupId>().map_err(|_| PageError::NotFound)?;
    if group.berth() == within.scope.berth {
        Ok(group)
    } else {
        Err(PageError::NotFound)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct GroupQuery {
    before: Option<u64>,
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Path((_, id)): Path<(String, String)>,
    Query(GroupQuery { before }): Query<GroupQuery>,
) -> Result<Response, PageError> {
    let id = parse_group_id(&within, &id)?;
    let (shard, project) = (within.shard(), within.id());
    let found = groups::find(shard, project, id).await?;
    let found = found.ok_or(PageError::NotFound)?;
    if !client.is_refresh {
        record_operator_read(&state, &within, "group.read", id.to_string()).await?;
    }
    let failures = if found.group.counts.failed > 0 {
        group::failures(shard, id, MAX_FAILURES).await?
    } else {
        Vec::new()
    };
    let limit = u32::try_from(PAGE_SIZE + 1).unwrap_or(u32::MAX);
    let mut results = groups::list_results(shard, project, id, before, limit).await?;
    let more = results.len() > PAGE_SIZE;
    results.truncate(PAGE_SIZE);
    let title = format!("Group {}", found.group.name);
    let page = PageLayout::for_project(title, NavItem::Groups, &within, &client);
    let is_running = found.group.times.completed_at.is_none();
    Ok(render_page(&GroupPage {
        page: if is_running { page.live() } else { page },
        older: results.last().map(|last| last.number).filter(|_| more),
        is_first_page: before.is_none(),
        now: shard.clock.now(),
        metadata: found.metadata.as_deref().map(format_metadata),
        group: found.group,
        failures,
        results,
    }))
}

fn format_metadata(json: &[u8]) -> String {
    let pretty = serde_json::from_slice::<Value>(json);
    let pretty = pretty.and_then(|value| serde_json::to_string_pretty(&value));
    pretty.unwrap_or_else(|_| String::from_utf8_lossy(json).into_owned())
}
