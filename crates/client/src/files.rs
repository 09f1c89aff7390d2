//! Uploads: the declaration, the bytes straight to the object store, and the completion.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::ETAG;
use http::{Method, Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::call::{ApiCall, encode, random_key};
use crate::client_error::{ApiErrorAnswer, ClientError};
use crate::file_digests::{digest, read_part};
use crate::longshore_client::{LongshoreClient, draw};
use crate::retry::{FailedRequest, decide};
use crate::upload_state::{PartedUpload, UploadState, UploadStateFile};

/// Larger files are uploaded in parts.
const MAX_SINGLE_POST_BYTES: u64 = 8 * 1024 * 1024;
const TRANSFER_TIMEOUT: Duration = Duration::from_mins(10);
const MAX_TRANSFER_ATTEMPTS: u32 = 8;
/// The object store answers it when a grant has expired.
const FORBIDDEN: u16 = 403;
const MAX_GRANT_REFRESHES: u32 = 3;
/// While the scanner works, each completion waits some seconds.
const MAX_COMPLETIONS: u32 = 120;
const COMPLETION_INTERVAL: Duration = Duration::from_secs(1);

/// One part, as it is sent.
struct PartTransfer<'a> {
    file_id: &'a str,
    number: u64,
    url: String,
    checksum_header: (String, String),
    chunk: Bytes,
}

