//! `POST /openai/v1/files`: streams an input file into a parcel.
//!
//! Only input files of batches are accepted: their lines are loads. The bytes of files that models
//! read never pass through the API.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use chrono::TimeDelta;
use domain::dropin::Facade;
use domain::id::ParcelId;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use multer::{Constraints, Field, Multipart, SizeLimit};
use rand::RngExt as _;
use serde_json::Value;
use store::Shard;
use store::shard::input_file;
use store::shard::parcel::{self, NewParcel, ParcelRefusal, ParcelRow, ParcelWriter};

use crate::api_error::{ApiError, OpenAiApiError};
use crate::caller::Caller;
use crate::dropin::item_stream::{ItemStream, ItemStreamError};
use crate::dropin::openai::caller::OpenAiCaller;
use crate::dropin::openai::file_object::{INPUT_PURPOSE, write_input_file};
use crate::dropin::openai::form_body::{FieldGate, FormBody, FormOverhead};
use crate::dropin::openai::upload_form::{UploadForm, malformed};
use crate::request_body::{body_error, mark_streamed, refuse_encoded};
use crate::state::App;

/// A file without `expires_after`. The retention of its project may be shorter.
const DEFAULT_LIFETIME: TimeDelta = TimeDelta::days(30);
/// What was stored of a body that broke off is deleted after this time.
const MAX_UPLOAD_TIME: TimeDelta = TimeDelta::hours(1);
/// Boundaries, headers and the other fields.
const MAX_FORM_BYTES: u64 = 64 << 10;
const MAX_FILENAME_CHARACTERS: usize = 512;

pub(crate) async fn upload(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
    request: Request,
) -> Result<Json<Value>, OpenAiApiError> {
    refuse_encoded(request.headers())?;
    let shard = Arc::clone(&app.shard_handle(caller.berth)?.shard);
    let limits = &app.dropins.limits;
    let permit = limits.begin_upload(caller.project, request.headers())?;
    if permit.is_some() {
        mark_streamed(request.extensions());
    }
    let gate = FieldGate::default();
    let mut body = open_form(request, &gate)?;
    let mut form = UploadForm::default();
    let mut file = None;
    while let Some(field) = body
        .next_field()
        .await
        .map_err(|error| form_error(&error))?
    {
        gate.open();
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            if file.is_some() {
                return Err(malformed("file", "Send one file."));
            }
            // On the heap, because it is large.
            file = Some(Box::pin(store_file(&shard, &caller, field)).await?);
        } else {
            let text = field.text().await.map_err(|error| form_error(&error))?;
            form.set(&name, &text)?;
        }
        gate.close();
    }
    // Before the file counts: fields may follow it.
    let lifetime = form.check()?.unwrap_or(DEFAULT_LIFETIME);
    let Some(file) = file else {
        return Err(OpenAiApiError::missing("file"));
    };
    let now = shard.clock.now();
    let stored = file.finish(now).await?;
    drop(permit);
    let expires_at = input_file::keep_for(&shard, &stored, lifetime).await?;
    Ok(Json(write_input_file(&ParcelRow {
        expires_at,
        ..stored
    })))
}

fn open_form(request: Request, gate: &FieldGate) -> Result<Multipart<'static>, OpenAiApiError> {
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let boundary = multer::parse_boundary(content_type.unwrap_or_default());
    let boundary = boundary.map_err(|_| {
        let message = "Send the file as multipart/form-data, with the fields purpose and file.";
        OpenAiApiError::invalid(None, "invalid_content_type", message)
    })?;
    let max_bytes = Facade::OpenAi.max_bytes();
    let limits = SizeLimit::new()
        .whole_stream(max_bytes + MAX_FORM_BYTES)
        .per_field(MAX_FORM_BYTES)
        .for_field("file", max_bytes);
    let constraints = Constraints::new().size_limit(limits);
    let body = FormBody::new(request.into_body().into_data_stream(), gate.clone());
    Ok(Multipart::with_constraints(body, boundary, constraints))
}

