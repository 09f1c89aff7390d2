//! A project's groups: the list with their progress.

pub(crate) mod cancel;

pub(crate) mod detail;

mod group_text;

pub(crate) mod results;

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use domain::id::GroupId;
use domain::time::Timestamp;
use serde::Deserialize;
use store::view::groups::{self, ProjectGroup};

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::text;

const PAGE_SIZE: usize = 50;

#[derive(Debug, Template)]
#[template(path = "groups.html")]
struct GroupsPage {
    page: PageLayout,
    groups: Vec<ProjectGroup>,
    now: Timestamp,
    is_first_page: bool,
    older: Option<GroupId>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct GroupsQuery {
    before: Option<String>,
}

pub(crate) async fn page(
    within: ProjectAccess,
    client: ClientInfo,
    Query(GroupsQuery { before }): Query<GroupsQuery>,
) -> Result<Response, PageError> {
    let before = before.map(|before| before.parse()).transpose();
    let before: Option<GroupId> = before.map_err(|_| PageError::NotFound)?;
    let limit = u32::try_from(PAGE_SIZE + 1).unwrap_or(u32::MAX);
    let shard = within.shard();
    let mut found = groups::list(shard, within.id(), before, limit).await?;
    let more = found.len() > PAGE_SIZE;
    found.truncate(PAGE_SIZE);
    Ok(render_page(&GroupsPage {
        page: PageLayout::for_project("Groups", NavItem::Groups, &within, &client).live(),
        now: shard.clock.now(),
        older: found.last().map(|group| group.id).filter(|_| more),
        is_first_page: before.is_none(),
        groups: found,
    }))
}
