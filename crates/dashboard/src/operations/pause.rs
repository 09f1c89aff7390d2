//! Lanes and accounts are paused here, with a reason, and resumed. Every word of it is in the log.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::lane::LaneId;
use serde::Deserialize;
use store::Shard;
use store::control::audit::{self, Act};
use store::shard::{lane, provider};

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::seat::{Seated, Visitor};
use crate::state::Desk;

const LONGEST_REASON: usize = 200;

/// What is to be paused or resumed: a lane by its number, or an account by its name.
#[derive(Debug, Deserialize)]
pub(crate) struct What {
    shard: String,
    lane: Option<i32>,
    account: Option<String>,
    #[serde(default)]
    reason: String,
}

#[derive(Debug)]
enum Meant {
    Lane(LaneId),
    Account(String),
}

/// It, in words and in reach.
#[derive(Debug)]
struct Found {
    shard: Arc<Shard>,
    meant: Meant,
    words: String,
}

async fn find(desk: &Desk, what: &What) -> Result<Found, No> {
    let shard = desk.shard(&what.shard).ok_or(No::NotFound)?;
    let (meant, words) = match (what.lane, &what.account) {
        (Some(number), _) => {
            let all = lane::all(shard).await?.into_iter();
            let mut found = all.filter(|(id, _)| id.0 == number);
            let (id, lane) = found.next().ok_or(No::NotFound)?;
            let (provider, model) = (&lane.provider, &lane.model);
            let via = lane.via.as_str();
            let words = format!(
                "the lane {provider} / {model}, {via}, on shard {}",
                shard.name
            );
            (Meant::Lane(id), words)
        }
        (None, Some(name)) => {
            let known = provider::list(shard).await?;
            let known = known.into_iter().find(|standing| standing.name == *name);
            let name = known.ok_or(No::NotFound)?.name;
            let words = format!("the account {name} on shard {}", shard.name);
            (Meant::Account(name), words)
        }
        (None, None) => return Err(No::NotFound),
    };
    Ok(Found {
        shard: Arc::clone(shard),
        meant,
        words,
    })
}

#[derive(Debug, Template)]
#[template(path = "operations_pause.html")]
struct Asking {
    page: Page,
    what: What,
    words: String,
    is_lane: bool,
}

/// Asks why.
pub(crate) async fn page(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    visitor: Visitor,
    Query(what): Query<What>,
) -> Result<Response, No> {
    let found = find(&desk, &what).await?;
    Ok(show(&Asking {
        page: Page::new("Pause", Here::Operations, &seat, &visitor),
        words: found.words,
        is_lane: matches!(found.meant, Meant::Lane(_)),
        what,
    }))
}

pub(crate) async fn pause(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    Form(what): Form<What>,
) -> Result<Response, No> {
    let reason = what.reason.trim();
    if !(1..=LONGEST_REASON).contains(&reason.chars().count()) {
        let text = "Say why in 1 to 200 characters: whoever finds it paused wants to know.";
        return Err(No::Invalid(text.to_owned()));
    }
    let found = find(&desk, &what).await?;
    let by = seat.guest.author();
    let act = Act {
        action: match found.meant {
            Meant::Lane(_) => "lane.paused",
            Meant::Account(_) => "account.paused",
        },
        subject: found.words,
        detail: reason.to_owned(),
        ..Act::default()
    };
    audit::announce(&desk.control, &by, act, desk.clock.now()).await?;
    let now = found.shard.clock.now();
    match found.meant {
        Meant::Lane(id) => {
            lane::pause(&found.shard, id, &by.who, Some(reason), now).await?;
        }
        Meant::Account(name) => {
            let reason = format!("{reason} ({})", by.who);
            provider::pause(&found.shard, &name, &reason, None, now).await?;
        }
    }
    Ok(Redirect::to("/dashboard/operations").into_response())
}

pub(crate) async fn resume(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    Form(what): Form<What>,
) -> Result<Response, No> {
    let found = find(&desk, &what).await?;
    let act = Act {
        action: match found.meant {
            Meant::Lane(_) => "lane.resumed",
            Meant::Account(_) => "account.resumed",
        },
        subject: found.words,
        ..Act::default()
    };
    let by = seat.guest.author();
    audit::announce(&desk.control, &by, act, desk.clock.now()).await?;
    match found.meant {
        Meant::Lane(id) => {
            lane::resume(&found.shard, id).await?;
        }
        Meant::Account(name) => {
            provider::resume(&found.shard, &name).await?;
            provider::wake(&found.shard, &name, found.shard.clock.now()).await?;
        }
    }
    Ok(Redirect::to("/dashboard/operations").into_response())
}
