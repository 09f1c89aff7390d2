//! Batches with cargo of a project: the list and the page of one batch.

use askama::Template;
use axum::extract::{Path, Query};
use axum::response::Response;
use chrono::TimeDelta;
use domain::batch::{BatchState, SubmissionDelay};
use domain::id::BatchId;
use domain::time::Timestamp;
use serde::Deserialize;
use store::shard::cargo_id_range::CargoIdRange;
use store::view::batches::{
    self, BatchFailureGroup, ProjectBatch, ProjectBatchCargo, ProjectBatchDetail,
};

use crate::access::{ClientInfo, ProjectAccess};
use crate::chart;
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::project::models::took;
use crate::text::{self, Markup};

const PAGE_SIZE: usize = 50;
/// A batch's cargo to search for the project's own, per page.
const MAX_EXAMINED_CARGO: u32 = 500;
/// The project's failures to search for those in the batch.
const MAX_EXAMINED_FAILURES: u32 = 1000;
/// Cargo in a batch is never older than this.
const MAX_CARGO_AGE: TimeDelta = TimeDelta::hours(27);

fn chip(batch: &ProjectBatch) -> (&'static str, &'static str) {
    match batch.state {
        BatchState::Gathered => ("calm", "gathered"),
        BatchState::Submitting if batch.delay.is_some() => ("warm", "delayed"),
        BatchState::Submitting => ("busy", "submitting"),
        BatchState::Running if batch.cancel_wanted_at.is_some() => ("warm", "cancelling"),
        BatchState::Running => ("busy", "running"),
        BatchState::Ended if batch.cancelled_at.is_some() => ("warm", "cancelled"),
        BatchState::Ended => ("good", "ended"),
    }
}

fn progress(batch: &ProjectBatch) -> Markup {
    let parts = [
        ("good", "succeeded", batch.succeeded),
        ("bad", "failed", batch.failed),
    ];
    let name = format!("{} cargo in this project", text::count(batch.cargo));
    chart::progress_bar(&name, batch.cargo, &parts)
}

/// The expected end, from the usual turnaround of the lane.
fn expected_end(batch: &ProjectBatch) -> Option<Timestamp> {
    let seconds = batch
        .turnaround_seconds
        .filter(|_| batch.ended_at.is_none())?;
    Some(batch.running_at? + took(seconds))
}

fn open_count(batch: &ProjectBatch) -> u64 {
    batch.cargo.saturating_sub(batch.succeeded + batch.failed)
}

