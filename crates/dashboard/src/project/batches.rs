//! Batches that carry a project's cargo: how far they are, and what became of its own.

use askama::Template;
use axum::extract::{Path, Query};
use axum::response::Response;
use chrono::TimeDelta;
use domain::batch::{Delay, State};
use domain::id::{self, BatchId};
use domain::time::Timestamp;
use serde::Deserialize;
use store::view::batches::{self, Batch, Detail, Failures, Member};

use crate::chart;
use crate::no::No;
use crate::page::{Here, Page, show};
use crate::project::models::took;
use crate::seat::{InProject, Visitor};
use crate::text::{self, Markup};

const PAGE: usize = 50;
/// Of a batch's cargo, so many are looked at for those of the project.
const LOOKED_AT: u32 = 500;
/// Of the project's failures around a batch, so many are looked at for those in it.
const FAILURES: u32 = 1000;
/// No cargo is gathered that is older.
const OLDEST: TimeDelta = TimeDelta::hours(27);

fn chip(batch: &Batch) -> (&'static str, &'static str) {
    match batch.state {
        State::Gathered => ("calm", "gathered"),
        State::Submitting if batch.delay.is_some() => ("warm", "delayed"),
        State::Submitting => ("busy", "submitting"),
        State::Running if batch.cancel_wanted_at.is_some() => ("warm", "being cancelled"),
        State::Running => ("busy", "running"),
        State::Ended if batch.cancelled_at.is_some() => ("warm", "cancelled"),
        State::Ended => ("good", "ended"),
    }
}

fn progress(batch: &Batch) -> Markup {
    let parts = [
        ("good", "succeeded", batch.succeeded),
        ("bad", "failed", batch.failed),
    ];
    let name = format!("{} cargo of this project", text::count(batch.cargo));
    chart::bar(&name, batch.cargo, &parts)
}

/// When it ends if it takes as long as those before it did.
fn expected(batch: &Batch) -> Option<Timestamp> {
    let seconds = batch
        .turnaround_seconds
        .filter(|_| batch.ended_at.is_none())?;
    Some(batch.running_at? + took(seconds))
}

fn open(batch: &Batch) -> u64 {
    batch.cargo.saturating_sub(batch.succeeded + batch.failed)
}

#[derive(Debug, Template)]
#[template(path = "batches.html")]
struct List {
    page: Page,
    batches: Vec<Batch>,
    is_first: bool,
    older: Option<BatchId>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Before {
    before: Option<String>,
}

pub(crate) async fn list(
    within: InProject,
    visitor: Visitor,
    Query(Before { before }): Query<Before>,
) -> Result<Response, No> {
    let before = before.map(|before| before.parse()).transpose();
    let before: Option<BatchId> = before.map_err(|_| No::NotFound)?;
    let most = u32::try_from(PAGE + 1).unwrap_or(u32::MAX);
    let mut batches = batches::page(within.shard(), within.id(), before, most).await?;
    let more = batches.len() > PAGE;
    batches.truncate(PAGE);
    Ok(show(&List {
        page: Page::of_project("Batches", Here::Batches, &within, &visitor).live(),
        older: batches.last().map(|batch| batch.id).filter(|_| more),
        is_first: before.is_none(),
        batches,
    }))
}

#[derive(Debug, Template)]
#[template(path = "batch.html")]
struct One {
    page: Page,
    detail: Detail,
    steps: Vec<Step>,
    failures: Vec<Failures>,
    members: Vec<Member>,
    from: u32,
    /// Where to look further, if the batch goes on.
    further: Option<u32>,
}

/// A point that a batch comes past.
#[derive(Debug)]
struct Step {
    name: &'static str,
    at: Option<Timestamp>,
    /// How long it took to the next.
    took: Option<TimeDelta>,
    is_now: bool,
}

fn steps(batch: &Batch) -> Vec<Step> {
    let points = [
        ("gathered", Some(batch.gathered_at), State::Gathered),
        (
            "submitting to the provider",
            batch.submitting_at,
            State::Submitting,
        ),
        ("running at the provider", batch.running_at, State::Running),
        ("ended", batch.ended_at, State::Ended),
    ];
    let after = points.iter().skip(1).map(|(_, at, _)| *at).chain([None]);
    let steps = points
        .iter()
        .zip(after)
        .map(|((name, at, state), next)| Step {
            name,
            at: *at,
            took: at.zip(next).map(|(at, next)| next - at),
            is_now: *state == batch.state && batch.state != State::Ended,
        });
    steps.collect()
}

impl One {
    /// What a person would want to know, in words.
    fn words(&self) -> Option<(&'static str, &'static str)> {
        let batch = &self.detail.batch;
        if batch.cancelled_at.is_some() {
            return Some((
                "warm",
                "The job was cancelled at the provider. What was finished by then is kept; the rest waits again or ended with an error.",
            ));
        }
        if batch.cancel_wanted_at.is_some() && batch.ended_at.is_none() {
            return Some((
                "warm",
                "The provider was asked to cancel the job. What is finished by then is kept.",
            ));
        }
        let delay = batch.delay.filter(|_| batch.state == State::Submitting);
        delay.map(|delay| match delay {
            Delay::Full => (
                "warm",
                "Not sent yet: as many tokens wait at the provider as the account may have there. It is tried again by itself.",
            ),
            Delay::Refused => (
                "warm",
                "Not sent yet: the provider takes nothing for now. It is tried again by itself.",
            ),
            Delay::Unready => (
                "warm",
                "Not sent yet: it could not be put together. It is tried again by itself.",
            ),
        })
    }

    fn usual(&self) -> Option<TimeDelta> {
        self.detail.batch.turnaround_seconds.map(took)
    }

    fn last_looked_at(&self) -> u64 {
        let last = self.from.saturating_add(LOOKED_AT - 1);
        u64::from(last).min(self.detail.total)
    }
}

fn chip_of(member: &Member) -> (&'static str, &'static str) {
    match (member.success, member.has_left) {
        (Some(true), _) => ("good", "succeeded"),
        (Some(false), _) => ("bad", "failed"),
        (None, true) => ("warm", "went back to wait"),
        (None, false) => ("busy", "open"),
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct From {
    from: Option<u32>,
}

pub(crate) async fn one(
    within: InProject,
    visitor: Visitor,
    Path((_, id)): Path<(String, String)>,
    Query(From { from }): Query<From>,
) -> Result<Response, No> {
    let id: BatchId = id.parse().map_err(|_| No::NotFound)?;
    let (shard, project) = (within.shard(), within.id());
    let detail = batches::find(shard, project, id)
        .await?
        .ok_or(No::NotFound)?;
    let from = from.unwrap_or(1).max(1);
    let mut members = batches::members(shard, project, id, from, LOOKED_AT).await?;
    let past = from.saturating_add(LOOKED_AT);
    let further = match members.get(PAGE) {
        Some(next) => u32::try_from(next.place).ok(),
        None => Some(past).filter(|past| u64::from(*past) <= detail.total),
    };
    members.truncate(PAGE);
    let gathered = detail.batch.gathered_at;
    let stretch = (
        id::floor(gathered - OLDEST),
        id::floor(gathered + TimeDelta::seconds(60)),
    );
    let failures = if detail.batch.failed > 0 {
        batches::failures(shard, project, id, stretch, FAILURES).await?
    } else {
        Vec::new()
    };
    Ok(show(&One {
        page: Page::of_project(format!("Batch {id}"), Here::Batches, &within, &visitor).live(),
        steps: steps(&detail.batch),
        detail,
        failures,
        members,
        from,
        further,
    }))
}
