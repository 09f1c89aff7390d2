//! A client of the Files API: sessions with the service, bytes directly to the store.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use http_body_util::Full;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::{Method, Request};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::harness::build_profile;
use crate::harness::http::http_client::{HttpClient, HttpRequest, HttpResponse};
use crate::harness::sha256;
use crate::harness::{PollLimits, Result, UploadContent, unique_hex};

/// The error says why there is no response, or not the expected one.
pub type FilesResult<T> = std::result::Result<T, String>;

const MAX_CONCURRENT_PARTS: usize = 3;
/// How long a request is repeated whose response asks for a retry.
const REPEAT_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_secs(30));
const REPEAT_DELAY: Duration = Duration::from_millis(200);
const FORM_BOUNDARY: &str = "trial-boundary-5f2c";

#[derive(Debug, Clone)]
pub struct FilesClient {
    pub http: HttpClient,
    base_url: String,
    api_key: String,
}

/// A response of the service; the status is 0 if there was none.
#[derive(Debug, Clone)]
pub struct FilesResponse {
    pub status: u16,
    pub body: Value,
}

impl FilesResponse {
    pub fn string_field(&self, field: &str) -> &str {
        self.body
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// There was no response, or it asks for a retry.
    pub const fn is_retryable(&self) -> bool {
        self.status == 0 || self.status >= 500
    }

    pub fn upload_grant(&self) -> &Value {
        self.body.get("upload").unwrap_or(&Value::Null)
    }

    /// In one line, for a verdict.
    pub fn summary(&self) -> String {
        let body: String = self.body.to_string().chars().take(300).collect();
        format!("{} {body}", self.status)
    }
}

impl FilesClient {
    pub fn new(web: HttpClient, service: SocketAddr, key: &str) -> Self {
        Self {
            http: web,
            base_url: format!("http://{service}"),
            api_key: key.to_owned(),
        }
    }

    /// `POST /files`
    pub async fn create_file(&self, content: &UploadContent) -> FilesResponse {
        let declared = json!({
            "filename": format!("{}.bin", unique_hex()),
            "media_type": content.media_type,
            "size_bytes": content.size,
            "sha256": content.sha256,
        });
        self.send(Method::POST, "/files", Some(&declared)).await
    }

    /// `POST /files/{id}/complete`
    pub async fn complete_file(&self, id: &str, listed: &Value) -> FilesResponse {
        let path = format!("/files/{id}/complete");
        self.send(Method::POST, &path, Some(listed)).await
    }

    /// `POST /files/{id}/parts`
    pub async fn refresh_parts(&self, id: &str) -> FilesResponse {
        let path = format!("/files/{id}/parts");
        self.send(Method::POST, &path, Some(&json!({}))).await
    }

    pub async fn find_file(&self, id: &str) -> FilesResponse {
        let path = format!("/files/{id}");
        self.send_repeatedly(Method::GET, &path).await
    }

    pub async fn delete_file(&self, id: &str) -> FilesResponse {
        self.send(Method::DELETE, &format!("/files/{id}"), None)
            .await
    }

    /// `GET /files/{id}/content`
    pub async fn fetch_content(&self, id: &str) -> FilesResponse {
        let path = format!("/files/{id}/content");
        self.send_repeatedly(Method::GET, &path).await
    }

    /// A request that may be sent again: it is, while the response asks for a retry.
    pub async fn send_repeatedly(&self, method: Method, path: &str) -> FilesResponse {
        let begun = Instant::now();
        loop {
            let response = self.send(method.clone(), path, None).await;
            if !response.is_retryable() || begun.elapsed() > REPEAT_TIMEOUT {
                return response;
            }
            tokio::time::sleep(REPEAT_DELAY).await;
        }
    }

