//! `POST /files/{file_id}/parts`: the same permissions once more, with more time.

use axum::Json;
use axum::extract::State;
use domain::file::Status;
use domain::upload::Form;
use wire::file::Refreshed;

use crate::body::Body;
use crate::files::sought::Sought;
use crate::files::{check, grant};
use crate::harbour::refuse;
use crate::problem::{FileProblem, Problem};
use crate::state::App;

pub(crate) async fn parts(
    sought: Sought,
    State(app): State<App>,
    body: Result<Body, Problem>,
) -> Result<Json<Refreshed>, FileProblem> {
    let quay = sought.quay(&app)?;
    let file = sought.find(quay).await?;
    if file.status != Status::Uploading {
        let next = "Only a session that is uploading has something to refresh.";
        return Err(refuse::state(file.status, next));
    }
    let numbers = check::refresh(&body?.0, Form::of(file.size_bytes))?;
    let objects = app.files.store()?;
    let begun = grant::begin(objects, quay, &file).await?;
    Ok(Json(Refreshed {
        id: file.id.to_string(),
        status: file.status.as_str(),
        upload: grant::upload(objects, &file, &begun, &numbers),
    }))
}
