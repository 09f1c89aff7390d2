//! Callbacks sent again: counted first, then started, and stopped whenever somebody wants.

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::{NaiveDateTime, TimeDelta, Timelike as _};
use domain::id::{self, ResendId};
use domain::resend as rules;
use domain::time::Timestamp;
use serde::Deserialize;
use store::control::audit::{self, Act};
use store::shard::resend;

use crate::no::No;
use crate::seat::InProject;
use crate::state::Desk;
use crate::text;

/// Of a browser's field for a moment, with and without seconds.
const MOMENT: [&str; 2] = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"];
const PER_SECOND: u32 = 20;

/// The form that is filled in before anything is sent.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    /// The host; without one nothing is asked for.
    #[serde(default)]
    pub(crate) resend: String,
    #[serde(default)]
    pub(crate) since: String,
    #[serde(default)]
    pub(crate) until: String,
    #[serde(default)]
    pub(crate) per_second: String,
}

impl Asked {
    pub(crate) fn rate(&self) -> u32 {
        let rate = self.per_second.parse().unwrap_or(PER_SECOND);
        rate.clamp(1, rules::FASTEST)
    }
}

/// What would be sent, exactly.
#[derive(Debug)]
pub(crate) struct Preview {
    pub(crate) host: String,
    /// Of the moments at which the cargo were loaded.
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Timestamp,
    pub(crate) per_second: u32,
    pub(crate) count: u64,
    pub(crate) takes: TimeDelta,
}

impl Preview {
    /// As the form that starts it says it.
    pub(crate) fn until(&self) -> String {
        self.until.format("%Y-%m-%dT%H:%M:%S").to_string()
    }
}

fn moment(text: &str) -> Result<Option<Timestamp>, No> {
    if text.is_empty() {
        return Ok(None);
    }
    let read = |form: &&str| NaiveDateTime::parse_from_str(text, form).ok();
    let read = MOMENT.iter().find_map(read);
    let wrong = || No::Invalid("A moment is written as 2026-01-31T14:30, in UTC.".to_owned());
    read.map(|read| Some(read.and_utc())).ok_or_else(wrong)
}

fn seconds(count: u64, per_second: u32) -> TimeDelta {
    let seconds = rules::seconds(count, per_second);
    TimeDelta::seconds(i64::try_from(seconds).unwrap_or_default())
}

pub(crate) async fn preview(
    within: &InProject,
    asked: &Asked,
    now: Timestamp,
) -> Result<Option<Preview>, No> {
    if asked.resend.is_empty() {
        return Ok(None);
    }
    let (since, until) = (moment(&asked.since)?, moment(&asked.until)?);
    // To the second, as the form says it.
    let until = until.unwrap_or(now);
    let until = until.with_nanosecond(0).unwrap_or(until);
    let first = id::floor(since.unwrap_or(Timestamp::UNIX_EPOCH));
    let last = id::floor(until);
    let host = Some(asked.resend.as_str());
    let count = resend::count(within.shard(), within.id(), host, first, last).await?;
    Ok(Some(Preview {
        host: asked.resend.clone(),
        since,
        until,
        per_second: asked.rate(),
        count,
        takes: seconds(count, asked.rate()),
    }))
}

/// What was previewed.
#[derive(Debug, Deserialize)]
pub(crate) struct Start {
    host: String,
    since: String,
    until: String,
    per_second: u32,
}

pub(crate) async fn start(
    State(desk): State<Desk>,
    within: InProject,
    Form(start): Form<Start>,
) -> Result<Response, No> {
    let now = desk.clock.now();
    let (since, until) = (moment(&start.since)?, moment(&start.until)?);
    let until = until.unwrap_or(now);
    let first = id::floor(since.unwrap_or(Timestamp::UNIX_EPOCH));
    let last = id::floor(until);
    let host = Some(start.host.as_str());
    let count = resend::count(within.shard(), within.id(), host, first, last).await?;
    if count == 0 {
        return Err(No::Invalid(format!(
            "No callback to {} that was given up is left in that time. Nothing was sent.",
            start.host
        )));
    }
    let per_second = start.per_second.clamp(1, rules::FASTEST);
    let from = since.map_or("the beginning".to_owned(), |since| since.to_rfc3339());
    let detail = format!(
        "{} callbacks of cargo loaded from {from} until {}, {per_second} a second",
        text::count(count),
        until.to_rfc3339()
    );
    announce(
        &desk,
        &within,
        "resend.started",
        start.host.clone(),
        detail,
        now,
    )
    .await?;
    let asked = resend::Asked {
        id: ResendId::new(now, within.place.berth, rand::random()),
        organization: within.place.organization,
        project: within.id(),
        host: start.host,
        first,
        last,
        per_second,
        by: within.author().who,
    };
    resend::start(within.shard(), &asked, now).await?;
    Ok(back(&within))
}

async fn announce(
    desk: &Desk,
    within: &InProject,
    action: &'static str,
    subject: String,
    detail: String,
    now: Timestamp,
) -> Result<(), No> {
    let act = Act {
        organization: Some(within.place.organization),
        project: Some(within.id()),
        action,
        subject,
        detail,
    };
    Ok(audit::announce(&desk.control, &within.author(), act, now).await?)
}

#[derive(Debug, Deserialize)]
pub(crate) struct Which {
    resend: String,
}

pub(crate) async fn stop(
    State(desk): State<Desk>,
    within: InProject,
    Form(Which { resend }): Form<Which>,
) -> Result<Response, No> {
    let id: ResendId = resend.parse().map_err(|_| No::NotFound)?;
    let now = desk.clock.now();
    announce(
        &desk,
        &within,
        "resend.stopped",
        id.to_string(),
        String::new(),
        now,
    )
    .await?;
    resend::stop(within.shard(), within.id(), id, now).await?;
    Ok(back(&within))
}

fn back(within: &InProject) -> Response {
    let slug = &within.project.slug;
    Redirect::to(&format!("/dashboard/project/{slug}/callbacks#resends")).into_response()
}
