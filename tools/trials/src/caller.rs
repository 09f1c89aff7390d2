//! A caller of the Files API: sessions with the service, bytes straight to the store.

use std::fmt::Write as _;
use std::net::SocketAddr;

use bytes::Bytes;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use http_body_util::Full;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::{Method, Request};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::digest;
use crate::samples::content::Content;
use crate::samples::unique;
use crate::web::{Answered, Web};

/// Parts that are under way at once.
const AT_ONCE: usize = 3;
const BOUNDARY: &str = "trial-boundary-5f2c";

#[derive(Debug, Clone)]
pub struct Caller {
    pub web: Web,
    base: String,
    key: String,
}

/// What the service said; the status is 0 where nothing came.
#[derive(Debug, Clone)]
pub struct Said {
    pub status: u16,
    pub body: Value,
}

impl Said {
    pub fn text(&self, field: &str) -> &str {
        self.body
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Nothing came, or it asks to come again.
    pub const fn is_trouble(&self) -> bool {
        self.status == 0 || self.status >= 500
    }

    pub fn upload(&self) -> &Value {
        self.body.get("upload").unwrap_or(&Value::Null)
    }

    /// In one line, for a verdict.
    pub fn line(&self) -> String {
        let body: String = self.body.to_string().chars().take(300).collect();
        format!("{} {body}", self.status)
    }
}

impl Caller {
    pub fn new(web: Web, service: SocketAddr, key: &str) -> Self {
        Self {
            web,
            base: format!("http://{service}"),
            key: key.to_owned(),
        }
    }

    /// `POST /files`
    pub async fn create(&self, content: &Content) -> Said {
        let declared = json!({
            "filename": format!("{}.bin", unique()),
            "media_type": content.media_type,
            "size_bytes": content.size,
            "sha256": content.sha256,
        });
        self.ask(Method::POST, "/files", Some(&declared)).await
    }

    /// `POST /files/{id}/complete`
    pub async fn complete(&self, id: &str, listed: &Value) -> Said {
        let path = format!("/files/{id}/complete");
        self.ask(Method::POST, &path, Some(listed)).await
    }

    /// `POST /files/{id}/parts`
    pub async fn refresh(&self, id: &str) -> Said {
        let path = format!("/files/{id}/parts");
        self.ask(Method::POST, &path, Some(&json!({}))).await
    }

    pub async fn find(&self, id: &str) -> Said {
        self.ask(Method::GET, &format!("/files/{id}"), None).await
    }

    pub async fn delete(&self, id: &str) -> Said {
        self.ask(Method::DELETE, &format!("/files/{id}"), None)
            .await
    }

    /// `GET /files/{id}/content`
    pub async fn content(&self, id: &str) -> Said {
        self.ask(Method::GET, &format!("/files/{id}/content"), None)
            .await
    }

    /// Any request with a JSON answer.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Said {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("x-api-key", &self.key)
            .header(CONTENT_TYPE, "application/json");
        let body = body.map(|body| Bytes::from(body.to_string()));
        let request = request.body(Full::new(body.unwrap_or_default()));
        let answered = match request {
            Ok(request) => self.web.send(request).await,
            Err(error) => Err(error.to_string()),
        };
        match answered {
            Ok(reply) => Said {
                status: reply.status,
                body: serde_json::from_slice(&reply.body).unwrap_or_else(|_| reply.text().into()),
            },
            Err(lost) => Said {
                status: 0,
                body: lost.into(),
            },
        }
    }

    /// Brings all bytes; returns what complete wants to be told.
    pub async fn bring(&self, upload: &Value, content: &Content) -> Answered<Value> {
        if upload.get("type").and_then(Value::as_str) == Some("post") {
            let status = self.post(upload, content.whole()).await?;
            return if matches!(status, 200..=299) {
                Ok(json!({}))
            } else {
                Err(format!("the store answered {status} to a form"))
            };
        }
        let parts = upload.get("parts").and_then(Value::as_array).cloned();
        let size = upload.get("part_size_bytes").and_then(Value::as_u64);
        let (parts, size) = parts.zip(size).ok_or("the session names no parts")?;
        let putting = parts.iter().map(|part| async {
            let number = part.get("part_number").and_then(Value::as_u64);
            let from = number.unwrap_or(1).saturating_sub(1) * size;
            self.put(upload, part, content.part(from, size)).await
        });
        let listed: Vec<Value> = stream::iter(putting)
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(json!({ "parts": listed }))
    }

    /// The form of a single-shot grant; says what the store answered.
    pub async fn post(&self, upload: &Value, bytes: Bytes) -> Answered<u16> {
        let request = form(upload, &bytes)?;
        Ok(self.web.send(request).await?.status)
    }

    /// One part; returns how complete lists it.
    pub async fn put(&self, upload: &Value, part: &Value, bytes: Bytes) -> Answered<Value> {
        let checksum = digest::base64_of(&bytes);
        let header = upload.get("checksum_header").and_then(Value::as_str);
        let url = part.get("url").and_then(Value::as_str).unwrap_or_default();
        let request = Request::put(url)
            .header(header.unwrap_or("x-object-checksum-sha256"), &checksum)
            .body(Full::new(bytes));
        let request = request.map_err(|error| error.to_string())?;
        let reply = self.web.send(request).await?;
        let etag = reply.header("etag").filter(|_| reply.is_success());
        let etag = etag.ok_or_else(|| format!("the store answered {} to a part", reply.status))?;
        Ok(json!({
            "part_number": part.get("part_number"),
            "etag": etag,
            "checksum_sha256": checksum,
        }))
    }
}

fn form(upload: &Value, bytes: &[u8]) -> Answered<Request<Full<Bytes>>> {
    let url = upload.get("url").and_then(Value::as_str);
    let fields = upload.get("fields").and_then(Value::as_object);
    let (url, fields) = url.zip(fields).ok_or("the session is no form")?;
    let mut body = String::new();
    for (name, value) in fields {
        let value = value.as_str().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(
            body,
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
    }
    let _ = write!(
        body,
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"file\"\r\n\r\n"
    );
    let mut body = body.into_bytes();
    body.extend_from_slice(bytes);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    let request = Request::post(url)
        .header(
            CONTENT_TYPE,
            format!("multipart/form-data; boundary={BOUNDARY}"),
        )
        .body(Full::new(body.into()));
    request.map_err(|error| error.to_string())
}

/// Begins to post a form and hangs up half-way.
pub async fn post_half(upload: &Value, bytes: &[u8]) -> Answered<()> {
    let request = form(upload, bytes)?;
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