    /// Any request with a JSON response.
    pub async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> FilesResponse {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base_url))
            .header("x-api-key", &self.api_key)
            .header(CONTENT_TYPE, "application/json");
        let body = body.map(|body| Bytes::from(body.to_string()));
        let request = request.body(Full::new(body.unwrap_or_default()));
        let answered = match request {
            Ok(request) => self.send_to_host(request).await,
            Err(error) => Err(error.to_string()),
        };
        match answered {
            Ok(reply) => FilesResponse {
                status: reply.status,
                body: serde_json::from_slice(&reply.body).unwrap_or_else(|_| reply.text().into()),
            },
            Err(lost) => FilesResponse {
                status: 0,
                body: lost.into(),
            },
        }
    }

    /// Opens a session and uploads its bytes; the error says why the file is not there.
    pub async fn stage(&self, content: &UploadContent) -> FilesResult<StagedUpload> {
        let began_at = Instant::now();
        let created = self.create_file(content).await;
        self.stage_session(&created, began_at, content).await
    }

    /// The same for a session that began then.
    pub async fn stage_session(
        &self,
        created: &FilesResponse,
        began_at: Instant,
        content: &UploadContent,
    ) -> FilesResult<StagedUpload> {
        let create_duration = began_at.elapsed();
        let uploaded = self.upload_all(created.upload_grant(), content).await;
        let complete_body =
            uploaded.map_err(|refused| format!("{}; uploading: {refused}", created.summary()))?;
        Ok(StagedUpload {
            client: self.clone(),
            file_id: created.string_field("id").to_owned(),
            complete_body,
            began_at,
            create_duration,
            upload_duration: began_at.elapsed().saturating_sub(create_duration),
        })
    }

    /// The same, until the file is ready.
    pub async fn upload_and_complete(&self, content: &UploadContent) -> FilesResult<()> {
        let ended = self.stage(content).await?.complete().await;
        if ended.status == 200 {
            return Ok(());
        }
        Err(ended.summary())
    }

    async fn send_to_host(&self, request: HttpRequest) -> FilesResult<HttpResponse> {
        let sent = self.http.send(request).await;
        sent.map_err(|error| error.to_string())
    }

    /// Uploads all bytes; returns the body for `complete`.
    pub async fn upload_all(&self, upload: &Value, content: &UploadContent) -> FilesResult<Value> {
        if upload.get("type").and_then(Value::as_str) == Some("post") {
            let status = self.post_form(upload, content.all_bytes()).await?;
            return if matches!(status, 200..=299) {
                Ok(json!({}))
            } else {
                Err(format!("the store answered {status} to a form"))
            };
        }
        let parts = upload.get("parts").and_then(Value::as_array).cloned();
        let size = upload.get("part_size_bytes").and_then(Value::as_u64);
        let (parts, size) = parts.zip(size).ok_or("the session has no parts")?;
        let putting = parts.iter().map(|part| async {
            let number = part.get("part_number").and_then(Value::as_u64);
            let from = number.unwrap_or(1).saturating_sub(1) * size;
            self.put_part(upload, part, content.part(from, size)).await
        });
        let listed: Vec<Value> = stream::iter(putting)
            .buffered(MAX_CONCURRENT_PARTS)
            .try_collect()
            .await?;
        Ok(json!({ "parts": listed }))
    }

    /// Posts the form of a single-shot grant; returns the store's status.
    pub async fn post_form(&self, upload: &Value, bytes: Bytes) -> FilesResult<u16> {
        let request = build_form(upload, &bytes)?;
        Ok(self.send_to_host(request).await?.status)
    }

    /// Uploads one part; returns its entry for `complete`.
    pub async fn put_part(&self, upload: &Value, part: &Value, bytes: Bytes) -> FilesResult<Value> {
        let checksum = sha256::sha256_base64(&bytes);
        let header = upload.get("checksum_header").and_then(Value::as_str);
        let url = part.get("url").and_then(Value::as_str).unwrap_or_default();
        let request = Request::put(url)
            .header(header.unwrap_or("x-object-checksum-sha256"), &checksum)
            .body(Full::new(bytes));
        let request = request.map_err(|error| error.to_string())?;
        let reply = self.send_to_host(request).await?;
        let etag = reply.header("etag").filter(|_| reply.is_success());
        let etag = etag.ok_or_else(|| format!("the store answered {} to a part", reply.status))?;
        Ok(json!({
            "part_number": part.get("part_number"),
            "etag": etag,
            "checksum_sha256": checksum,
        }))
    }
}

/// A file whose bytes are in the store and whose session is not completed.
#[derive(Debug, Clone)]
pub struct StagedUpload {
    pub client: FilesClient,
    pub file_id: String,
    complete_body: Value,
    pub began_at: Instant,
    pub create_duration: Duration,
    pub upload_duration: Duration,
}

impl StagedUpload {
    pub async fn complete(&self) -> FilesResponse {
        let client = &self.client;
        client
            .complete_file(&self.file_id, &self.complete_body)
            .await
    }

    pub async fn find(&self) -> FilesResponse {
        self.client.find_file(&self.file_id).await
    }

    /// Calls `complete` until the file's status is as wanted, or the time is over; returns the
    /// file's last state.
    pub async fn complete_until(
        &self,
        limits: PollLimits,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<FilesResponse> {
        let complete = async || {
            self.complete().await;
            Ok(self.find().await)
        };
        let is_wanted = |it: &FilesResponse| is_wanted(it.string_field("status"));
        limits.read_until(is_wanted, complete).await
    }
}

fn build_form(upload: &Value, bytes: &[u8]) -> FilesResult<HttpRequest> {
    let url = upload.get("url").and_then(Value::as_str);
    let fields = upload.get("fields").and_then(Value::as_object);
    let (url, fields) = url.zip(fields).ok_or("the session has no form")?;
    let mut body = String::new();
    for (name, value) in fields {
        let value = value.as_str().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(
            body,
            "--{FORM_BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
    }
    let _ = write!(
        body,
        "--{FORM_BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"file\"\r\n\r\n"
    );
    let mut body = body.into_bytes();
    body.extend_from_slice(bytes);
    body.extend_from_slice(format!("\r\n--{FORM_BOUNDARY}--\r\n").as_bytes());
    let request = Request::post(url)
        .header(
            CONTENT_TYPE,
            format!("multipart/form-data; boundary={FORM_BOUNDARY}"),
        )
        .body(Full::new(body.into()));
    request.map_err(|error| error.to_string())
}

/// Posts the first half of a form and closes the connection.
pub async fn post_half_form(upload: &Value, bytes: &[u8]) -> FilesResult<()> {
    let request = build_form(upload, bytes)?;
    let (uri, headers) = (request.uri().clone(), request.headers().clone());
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let body = request.into_body();
    let length = hyper::body::Body::size_hint(&body).exact().unwrap_or(0);
    let host = uri.authority().map(ToString::to_string).unwrap_or_default();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {host}\r\ncontent-type: {}\r\n{CONTENT_LENGTH}: {length}\r\n\r\n",
        uri.path(),
        kind.unwrap_or_default(),
    );
    let sending = async {
        let body = http_body_util::BodyExt::collect(body).await;
        let body = body.map_or_else(|never| match never {}, http_body_util::Collected::to_bytes);
        let mut stream = TcpStream::connect(&host).await?;
        stream.write_all(head.as_bytes()).await?;
        let half = body.slice(..body.len() / 2);
        stream.write_all(&half).await?;
        stream.flush().await
    };
    sending.await.map_err(|error| error.to_string())
}
