//! `POST /files`: who, what, may they, where to.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::file::Status;
use domain::id::FileId;
use domain::upload::Form;
use http::StatusCode;
use outbound::objects::Objects;
use rand::RngExt as _;
use store::shard::file::{self, Created, File, NewFile};
use wire::file::{Session, Upload};

use crate::body::Body;
use crate::caller::Caller;
use crate::files::check::{self, Asked};
use crate::files::grant;
use crate::harbour::refuse;
use crate::problem::{FileProblem, Problem};
use crate::state::{App, Quay};

/// The order is plan, fields, media type, size, the store's health; then, under the lock of
/// what the organization stores, sessions and quota.
pub(crate) async fn create(
    caller: Caller,
    State(app): State<App>,
    body: Result<Body, Problem>,
) -> Result<Response, FileProblem> {
    app.files.admit(caller.plan)?;
    let asked = check::create(&body?.0)?;
    let objects = app.files.store()?;
    app.files.scanner()?;
    let quay = app.quay(caller.berth)?;
    let (new, now) = (new(&caller, asked, quay), quay.shard.clock.now());
    let quota = app.limits.borrow().of(caller.plan).storage;
    match file::create(&quay.shard, &new, quota, now).await? {
        Created::Session(file) => {
            let upload = open(objects, quay, &file).await?;
            Ok(answer(StatusCode::CREATED, &file, Some(upload)))
        }
        Created::Duplicate(file) => Ok(answer(StatusCode::OK, &file, None)),
        Created::Refused(refusal) => Err(refuse::storage(refusal)),
    }
}

fn new(caller: &Caller, asked: Asked, quay: &Quay) -> NewFile {
    let now = quay.shard.clock.now();
    NewFile {
        id: FileId::new(now, caller.berth, rand::rng().random()),
        organization: caller.organization,
        project: caller.project,
        filename: asked.filename,
        declared: asked.declared,
        ttl_seconds: asked.ttl_seconds,
        metadata: asked.metadata,
        part_checksums: asked.part_checksums,
    }
}

/// A session that cannot be granted is taken back, as if it had never been.
async fn open(objects: &Objects, quay: &Quay, session: &File) -> Result<Upload, FileProblem> {
    let begun = match grant::begin(objects, quay, session).await {
        Ok(begun) => begun,
        Err(problem) => {
            // If this fails too, it is abandoned with time.
            let _abandoned = file::take_back(&quay.shard, session.id).await;
            return Err(problem);
        }
    };
    let parts = match Form::of(session.size_bytes) {
        Form::SingleShot => 0,
        Form::Multipart { parts } => parts,
    };
    let numbers: Vec<u32> = (1..=parts).collect();
    Ok(grant::upload(objects, session, &begun, &numbers))
}

fn answer(status: StatusCode, file: &File, upload: Option<Upload>) -> Response {
    let session = Session {
        id: file.id.to_string(),
        status: file.status.as_str(),
        deduplicated: file.status == Status::Ready,
        upload,
    };
    (status, Json(session)).into_response()
}
