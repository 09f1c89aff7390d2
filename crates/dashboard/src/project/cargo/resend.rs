//! A callback, sent again because somebody asks for it.

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use store::control::audit::{self, Act};
use store::shard::resend::{self, Resent};

use crate::no::No;
use crate::project::cargo::raw::id;
use crate::seat::InProject;
use crate::state::Desk;

pub(crate) async fn one(
    State(desk): State<Desk>,
    within: InProject,
    Path((_, cargo)): Path<(String, String)>,
) -> Result<Response, No> {
    let cargo = id(&within, &cargo)?;
    let act = Act {
        organization: Some(within.place.organization),
        project: Some(within.id()),
        action: "callback.resent",
        subject: cargo.to_string(),
        detail: "the callback is sent again, once".to_owned(),
    };
    audit::announce(&desk.control, &within.author(), act, desk.clock.now()).await?;
    let shard = within.shard();
    match resend::one(shard, within.id(), cargo, shard.clock.now()).await? {
        Resent::Queued | Resent::AlreadyDue => {
            let to = format!("/dashboard/project/{}/cargo/{cargo}", within.project.slug);
            Ok(Redirect::to(&to).into_response())
        }
        Resent::NothingToSend => Err(No::Invalid(
            "There is nothing to send: it is not completed yet, or it was loaded without a \
             callback_url."
                .to_owned(),
        )),
        Resent::NotFound => Err(No::NotFound),
    }
}