/// Stores the lines while they arrive. The file does not count yet.
async fn store_file(
    shard: &Arc<Shard>,
    caller: &Caller,
    mut field: Field<'static>,
) -> Result<ParcelWriter, OpenAiApiError> {
    let now = shard.clock.now();
    let filename = field.file_name().map(|name| {
        let characters = name.chars().filter(|it| !it.is_control());
        characters.take(MAX_FILENAME_CHARACTERS).collect::<String>()
    });
    let (organization, project) = (caller.organization, caller.project);
    let remaining = parcel::remaining_bytes(shard, organization, project, now).await?;
    let max_bytes = remaining.map_err(quota_error)?;
    let new = NewParcel {
        id: ParcelId::new(now, caller.berth, rand::rng().random()),
        organization,
        project,
        facade: Facade::OpenAi,
        filename: filename.filter(|name| !name.is_empty()),
        expires_at: now + MAX_UPLOAD_TIME,
    };
    let mut writer = ParcelWriter::begin(Arc::clone(shard), new, now).await?;
    let mut lines = ItemStream::lines();
    while let Some(chunk) = field.chunk().await.map_err(|error| form_error(&error))? {
        lines.push(&chunk).map_err(|error| line_error(&error))?;
        store_lines(&mut lines, &mut writer, max_bytes).await?;
    }
    lines.finish().map_err(|error| line_error(&error))?;
    store_lines(&mut lines, &mut writer, max_bytes).await?;
    Ok(writer)
}

async fn store_lines(
    lines: &mut ItemStream,
    writer: &mut ParcelWriter,
    max_bytes: u64,
) -> Result<(), OpenAiApiError> {
    while let Some(line) = lines.next_item() {
        writer.push(&line).await?;
        if writer.parcel().bytes > max_bytes {
            return Err(quota_error(ParcelRefusal::StorageFull));
        }
    }
    Ok(())
}

fn quota_error(refusal: ParcelRefusal) -> OpenAiApiError {
    let (status, code) = match refusal {
        // Clients repeat 429, and a repeat does not change this.
        ParcelRefusal::StorageFull => (StatusCode::FORBIDDEN, "storage_limit_exceeded"),
        ParcelRefusal::TooManyIncomplete => (StatusCode::TOO_MANY_REQUESTS, "too_many_uploads"),
    };
    OpenAiApiError::with_status(status, Some("file"), code, refusal.to_string())
}

fn line_error(error: &ItemStreamError) -> OpenAiApiError {
    let message = format!("The file cannot be stored: {error}.");
    let status = StatusCode::PAYLOAD_TOO_LARGE;
    OpenAiApiError::with_status(status, Some("file"), "line_too_large", message)
}

/// A body that is too large, is no form, or broke off.
fn form_error(error: &multer::Error) -> OpenAiApiError {
    if matches!(
        error,
        multer::Error::FieldSizeExceeded { .. } | multer::Error::StreamSizeExceeded { .. }
    ) {
        let max_bytes = Facade::OpenAi.max_bytes();
        let message = format!(
            "A file has at most {max_bytes} bytes. Split it into several files with purpose \
             {INPUT_PURPOSE}."
        );
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        return OpenAiApiError::with_status(status, Some("file"), "file_too_large", message);
    }
    if let multer::Error::StreamReadFailed(cause) = error
        && let Some(overhead) = cause.downcast_ref::<FormOverhead>()
    {
        let (status, message) = (StatusCode::PAYLOAD_TOO_LARGE, overhead.to_string());
        return OpenAiApiError::with_status(status, None, "form_too_large", message);
    }
    if matches!(error, multer::Error::StreamReadFailed(_)) {
        let error: ApiError = body_error(error);
        return error.into();
    }
    malformed("file", "The body is not a complete multipart form.")
}