impl LongshoreClient {
    /// Uploads a file, and waits until it is ready. Returns its record.
    ///
    /// With a folder for its state, a large file that was interrupted continues after its last
    /// part, also in another process.
    pub async fn upload(
        &self,
        path: &Path,
        media_type: &str,
        state_folder: Option<&Path>,
    ) -> Result<Value, ClientError> {
        let digests = digest(path).map_err(|error| file_error(path, &error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut declaration = json!({
            "filename": name,
            "media_type": media_type,
            "size_bytes": digests.size,
            "sha256": digests.sha256,
        });
        if digests.size <= MAX_SINGLE_POST_BYTES {
            let (id, upload) = self.declare(&declaration).await?;
            let Some(upload) = upload else {
                return self.read_file(&id).await;
            };
            self.post_form(path, &name, &upload).await?;
            return self.complete(&id, &json!({})).await;
        }
        if let Some(fields) = declaration.as_object_mut() {
            fields.insert("part_checksums".to_owned(), json!(digests.parts));
        }
        let state_file = UploadStateFile::of(state_folder, &digests.sha256);
        let begun = match state_file.load(self.base_url()) {
            Some(state) => self.resume(state, &digests.parts).await?,
            None => None,
        };
        let (state, grants) = match begun {
            Some(begun) => begun,
            None => match self.declare(&declaration).await? {
                (id, None) => return self.read_file(&id).await,
                (id, Some(upload)) => (self.begin(id), upload),
            },
        };
        state_file.save(&state);
        let mut upload = PartedUpload { state, state_file };
        self.put_parts(path, &grants, &digests.parts, &mut upload)
            .await?;
        let parts = list_parts(&upload.state, &digests.parts)?;
        let record = self
            .complete(&upload.state.file_id, &json!({"parts": parts}))
            .await?;
        upload.state_file.forget();
        Ok(record)
    }

    /// The id and the grants. No grants: the project has the bytes already.
    async fn declare(&self, declaration: &Value) -> Result<(String, Option<Value>), ClientError> {
        let call = ApiCall::post("/files", declaration).with_key(random_key());
        let session: Value = self.json(&call).await?;
        let upload = session.get("upload").filter(|it| !it.is_null()).cloned();
        Ok((text_field(&session, "id")?, upload))
    }

    async fn read_file(&self, id: &str) -> Result<Value, ClientError> {
        let call = ApiCall::get(format!("/files/{}", encode(id)));
        self.json(&call).await
    }

    fn begin(&self, file_id: String) -> UploadState {
        UploadState {
            base_url: self.base_url().to_owned(),
            file_id,
            parts: BTreeMap::new(),
        }
    }

    /// New grants for the missing parts. None: the session has ended.
    async fn resume(
        &self,
        state: UploadState,
        checksums: &[String],
    ) -> Result<Option<(UploadState, Value)>, ClientError> {
        let count = u64::try_from(checksums.len()).unwrap_or_default();
        let numbers = 1..=count;
        let mut missing: Vec<u64> = numbers
            .filter(|number| !state.parts.contains_key(&number.to_string()))
            .collect();
        if missing.is_empty() {
            missing.push(count);
        }
        match self.refresh_parts(&state.file_id, &missing).await {
            Ok(upload) => Ok(Some((state, upload))),
            Err(ClientError::Refused(refusal)) if matches!(refusal.status, 404 | 409) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn refresh_parts(&self, id: &str, numbers: &[u64]) -> Result<Value, ClientError> {
        let path = format!("/files/{}/parts", encode(id));
        let call = ApiCall::post(path, &json!({"part_numbers": numbers})).idempotent();
        let refreshed: Value = self.json(&call).await?;
        let upload = refreshed.get("upload").cloned();
        upload.ok_or_else(|| unreadable("upload is missing"))
    }

    async fn complete(&self, id: &str, body: &Value) -> Result<Value, ClientError> {
        let path = format!("/files/{}/complete", encode(id));
        let call = ApiCall::post(path, body).idempotent();
        let mut record = Value::Null;
        for _ in 0..MAX_COMPLETIONS {
            let answer = self.call(&call).await?;
            record = serde_json::from_slice(answer.body())
                .map_err(|error| ClientError::UnreadableAnswer(error.to_string()))?;
            if answer.status().as_u16() != 202 {
                return Ok(record);
            }
            tokio::time::sleep(COMPLETION_INTERVAL).await;
        }
        Ok(record)
    }

    async fn post_form(&self, path: &Path, name: &str, upload: &Value) -> Result<(), ClientError> {
        let content = std::fs::read(path).map_err(|error| file_error(path, &error))?;
        let boundary = format!("longshore-{}", random_key());
        let mut form = BytesMut::new();
        for (field, value) in upload
            .get("fields")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let value = value.as_str().unwrap_or_default();
            let head =
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n");
            form.put_slice(head.as_bytes());
            form.put_slice(value.as_bytes());
            form.put_slice(b"\r\n");
        }
        let name = name.replace(['"', '\r', '\n'], "_");
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; \
             filename=\"{name}\"\r\n\r\n"
        );
        form.put_slice(head.as_bytes());
        form.put_slice(&content);
        form.put_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let url = text_field(upload, "url")?;
        let header = (
            "content-type".to_owned(),
            format!("multipart/form-data; boundary={boundary}"),
        );
        self.transfer(&Method::POST, &url, &[header], form.freeze())
            .await?;
        Ok(())
    }

    /// Sends the parts that the object store lacks, and remembers each one.
    async fn put_parts(
        &self,
        path: &Path,
        grants: &Value,
        checksums: &[String],
        upload: &mut PartedUpload,
    ) -> Result<(), ClientError> {
        let header_name = text_field(grants, "checksum_header")?;
        let mut file = File::open(path).map_err(|error| file_error(path, &error))?;
        for part in grants
            .get("parts")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let number = part.get("part_number").and_then(Value::as_u64).unwrap_or(1);
            if upload.state.parts.contains_key(&number.to_string()) {
                continue;
            }
            let index = number.saturating_sub(1);
            let checksum = usize::try_from(index)
                .ok()
                .and_then(|index| checksums.get(index));
            let checksum =
                checksum.ok_or_else(|| unreadable("a part that the file does not have"))?;
            let chunk = read_part(&mut file, index).map_err(|error| file_error(path, &error))?;
            let transfer = PartTransfer {
                file_id: &upload.state.file_id,
                number,
                url: text_field(part, "url")?,
                checksum_header: (header_name.clone(), checksum.clone()),
                chunk,
            };
            let etag = self.put_part(transfer).await?;
            upload.remember(number, etag);
        }
        Ok(())
    }

    /// Returns the `ETag`. A grant that has expired is refreshed.
    async fn put_part(&self, mut part: PartTransfer<'_>) -> Result<String, ClientError> {
        let headers = [part.checksum_header];
        let mut refreshes = 0;
        let answer = loop {
            let sent = self.transfer(&Method::PUT, &part.url, &headers, part.chunk.clone());
            match sent.await {
                Ok(answer) => break answer,
                Err(ClientError::Refused(refusal))
                    if refusal.status == FORBIDDEN && refreshes < MAX_GRANT_REFRESHES =>
                {
                    refreshes += 1;
                    let grants = self.refresh_parts(part.file_id, &[part.number]).await?;
                    let grant = grants.pointer("/parts/0");
                    let grant = grant.ok_or_else(|| unreadable("the part has no new grant"))?;
                    part.url = text_field(grant, "url")?;
                }
                Err(error) => return Err(error),
            }
        };
        let etag = answer.headers().get(ETAG).and_then(|it| it.to_str().ok());
        let etag = etag.ok_or_else(|| unreadable("the object store sent no ETag"))?;
        Ok(etag.to_owned())
    }

    /// Sends bytes to the object store. The same bytes again change nothing.
    async fn transfer(
        &self,
        method: &Method,
        url: &str,
        headers: &[(String, String)],
        body: Bytes,
    ) -> Result<Response<Bytes>, ClientError> {
        let mut attempt = 0;
        loop {
            let mut request = Request::builder().method(method.clone()).uri(url);
            for (name, value) in headers {
                request = request.header(name, value);
            }
            let request = request.body(Full::new(body.clone()));
            let request =
                request.map_err(|error| ClientError::InvalidRequest(error.to_string()))?;
            let sent = self.transport().exchange(request, TRANSFER_TIMEOUT).await;
            let (error, status) = match sent {
                Ok(answer) if answer.status().is_success() => return Ok(answer),
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    let detail = Value::String(format!("the object store answered {status}"));
                    let refusal = ApiErrorAnswer::from_detail(status, detail);
                    (ClientError::Refused(Box::new(refusal)), Some(status))
                }
                Err(failure) => (failure.into(), None),
            };
            let wait = decide(&FailedRequest {
                method: "PUT",
                has_idempotency_key: false,
                is_idempotent: true,
                was_sent: true,
                status,
                code: None,
                retry_after: None,
                should_retry: None,
                attempt,
            });
            attempt += 1;
            match wait {
                Some(wait) if attempt < MAX_TRANSFER_ATTEMPTS => {
                    tokio::time::sleep(draw(wait)).await;
                }
                Some(_) | None => return Err(error),
            }
        }
    }
}

