//! The page of one cargo: timeline, input, output, cost and callback attempts.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::TimeDelta;
use domain::cargo::{self, CargoStatus};
use domain::id::{CargoId, GroupId};
use domain::load_warning::LoadWarning;
use domain::money::Money;
use domain::saving::Saving;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use domain::waiting_status::WaitingStatus;
use store::shard::tracking::{self, StoredOutcome, TrackedCargo};
use store::view::cargo_detail::{self, CargoDetail, LoggedAttempt};
use store::view::groups;

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::project::cargo::body::{self, BodyView, TurnPart};
use crate::project::cargo::downloads::parse_cargo_id;
use crate::project::cargo::events::{self, CargoEvent};
use crate::project::cargo::timeline::{self, StepDuration, TimelineFacts, TimelineStep};
use crate::project::key_names;
use crate::read_audit::record_operator_read;
use crate::state::DashboardState;
use crate::text::{self, Markup};

/// Callback attempts on the page. Older ones are left out.
const MAX_ATTEMPTS: u32 = 100;
/// Bytes of a callback response on the page.
const MAX_RESPONSE_BYTES: usize = 2048;
/// Seconds between two updates of the running timeline.
const UPDATE_SECONDS: i64 = 5;

#[derive(Template)]
#[template(path = "cargo_detail.html")]
struct CargoPage {
    page: PageLayout,
    id: CargoId,
    public_url: String,
    tracked: TrackedCargo,
    details: CargoDetail,
    key: String,
    group: Option<GroupLink>,
    attempts: Vec<LoggedAttempt>,
    waiting: Option<WaitingStatus>,
    timeline_chart: Markup,
    durations: Vec<StepDuration>,
    events: Vec<CargoEvent>,
    input: BodyView,
    output: Option<BodyView>,
    error: Option<String>,
    metadata: Option<BodyView>,
    deadline: Timestamp,
    money: CargoCost,
    /// Parts of the tokens that have a price of their own, and thoughts.
    token_parts: Vec<(&'static str, String)>,
    warnings: Vec<LoadWarning>,
}

/// The group that the cargo was loaded into.
#[derive(Debug)]
struct GroupLink {
    id: GroupId,
    name: String,
}

/// The hold and its settlement.
#[derive(Debug, Clone, Copy)]
struct CargoCost {
    held: Money,
    charged: Option<Money>,
    released: Option<Money>,
    saving: Option<Saving>,
}

impl CargoCost {
    fn of(tracked: &TrackedCargo) -> Self {
        let outcome = tracked.outcome.as_ref();
        let charged = outcome.map(|outcome| outcome.charged);
        let realtime = outcome.and_then(|outcome| outcome.realtime).zip(charged);
        Self {
            held: tracked.held,
            charged,
            released: charged.map(|charged| tracked.held - charged),
            saving: realtime.map(|(realtime, charged)| Saving::between(realtime, charged)),
        }
    }
}

impl CargoPage {
    fn base(&self) -> String {
        format!("{}/cargo/{}", self.page.base(), self.id)
    }

    fn state(&self) -> (&'static str, &'static str) {
        let success = self.tracked.outcome.as_ref().map(|outcome| outcome.success);
        match self.tracked.status {
            CargoStatus::Pending => ("calm", "pending"),
            CargoStatus::Batched => ("busy", "batched"),
            CargoStatus::Processing => ("busy", "processing"),
            CargoStatus::Completed | CargoStatus::Delivered | CargoStatus::Undeliverable => {
                match success {
                    Some(false) if self.is_cancelled() => ("warm", "cancelled"),
                    Some(false) => ("bad", "failed"),
                    Some(true) | None => ("good", "completed"),
                }
            }
        }
    }

    fn is_cancelled(&self) -> bool {
        let outcome = self.tracked.outcome.as_ref();
        outcome.is_some_and(StoredOutcome::is_cancelled)
    }

    /// Once is enough: the request is kept until the cargo is completed.
    fn may_cancel(&self) -> bool {
        let tracked = &self.tracked;
        let is_open = tracked.completed_at.is_none() && tracked.cancel_requested_at.is_none();
        self.page.may_develop() && is_open
    }

