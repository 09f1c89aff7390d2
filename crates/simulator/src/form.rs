//! Multipart forms, with which two providers receive uploads.

use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart};
use axum::http::Request;
use bytes::Bytes;

use crate::call::SimulatedCall;
use crate::refusal::{CallRejection, SimulatedRefusal};

#[derive(Debug)]
pub struct FormPart {
    pub name: String,
    pub filename: Option<String>,
    pub mime_type: Option<String>,
    pub bytes: Bytes,
}

impl FormPart {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Refuses a form of more than `most` bytes.
pub async fn read_form(
    call: &mut SimulatedCall,
    most: usize,
) -> Result<Vec<FormPart>, CallRejection> {
    let mut request = Request::new(call.take_body());
    *request.headers_mut() = call.headers.clone();
    // The largest file exceeds axum's default limit.
    DefaultBodyLimit::max(most).apply(&mut request);
    let unreadable = |why: String| CallRejection::from(SimulatedRefusal::new(400, why));
    let form = Multipart::from_request(request, &()).await;
    let mut form = form.map_err(|error| unreadable(error.to_string()))?;
    let mut parts = Vec::new();
    loop {
        let field = form.next_field().await;
        let Some(field) = field.map_err(|error| unreadable(error.body_text()))? else {
            return Ok(parts);
        };
        let name = field.name().unwrap_or_default().to_owned();
        let filename = field.file_name().map(str::to_owned);
        let mime_type = field.content_type().map(str::to_owned);
        let bytes = field.bytes().await.map_err(|error| {
            CallRejection::from(SimulatedRefusal::new(
                error.status().as_u16(),
                error.body_text(),
            ))
        })?;
        parts.push(FormPart {
            name,
            filename,
            mime_type,
            bytes,
        });
    }
}