/// All parts, for the completion.
fn list_parts(state: &UploadState, checksums: &[String]) -> Result<Vec<Value>, ClientError> {
    let parts = checksums.iter().zip(1_u64..).map(|(checksum, number)| {
        let etag = state.parts.get(&number.to_string());
        let etag = etag.ok_or_else(|| unreadable("the grants lack a part"))?;
        Ok(json!({"part_number": number, "etag": etag, "checksum_sha256": checksum}))
    });
    parts.collect()
}

/// The media type by the ending of the name, or None if Longshore does not take it.
pub fn guess_media_type(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let media_type = match ending.as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "csv" => "text/csv",
        "md" | "markdown" => "text/markdown",
        "mp4" => "video/mp4",
        "mov" => "video/quicktime",
        "webm" => "video/webm",
        "mkv" => "video/x-matroska",
        _ => return None,
    };
    Some(media_type)
}

fn text_field(value: &Value, name: &str) -> Result<String, ClientError> {
    let text = value.get(name).and_then(Value::as_str);
    text.map(str::to_owned)
        .ok_or_else(|| unreadable(&format!("{name} is missing")))
}

fn unreadable(reason: &str) -> ClientError {
    ClientError::UnreadableAnswer(reason.to_owned())
}

fn file_error(path: &Path, error: &std::io::Error) -> ClientError {
    ClientError::File {
        path: path.display().to_string(),
        reason: error.to_string(),
    }
}
