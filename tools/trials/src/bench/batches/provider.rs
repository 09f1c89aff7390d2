//! The simulated provider as a client of its own sees it: files and batches over HTTP.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::simulator::Simulator;
use crate::web::Web;

const BOUNDARY: &str = "trial-5b0c2a77d1";

/// One account there.
#[derive(Debug)]
pub struct Provider {
    web: Web,
    base: String,
    key: String,
}

impl Provider {
    pub fn new(simulator: &Simulator, key: &str) -> Self {
        Self {
            web: Web::default(),
            base: format!("http://{}/openai/v1", simulator.address),
            key: key.to_owned(),
        }
    }

    async fn ask(&self, method: &str, path: &str, kind: &str, body: Bytes) -> Result<Bytes> {
        let url = format!("{}/{path}", self.base);
        let failed = |why: String| Failure::new(format!("{method} {url}: {why}"));
        let request = Request::builder()
            .method(method)
            .uri(&url)
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", kind)
            .body(Full::new(body));
        let request = request.map_err(|error| failed(error.to_string()))?;
        let reply = self.web.send(request).await.map_err(failed)?;
        if !reply.is_success() {
            return Err(failed(format!("{} {}", reply.status, reply.text())));
        }
        Ok(reply.body)
    }

    async fn object(&self, method: &str, path: &str, kind: &str, body: Bytes) -> Result<Value> {
        let answer = self.ask(method, path, kind, body).await?;
        serde_json::from_slice(&answer).map_err(|error| Failure::new(format!("{path}: {error}")))
    }

    /// A batch as it is now.
    pub async fn batch(&self, id: &str) -> Result<Value> {
        let path = format!("batches/{id}");
        self.object("GET", &path, "text/plain", Bytes::new()).await
    }

    pub async fn content(&self, file: &str) -> Result<Bytes> {
        let path = format!("files/{file}/content");
        self.ask("GET", &path, "text/plain", Bytes::new()).await
    }

    /// Brings lines there; says what they are called.
    pub async fn upload(&self, lines: &[u8]) -> Result<String> {
        let head = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
             --{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"bare.jsonl\"\r\n\
             content-type: application/jsonl\r\n\r\n"
        );
        let end = format!("\r\n--{BOUNDARY}--\r\n");
        let form = [head.as_bytes(), lines, end.as_bytes()].concat();
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let file = self
            .object("POST", "files", &kind, Bytes::from(form))
            .await?;
        text(&file, "id")
    }

    /// Creates a batch of uploaded lines; says what it is called.
    pub async fn create(&self, file: &str) -> Result<String> {
        let body = json!({
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
        });
        let body = Bytes::from(body.to_string());
        let batch = self
            .object("POST", "batches", "application/json", body)
            .await?;
        text(&batch, "id")
    }
}

pub fn text(object: &Value, field: &str) -> Result<String> {
    let text = object.get(field).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(|| Failure::new(format!("no {field} in {object}")))
}
