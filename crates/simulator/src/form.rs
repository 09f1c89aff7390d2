//! Forms with files in them, as two providers take uploads.

use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart};
use axum::http::Request;
use bytes::Bytes;

use crate::call::Call;
use crate::refusal::{No, Refusal};

#[derive(Debug)]
pub struct Part {
    pub name: String,
    pub filename: Option<String>,
    pub mime_type: Option<String>,
    pub bytes: Bytes,
}

impl Part {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// The parts of a form, if they are no larger than this together.
pub async fn read(call: &mut Call, most: usize) -> Result<Vec<Part>, No> {
    let mut request = Request::new(call.take_body());
    *request.headers_mut() = call.headers.clone();
    // The largest file is larger than what axum takes unasked.
    DefaultBodyLimit::max(most).apply(&mut request);
    let unreadable = |why: String| No::from(Refusal::new(400, why));
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
        let bytes = field
            .bytes()
            .await
            .map_err(|error| No::from(Refusal::new(error.status().as_u16(), error.body_text())))?;
        parts.push(Part {
            name,
            filename,
            mime_type,
            bytes,
        });
    }
}