    fn failure_code(&self) -> Option<&str> {
        self.tracked.outcome.as_ref()?.failure_code.as_deref()
    }

    fn callback_state(&self) -> Option<(&'static str, &'static str)> {
        let callback = self.tracked.callback.as_ref()?;
        Some(match self.tracked.status {
            CargoStatus::Delivered => ("good", "callback delivered"),
            CargoStatus::Undeliverable => ("bad", "callback failed"),
            CargoStatus::Completed if callback.attempts > 0 => ("warm", "callback retrying"),
            CargoStatus::Completed => ("busy", "callback sending"),
            CargoStatus::Pending | CargoStatus::Batched | CargoStatus::Processing => return None,
        })
    }

    /// From load to completion, including the callback.
    fn total(&self) -> Option<TimeDelta> {
        let tracked = &self.tracked;
        let end = match tracked.callback {
            Some(_) => self.details.callback_ended_at?,
            None => tracked.completed_at?,
        };
        Some(end - tracked.created_at)
    }

    fn may_resend(&self) -> bool {
        let tracked = &self.tracked;
        let can_resend = tracked.completed_at.is_some() && tracked.erased_at.is_none();
        self.page.may_develop() && can_resend && tracked.callback.is_some()
    }

    /// The confirmation text if the callback was delivered before.
    fn resend_warning(&self) -> Option<String> {
        let callback = self.tracked.callback.as_ref()?;
        let at = callback.delivered_at?;
        Some(format!(
            "Delivered at {} UTC. Resend the callback to {}? The receiver gets it a second time.",
            at.format("%Y-%m-%d %H:%M:%S"),
            callback.url
        ))
    }

    fn resend_label(&self) -> &'static str {
        let callback = self.tracked.callback.as_ref();
        match callback.and_then(|callback| callback.next_attempt_at) {
            Some(_) => "Retry now",
            None => "Resend",
        }
    }

    fn response_preview(attempt: &LoggedAttempt) -> String {
        let text = String::from_utf8_lossy(&attempt.answer);
        let shown = body::truncate(&text, MAX_RESPONSE_BYTES);
        let more = if shown.len() < text.len() { "…" } else { "" };
        let plain: String = shown
            .chars()
            .filter(|it| !it.is_control() || *it == '\n')
            .collect();
        format!("{plain}{more}")
    }

