//! Pauses and resumes lanes and provider accounts. The audit log records each change.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::lane::LaneId;
use serde::Deserialize;
use store::Shard;
use store::control::audit_log::{self, AuditEvent};
use store::shard::{lane, provider};

use crate::access::{Authenticated, ClientInfo};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;

const MAX_REASON_CHARS: usize = 200;

/// The lane (by number) or provider account (by name) to pause or resume.
#[derive(Debug, Deserialize)]
pub(crate) struct PauseForm {
    shard: String,
    lane: Option<i32>,
    account: Option<String>,
    #[serde(default)]
    reason: String,
}

#[derive(Debug)]
enum PauseTarget {
    Lane(LaneId),
    Account(String),
}

/// The target, found on its shard, with a description for people.
#[derive(Debug)]
struct ResolvedTarget {
    shard: Arc<Shard>,
    target: PauseTarget,
    description: String,
}

async fn resolve_target(
    state: &DashboardState,
    form: &PauseForm,
) -> Result<ResolvedTarget, PageError> {
    let shard = state.shard(&form.shard).ok_or(PageError::NotFound)?;
    let (target, description) = match (form.lane, &form.account) {
        (Some(number), _) => {
            let all = lane::list(shard).await?.into_iter();
            let mut found = all.filter(|(id, _)| id.0 == number);
            let (id, lane) = found.next().ok_or(PageError::NotFound)?;
            let (provider, model) = (&lane.provider, &lane.model);
            let via = lane.via.as_str();
            let description = format!("lane {provider} / {model} ({via}) on shard {}", shard.name);
            (PauseTarget::Lane(id), description)
        }
        (None, Some(name)) => {
            let known = provider::list(shard).await?;
            let known = known.into_iter().find(|status| status.name == *name);
            let name = known.ok_or(PageError::NotFound)?.name;
            let description = format!("account {name} on shard {}", shard.name);
            (PauseTarget::Account(name), description)
        }
        (None, None) => return Err(PageError::NotFound),
    };
    Ok(ResolvedTarget {
        shard: Arc::clone(shard),
        target,
        description,
    })
}

#[derive(Debug, Template)]
#[template(path = "operations_pause.html")]
struct PausePage {
    page: PageLayout,
    form: PauseForm,
    description: String,
    is_lane: bool,
}

/// The form that asks for a reason.
pub(crate) async fn page(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
    Query(form): Query<PauseForm>,
) -> Result<Response, PageError> {
    let target = resolve_target(&state, &form).await?;
    Ok(render_page(&PausePage {
        page: PageLayout::new("Pause", NavItem::Operations, &access, &client),
        description: target.description,
        is_lane: matches!(target.target, PauseTarget::Lane(_)),
        form,
    }))
}

pub(crate) async fn pause(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    Form(form): Form<PauseForm>,
) -> Result<Response, PageError> {
    let reason = form.reason.trim();
    if !(1..=MAX_REASON_CHARS).contains(&reason.chars().count()) {
        let text = "Enter a reason of 1 to 200 characters.";
        return Err(PageError::Invalid(text.to_owned()));
    }
    let target = resolve_target(&state, &form).await?;
    let by = access.signed_in.actor();
    let act = AuditEvent {
        action: match target.target {
            PauseTarget::Lane(_) => "lane.paused",
            PauseTarget::Account(_) => "account.paused",
        },
        subject: target.description,
        detail: reason.to_owned(),
        ..AuditEvent::default()
    };
    audit_log::record(&state.control, &by, act, state.clock.now()).await?;
    let now = target.shard.clock.now();
    match target.target {
        PauseTarget::Lane(id) => {
            lane::pause(&target.shard, id, &by.name, Some(reason), now).await?;
        }
        PauseTarget::Account(name) => {
            let reason = format!("{reason} ({})", by.name);
            provider::pause(&target.shard, &name, &reason, None, now).await?;
        }
    }
    Ok(Redirect::to("/dashboard/operations").into_response())
}

pub(crate) async fn resume(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    Form(form): Form<PauseForm>,
) -> Result<Response, PageError> {
    let target = resolve_target(&state, &form).await?;
    let act = AuditEvent {
        action: match target.target {
            PauseTarget::Lane(_) => "lane.resumed",
            PauseTarget::Account(_) => "account.resumed",
        },
        subject: target.description,
        ..AuditEvent::default()
    };
    let by = access.signed_in.actor();
    audit_log::record(&state.control, &by, act, state.clock.now()).await?;
    match target.target {
        PauseTarget::Lane(id) => {
            lane::resume(&target.shard, id).await?;
        }
        PauseTarget::Account(name) => {
            provider::resume(&target.shard, &name).await?;
            provider::wake_waiting(&target.shard, &name, target.shard.clock.now()).await?;
        }
    }
    Ok(Redirect::to("/dashboard/operations").into_response())
}
