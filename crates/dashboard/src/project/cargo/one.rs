//! The page of one cargo: where its time went, what was asked and answered, its money, its callbacks.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::TimeDelta;
use domain::cargo::{self, Status};
use domain::id::CargoId;
use domain::money::Money;
use domain::saving::Saving;
use domain::time::Timestamp;
use domain::waiting::Waiting;
use store::shard::tracking::{self, Tracked};
use store::view::one_cargo::{self, Attempt, Beside};

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::project::cargo::body::{self, Piece, Shown};
use crate::project::cargo::raw::id;
use crate::project::cargo::story::{self, Event};
use crate::project::cargo::timeline::{self, Facts, Sum, What};
use crate::project::key_names;
use crate::seat::{InProject, Visitor};
use crate::state::Desk;
use crate::text::{self, Markup};

/// Resends can make many; the newest are shown.
const ATTEMPTS: u32 = 100;
/// Of an answer to a callback.
const FIRST: usize = 2048;
/// What goes on is drawn anew this often.
const STEP: i64 = 5;

#[derive(Template)]
#[template(path = "cargo_one.html")]
struct One {
    page: Page,
    id: CargoId,
    public_url: String,
    tracked: Tracked,
    beside: Beside,
    key: String,
    attempts: Vec<Attempt>,
    waiting: Option<Waiting>,
    picture: Markup,
    sums: Vec<Sum>,
    events: Vec<Event>,
    input: Shown,
    output: Option<Shown>,
    error: Option<String>,
    metadata: Option<Shown>,
    deadline: Timestamp,
    money: Settled,
}

/// The hold, and what became of it.
#[derive(Debug, Clone, Copy)]
struct Settled {
    held: Money,
    charged: Option<Money>,
    released: Option<Money>,
    saving: Option<Saving>,
}

impl Settled {
    fn of(tracked: &Tracked) -> Self {
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

impl One {
    fn base(&self) -> String {
        format!("{}/cargo/{}", self.page.base(), self.id)
    }

    fn state(&self) -> (&'static str, &'static str) {
        let success = self.tracked.outcome.as_ref().map(|outcome| outcome.success);
        match self.tracked.status {
            Status::Pending => ("calm", "pending"),
            Status::Batched => ("busy", "batched"),
            Status::Processing => ("busy", "processing"),
            Status::Completed | Status::Delivered | Status::Undeliverable => match success {
                Some(false) => ("bad", "failed"),
                Some(true) | None => ("good", "completed"),
            },
        }
    }

    fn callback_state(&self) -> Option<(&'static str, &'static str)> {
        let callback = self.tracked.callback.as_ref()?;
        Some(match self.tracked.status {
            Status::Delivered => ("good", "callback delivered"),
            Status::Undeliverable => ("bad", "callback given up"),
            Status::Completed if callback.attempts > 0 => ("warm", "callback is tried again"),
            Status::Completed => ("busy", "callback is being sent"),
            Status::Pending | Status::Batched | Status::Processing => return None,
        })
    }

    /// From the load to the end of all that was asked for.
    fn total(&self) -> Option<TimeDelta> {
        let tracked = &self.tracked;
        let end = match tracked.callback {
            Some(_) => self.beside.callback_ended_at?,
            None => tracked.completed_at?,
        };
        Some(end - tracked.created_at)
    }

    fn may_resend(&self) -> bool {
        let is_completed = self.tracked.completed_at.is_some();
        self.page.may_develop() && is_completed && self.tracked.callback.is_some()
    }

    /// What is asked before, where it was taken once already.
    fn question(&self) -> Option<String> {
        let callback = self.tracked.callback.as_ref()?;
        let at = callback.delivered_at?;
        Some(format!(
            "It was delivered at {} UTC. Send this one callback again to {}? The receiver sees it twice.",
            at.format("%Y-%m-%d %H:%M:%S"),
            callback.url
        ))
    }

    fn resend_word(&self) -> &'static str {
        let callback = self.tracked.callback.as_ref();
        match callback.and_then(|callback| callback.next_attempt_at) {
            Some(_) => "Send now",
            None => "Send again",
        }
    }

    fn first_bytes(attempt: &Attempt) -> String {
        let text = String::from_utf8_lossy(&attempt.answer);
        let shown = body::cut(&text, FIRST);
        let more = if shown.len() < text.len() { "…" } else { "" };
        let plain: String = shown
            .chars()
            .filter(|it| !it.is_control() || *it == '\n')
            .collect();
        format!("{plain}{more}")
    }

    fn is_taken(attempt: &Attempt) -> bool {
        attempt
            .status
            .is_some_and(|status| (200..300).contains(&status))
    }
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Path((_, cargo)): Path<(String, String)>,
) -> Result<Response, No> {
    let id = id(&within, &cargo)?;
    let (shard, project) = (within.shard(), within.id());
    let tracked = tracking::find(shard, project, id).await?;
    let beside = one_cargo::beside(shard, project, id).await?;
    let (tracked, beside) = tracked.zip(beside).ok_or(No::NotFound)?;
    let attempts = one_cargo::attempts(shard, id, ATTEMPTS).await?;
    let keys = key_names::of(&desk, &within).await?;
    let key = keys.get(&beside.key).cloned();
    let page = Page::of_project("Cargo", Here::Cargo, &within, &visitor);
    let page = if is_under_way(&tracked) {
        page.live()
    } else {
        page
    };
    let now = steady(shard.clock.now());
    let facts = facts(&tracked, &beside, &attempts, now);
    let parts = timeline::parts(&facts);
    let outcome = tracked.outcome.as_ref();
    Ok(show(&One {
        id,
        public_url: desk.options.public_url.clone(),
        key: key.unwrap_or_else(|| "a key that is gone".to_owned()),
        waiting: match tracked.completed_at {
            None => Some(tracked.way.waiting(desk.options.linger, now)),
            Some(_) => None,
        },
        picture: timeline::draw(&parts),
        sums: timeline::sums(&parts),
        events: story::tell(&tracked, &beside, &attempts),
        input: body::input(&beside.input),
        output: outcome
            .filter(|it| it.success)
            .map(|it| body::output(&it.body)),
        error: outcome
            .filter(|it| !it.success)
            .map(|it| body::plain(&it.body)),
        metadata: tracked.metadata.as_deref().map(body::raw),
        deadline: cargo::deadline(tracked.created_at),
        money: Settled::of(&tracked),
        page,
        tracked,
        beside,
        attempts,
    }))
}

/// Something is still to come.
fn is_under_way(tracked: &Tracked) -> bool {
    let callback = tracked.callback.as_ref();
    let is_due = callback.is_some_and(|callback| callback.next_attempt_at.is_some());
    tracked.completed_at.is_none()
        || is_due
        || callback.is_some() && tracked.status == Status::Completed
}

/// A page that nothing changed is the same for a few seconds.
fn steady(now: Timestamp) -> Timestamp {
    let seconds = now.timestamp().div_euclid(STEP) * STEP;
    Timestamp::from_timestamp(seconds, 0).unwrap_or(now)
}

fn facts<'a>(
    tracked: &Tracked,
    beside: &Beside,
    attempts: &'a [Attempt],
    now: Timestamp,
) -> Facts<'a> {
    let callback = tracked.callback.as_ref();
    Facts {
        created_at: tracked.created_at,
        returned_at: beside.returned_at,
        gathered_at: tracked.batched_at,
        running_at: tracked.processing_at,
        completed_at: tracked.completed_at,
        attempts,
        next_at: callback.and_then(|callback| callback.next_attempt_at),
        now: now.max(tracked.created_at),
    }
}