#[derive(Debug, Template)]
#[template(path = "batches.html")]
struct BatchesPage {
    page: PageLayout,
    batches: Vec<ProjectBatch>,
    is_first_page: bool,
    older: Option<BatchId>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BatchesQuery {
    before: Option<String>,
}

pub(crate) async fn list(
    within: ProjectAccess,
    client: ClientInfo,
    Query(BatchesQuery { before }): Query<BatchesQuery>,
) -> Result<Response, PageError> {
    let before = before.map(|before| before.parse()).transpose();
    let before: Option<BatchId> = before.map_err(|_| PageError::NotFound)?;
    let limit = u32::try_from(PAGE_SIZE + 1).unwrap_or(u32::MAX);
    let mut batches = batches::list(within.shard(), within.id(), before, limit).await?;
    let more = batches.len() > PAGE_SIZE;
    batches.truncate(PAGE_SIZE);
    Ok(render_page(&BatchesPage {
        page: PageLayout::for_project("Batches", NavItem::Batches, &within, &client).live(),
        older: batches.last().map(|batch| batch.id).filter(|_| more),
        is_first_page: before.is_none(),
        batches,
    }))
}

#[derive(Debug, Template)]
#[template(path = "batch.html")]
struct BatchPage {
    page: PageLayout,
    detail: ProjectBatchDetail,
    steps: Vec<BatchStep>,
    failures: Vec<BatchFailureGroup>,
    members: Vec<ProjectBatchCargo>,
    from: u32,
    /// The position at which the next page starts.
    next_from: Option<u32>,
}

/// A step in the life of a batch.
#[derive(Debug)]
struct BatchStep {
    name: &'static str,
    at: Option<Timestamp>,
    /// Time until the next step.
    duration: Option<TimeDelta>,
    is_current: bool,
}

fn steps(batch: &ProjectBatch) -> Vec<BatchStep> {
    let points = [
        ("gathered", Some(batch.gathered_at), BatchState::Gathered),
        (
            "submission started",
            batch.submitting_at,
            BatchState::Submitting,
        ),
        (
            "running at the provider",
            batch.running_at,
            BatchState::Running,
        ),
        ("ended", batch.ended_at, BatchState::Ended),
    ];
    let after = points.iter().skip(1).map(|(_, at, _)| *at).chain([None]);
    let steps = points
        .iter()
        .zip(after)
        .map(|((name, at, state), next)| BatchStep {
            name,
            at: *at,
            duration: at.zip(next).map(|(at, next)| next - at),
            is_current: *state == batch.state && batch.state != BatchState::Ended,
        });
    steps.collect()
}

impl BatchPage {
    /// An explanation of a cancelled or delayed batch.
    fn notice(&self) -> Option<(&'static str, &'static str)> {
        let batch = &self.detail.batch;
        if batch.cancelled_at.is_some() {
            return Some((
                "warm",
                "The job was cancelled at the provider. Finished results are kept. \
                 Unfinished cargo was requeued or failed.",
            ));
        }
        if batch.cancel_wanted_at.is_some() && batch.ended_at.is_none() {
            return Some((
                "warm",
                "The job is being cancelled at the provider. Finished results are kept.",
            ));
        }
        let delay = batch
            .delay
            .filter(|_| batch.state == BatchState::Submitting);
        delay.map(|delay| match delay {
            SubmissionDelay::AccountFull => (
                "warm",
                "Not submitted yet: the provider account has reached its limit of enqueued tokens. \
                 Longshore retries automatically.",
            ),
            SubmissionDelay::ProviderRefused => (
                "warm",
                "Not submitted yet: the provider does not accept jobs at the moment. \
                 Longshore retries automatically.",
            ),
            SubmissionDelay::NotAssembled => (
                "warm",
                "Not submitted yet: the job could not be prepared. \
                 Longshore retries automatically.",
            ),
        })
    }

    fn usual_turnaround(&self) -> Option<TimeDelta> {
        self.detail.batch.turnaround_seconds.map(took)
    }

    fn last_examined(&self) -> u64 {
        let last = self.from.saturating_add(MAX_EXAMINED_CARGO - 1);
        u64::from(last).min(self.detail.total)
    }
}

fn cargo_chip(member: &ProjectBatchCargo) -> (&'static str, &'static str) {
    match (member.success, member.has_left) {
        (Some(true), _) => ("good", "succeeded"),
        (Some(false), _) if member.is_cancelled => ("warm", "cancelled"),
        (Some(false), _) => ("bad", "failed"),
        (None, true) => ("warm", "requeued"),
        (None, false) => ("busy", "open"),
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct BatchQuery {
    from: Option<u32>,
}

pub(crate) async fn detail(
    within: ProjectAccess,
    client: ClientInfo,
    Path((_, id)): Path<(String, String)>,
    Query(BatchQuery { from }): Query<BatchQuery>,
) -> Result<Response, PageError> {
    let id: BatchId = id.parse().map_err(|_| PageError::NotFound)?;
    let (shard, project) = (within.shard(), within.id());
    let detail = batches::find(shard, project, id)
        .await?
        .ok_or(PageError::NotFound)?;
    let from = from.unwrap_or(1).max(1);
    let mut members = batches::list_cargo(shard, project, id, from, MAX_EXAMINED_CARGO).await?;
    let past = from.saturating_add(MAX_EXAMINED_CARGO);
    let further = match members.get(PAGE_SIZE) {
        Some(next) => u32::try_from(next.position).ok(),
        None => Some(past).filter(|past| u64::from(*past) <= detail.total),
    };
    members.truncate(PAGE_SIZE);
    let gathered = detail.batch.gathered_at;
    let ids =
        CargoIdRange::loaded_between(gathered - MAX_CARGO_AGE, gathered + TimeDelta::seconds(60));
    let failures = if detail.batch.failed > 0 {
        batches::group_failures(shard, project, id, ids, MAX_EXAMINED_FAILURES).await?
    } else {
        Vec::new()
    };
    Ok(render_page(&BatchPage {
        page: PageLayout::for_project(format!("Batch {id}"), NavItem::Batches, &within, &client)
            .live(),
        steps: steps(&detail.batch),
        detail,
        failures,
        members,
        from,
        next_from: further,
    }))
}