    fn is_acknowledged(attempt: &LoggedAttempt) -> bool {
        attempt
            .status
            .is_some_and(|status| (200..300).contains(&status))
    }
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Path((_, cargo)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let id = parse_cargo_id(&within, &cargo)?;
    let (shard, project) = (within.shard(), within.id());
    let tracked = tracking::find(shard, project, id).await?;
    let beside = cargo_detail::find_detail(shard, project, id).await?;
    let (tracked, beside) = tracked.zip(beside).ok_or(PageError::NotFound)?;
    if !client.is_refresh {
        record_operator_read(&state, &within, "cargo.read", id.to_string()).await?;
    }
    let attempts = cargo_detail::list_attempts(shard, project, id, MAX_ATTEMPTS).await?;
    let keys = key_names::read_key_names(&state, &within).await?;
    let key = keys.get(&beside.key).cloned();
    let group = find_group(&within, &tracked).await?;
    let page = PageLayout::for_project("Cargo", NavItem::Cargo, &within, &client);
    let page = if is_in_progress(&tracked) {
        page.live()
    } else {
        page
    };
    let now = round_down(shard.clock.now());
    let facts = timeline_facts(&tracked, &beside, &attempts, now);
    let parts = timeline::build_segments(&facts);
    let outcome = tracked.outcome.as_ref();
    let input = body::input(&beside.input);
    Ok(render_page(&CargoPage {
        id,
        public_url: state.options.public_url.clone(),
        key: key.unwrap_or_else(|| "deleted key".to_owned()),
        group,
        waiting: match tracked.completed_at {
            None => Some(
                tracked
                    .progress
                    .waiting_status(state.options.batch_linger, now),
            ),
            Some(_) => None,
        },
        timeline_chart: timeline::draw(&parts),
        durations: timeline::sum_by_step(&parts),
        events: events::list_events(&tracked, &beside, &attempts),
        output: outcome
            .filter(|it| it.success)
            .map(|it| body::output(&it.body, input.has_schema)),
        input,
        error: outcome
            .filter(|it| !it.success && tracked.erased_at.is_none())
            .map(|it| body::plain_text(&it.body)),
        metadata: tracked.metadata.as_deref().map(body::raw),
        deadline: tracked
            .deadline_at
            .unwrap_or_else(|| cargo::deadline(tracked.created_at)),
        money: CargoCost::of(&tracked),
        token_parts: outcome.map_or_else(Vec::new, |it| token_parts(it.buckets)),
        warnings: read_warnings(tracked.warnings.as_deref()),
        page,
        tracked,
        details: beside,
        attempts,
    }))
}

async fn find_group(
    within: &ProjectAccess,
    tracked: &TrackedCargo,
) -> Result<Option<GroupLink>, PageError> {
    let Some(id) = tracked.group else {
        return Ok(None);
    };
    let name = groups::find_name(within.shard(), within.id(), id).await?;
    Ok(name.map(|name| GroupLink { id, name }))
}

fn token_parts(buckets: TokenBuckets) -> Vec<(&'static str, String)> {
    let parts = [
        ("Cached input", buckets.cached),
        ("Cache writes", buckets.cache_write),
        ("Cache writes (1 h)", buckets.cache_write_1h),
        ("Thinking", buckets.thinking),
    ];
    let parts = parts.into_iter().filter(|(_, tokens)| *tokens > 0);
    parts
        .map(|(name, tokens)| (name, text::count(tokens)))
        .collect()
}

/// What the load accepted without using it.
fn read_warnings(json: Option<&[u8]>) -> Vec<LoadWarning> {
    let read = json.and_then(|json| serde_json::from_slice(json).ok());
    read.unwrap_or_default()
}

/// Whether the outcome or the callback is pending.
fn is_in_progress(tracked: &TrackedCargo) -> bool {
    let callback = tracked.callback.as_ref();
    let is_due = callback.is_some_and(|callback| callback.next_attempt_at.is_some());
    tracked.completed_at.is_none()
        || is_due
        || callback.is_some() && tracked.status == CargoStatus::Completed
}

/// Rounds down, so that an unchanged page renders the same for a few seconds.
fn round_down(now: Timestamp) -> Timestamp {
    let seconds = now.timestamp().div_euclid(UPDATE_SECONDS) * UPDATE_SECONDS;
    Timestamp::from_timestamp(seconds, 0).unwrap_or(now)
}

fn timeline_facts<'a>(
    tracked: &TrackedCargo,
    beside: &CargoDetail,
    attempts: &'a [LoggedAttempt],
    now: Timestamp,
) -> TimelineFacts<'a> {
    let callback = tracked.callback.as_ref();
    TimelineFacts {
        created_at: tracked.created_at,
        requeued_at: beside.returned_at,
        gathered_at: tracked.batched_at,
        running_at: tracked.processing_at,
        completed_at: tracked.completed_at,
        attempts,
        next_at: callback.and_then(|callback| callback.next_attempt_at),
        now: now.max(tracked.created_at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parts_that_exist_are_shown() {
        let plain = TokenBuckets {
            fresh: 10,
            output: 5,
            ..TokenBuckets::default()
        };
        assert!(token_parts(plain).is_empty());
        let used = TokenBuckets {
            cached: 31_180,
            cache_write_1h: 7,
            thinking: 371,
            ..plain
        };
        let expected = [
            ("Cached input", "31,180".to_owned()),
            ("Cache writes (1 h)", "7".to_owned()),
            ("Thinking", "371".to_owned()),
        ];
        assert_eq!(token_parts(used), expected);
    }

    #[test]
    fn warnings_are_read_from_their_json() {
        let json = br#"[{"field":"params.top_k","code":"ignored_by_model","message":"no effect"}]"#;
        let warnings = read_warnings(Some(json));
        let fields: Vec<_> = warnings.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(fields, ["params.top_k"]);
        assert!(read_warnings(None).is_empty());
    }
}
