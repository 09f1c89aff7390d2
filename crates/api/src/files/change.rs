//! `PATCH /files/{file_id}`: time to live, tags, and whether it is pinned.

use axum::Json;
use axum::extract::State;
use store::shard::file::{self, Changed};
use wire::file::FileRecord;

use crate::body::Body;
use crate::files::check;
use crate::files::record::record;
use crate::files::sought::Sought;
use crate::harbour::refuse;
use crate::problem::{FileProblem, Problem};
use crate::state::App;

pub(crate) async fn change(
    sought: Sought,
    State(app): State<App>,
    body: Result<Body, Problem>,
) -> Result<Json<FileRecord>, FileProblem> {
    let change = check::change(&body?.0)?;
    let quay = sought.quay(&app)?;
    let (project, now) = (sought.caller.project, quay.shard.clock.now());
    match file::change(&quay.shard, project, sought.id, &change, now).await? {
        Changed::Done(file) => Ok(Json(record(file))),
        Changed::WrongState => {
            let status = sought.find(quay).await?.status;
            Err(refuse::state(status, "It can no longer be changed."))
        }
        Changed::NotFound => Err(refuse::not_found()),
    }
}
