//! `POST /files/{file_id}/complete`: note it, wait a while for the verdict, answer what came.
//!
//! All of the verification is the workers'. Whoever asks again while it is under way waits again.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::file::Status;
use domain::upload::Form;
use http::StatusCode;
use store::shard::file::{self, Completed, File};

use crate::body::Body;
use crate::files::check;
use crate::files::record::record;
use crate::files::sought::Sought;
use crate::harbour::refuse;
use crate::problem::{FileProblem, Problem};
use crate::state::{App, Quay};

pub(crate) async fn complete(
    sought: Sought,
    State(app): State<App>,
    body: Result<Body, Problem>,
) -> Result<Response, FileProblem> {
    let quay = sought.quay(&app)?;
    let found = sought.find(quay).await?;
    let validating = match found.status {
        Status::Uploading => begin(&sought, quay, &app, &found, &body?.0).await?,
        Status::Validating => {
            app.files.store()?;
            found
        }
        Status::Ready | Status::Failed | Status::Expired => return Err(over(found.status)),
    };
    let verdict = quay.verdicts.wait(sought.id, app.files.complete_wait());
    match verdict.await {
        Some(file) => judged(file),
        None => Ok((StatusCode::ACCEPTED, Json(record(validating))).into_response()),
    }
}

async fn begin(
    sought: &Sought,
    quay: &Quay,
    app: &App,
    session: &File,
    body: &[u8],
) -> Result<File, FileProblem> {
    let parts = check::complete(body, Form::of(session.size_bytes))?;
    app.files.store()?;
    let (project, now) = (sought.caller.project, quay.shard.clock.now());
    let completed = file::complete(&quay.shard, project, sought.id, parts.as_deref(), now);
    match completed.await? {
        Completed::Begun(file) => Ok(file),
        // Another complete was quicker.
        Completed::Already(file) if file.status == Status::Validating => Ok(file),
        Completed::Already(file) => Err(over(file.status)),
        Completed::NotFound => Err(refuse::not_found()),
    }
}

fn judged(file: File) -> Result<Response, FileProblem> {
    match (file.status, file.failure_reason) {
        (Status::Ready, _) => Ok((StatusCode::OK, Json(record(file))).into_response()),
        (Status::Failed, Some(flaw)) => Err(refuse::flaw(flaw)),
        (status, _) => Err(over(status)),
    }
}

fn over(status: Status) -> FileProblem {
    refuse::state(status, "Only a session that is uploading can be completed.")
}
