//! Bulk resends of failed callbacks: preview, start, stop.

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::{TimeDelta, Timelike as _};
use domain::id::{self, ResendId};
use domain::resend as rules;
use domain::time::Timestamp;
use serde::Deserialize;
use store::control::audit_log::{self, AuditEvent};
use store::shard::resend;

use crate::access::ProjectAccess;
use crate::form_time::parse_form_time;
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

const DEFAULT_PER_SECOND: u32 = 20;

/// The preview form.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ResendQuery {
    /// The host; empty if no preview is requested.
    #[serde(default)]
    pub(crate) resend: String,
    #[serde(default)]
    pub(crate) since: String,
    #[serde(default)]
    pub(crate) until: String,
    #[serde(default)]
    pub(crate) per_second: String,
}

impl ResendQuery {
    pub(crate) fn rate(&self) -> u32 {
        let rate = self.per_second.parse().unwrap_or(DEFAULT_PER_SECOND);
        rate.clamp(1, rules::MAX_RESENDS_PER_SECOND)
    }
}

/// What a resend would send.
#[derive(Debug)]
pub(crate) struct ResendPreview {
    pub(crate) host: String,
    /// Filters by the time at which the cargo was loaded.
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Timestamp,
    pub(crate) per_second: u32,
    pub(crate) count: u64,
    pub(crate) estimated_duration: TimeDelta,
}

impl ResendPreview {
    /// As the start form's field value.
    pub(crate) fn until(&self) -> String {
        self.until.format("%Y-%m-%dT%H:%M:%S").to_string()
    }
}

fn parse_timestamp(text: &str) -> Result<Option<Timestamp>, PageError> {
    if text.is_empty() {
        return Ok(None);
    }
    let invalid = || PageError::Invalid("Enter a UTC time such as 2026-01-31T14:30.".to_owned());
    parse_form_time(text).map(Some).ok_or_else(invalid)
}

fn estimate_duration(count: u64, per_second: u32) -> TimeDelta {
    let seconds = rules::estimate_seconds(count, per_second);
    TimeDelta::seconds(i64::try_from(seconds).unwrap_or_default())
}

pub(crate) async fn preview(
    within: &ProjectAccess,
    params: &ResendQuery,
    now: Timestamp,
) -> Result<Option<ResendPreview>, PageError> {
    if params.resend.is_empty() {
        return Ok(None);
    }
    let (since, until) = (
        parse_timestamp(&params.since)?,
        parse_timestamp(&params.until)?,
    );
    // To the second, like the form field.
    let until = until.unwrap_or(now);
    let until = until.with_nanosecond(0).unwrap_or(until);
    let first = id::first_id_at(since.unwrap_or(Timestamp::UNIX_EPOCH));
    let last = id::first_id_at(until);
    let host = Some(params.resend.as_str());
    let count = resend::count_failed(within.shard(), within.id(), host, first, last).await?;
    Ok(Some(ResendPreview {
        host: params.resend.clone(),
        since,
        until,
        per_second: params.rate(),
        count,
        estimated_duration: estimate_duration(count, params.rate()),
    }))
}

/// The form that starts the previewed resend.
#[derive(Debug, Deserialize)]
pub(crate) struct StartResendForm {
    host: String,
    since: String,
    until: String,
    per_second: u32,
}

pub(crate) async fn start(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Form(start): Form<StartResendForm>,
) -> Result<Response, PageError> {
    let now = state.clock.now();
    let (since, until) = (
        parse_timestamp(&start.since)?,
        parse_timestamp(&start.until)?,
    );
    let until = until.unwrap_or(now);
    let first = id::first_id_at(since.unwrap_or(Timestamp::UNIX_EPOCH));
    let last = id::first_id_at(until);
    let host = Some(start.host.as_str());
    let count = resend::count_failed(within.shard(), within.id(), host, first, last).await?;
    if count == 0 {
        return Err(PageError::Invalid(format!(
            "No failed callback to {} is left in this time range. Nothing was sent.",
            start.host
        )));
    }
    let per_second = start.per_second.clamp(1, rules::MAX_RESENDS_PER_SECOND);
    let from = since.map_or("the first load".to_owned(), |since| since.to_rfc3339());
    let detail = format!(
        "{} callbacks of cargo loaded from {from} until {}, {per_second} per second",
        text::count(count),
        until.to_rfc3339()
    );
    record_audit(
        &state,
        &within,
        "resend.started",
        start.host.clone(),
        detail,
        now,
    )
    .await?;
    let new = resend::NewResend {
        id: ResendId::new(now, within.scope.berth, rand::random()),
        organization: within.scope.organization,
        project: within.id(),
        host: start.host,
        first,
        last,
        per_second,
        started_by: within.actor().name,
    };
    resend::start(within.shard(), &new, now).await?;
    Ok(redirect_to_resends(&within))
}

async fn record_audit(
    state: &DashboardState,
    within: &ProjectAccess,
    action: &'static str,
    subject: String,
    detail: String,
    now: Timestamp,
) -> Result<(), PageError> {
    let act = AuditEvent {
        organization: Some(within.scope.organization),
        project: Some(within.id()),
        action,
        subject,
        detail,
    };
    Ok(audit_log::record(&state.control, &within.actor(), act, now).await?)
}

#[derive(Debug, Deserialize)]
pub(crate) struct StopResendForm {
    resend: String,
}

pub(crate) async fn stop(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Form(StopResendForm { resend }): Form<StopResendForm>,
) -> Result<Response, PageError> {
    let id: ResendId = resend.parse().map_err(|_| PageError::NotFound)?;
    let now = state.clock.now();
    record_audit(
        &state,
        &within,
        "resend.stopped",
        id.to_string(),
        String::new(),
        now,
    )
    .await?;
    resend::stop(within.shard(), within.id(), id, now).await?;
    Ok(redirect_to_resends(&within))
}

fn redirect_to_resends(within: &ProjectAccess) -> Response {
    let slug = &within.project.slug;
    Redirect::to(&format!("/dashboard/project/{slug}/callbacks#resends")).into_response()
}
