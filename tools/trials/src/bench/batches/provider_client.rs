//! A client of the simulated provider: files and batches over HTTP.

use bytes::Bytes;
use hyper::Request;
use serde_json::{Value, json};

use crate::harness::{FailureContext as _, HttpClient, Result, SimulatorProcess, string_field};

const FORM_BOUNDARY: &str = "trial-5b0c2a77d1";

/// One account at the provider.
#[derive(Debug)]
pub struct BenchProviderClient {
    http: HttpClient,
    base_url: String,
    api_key: String,
}

impl BenchProviderClient {
    pub fn new(simulator: &SimulatorProcess, key: &str) -> Self {
        Self {
            http: HttpClient::default(),
            base_url: format!("http://{}/openai/v1", simulator.address),
            api_key: key.to_owned(),
        }
    }

    async fn send(&self, method: &str, path: &str, kind: &str, body: Bytes) -> Result<Bytes> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/{path}", self.base_url))
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("content-type", kind);
        Ok(self.http.call(request, body).await?.body)
    }

    async fn send_for_json(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> Result<Value> {
        let answer = self.send(method, path, kind, body).await?;
        serde_json::from_slice(&answer).context(path)
    }

    pub async fn fetch_batch(&self, id: &str) -> Result<Value> {
        let path = format!("batches/{id}");
        self.send_for_json("GET", &path, "text/plain", Bytes::new())
            .await
    }

    pub async fn download_file(&self, file: &str) -> Result<Bytes> {
        let path = format!("files/{file}/content");
        self.send("GET", &path, "text/plain", Bytes::new()).await
    }

    /// Uploads lines; returns the id of the file.
    pub async fn upload_lines(&self, lines: &[u8]) -> Result<String> {
        let head = format!(
            "--{FORM_BOUNDARY}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
             --{FORM_BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"bare.jsonl\"\r\n\
             content-type: application/jsonl\r\n\r\n"
        );
        let end = format!("\r\n--{FORM_BOUNDARY}--\r\n");
        let form = [head.as_bytes(), lines, end.as_bytes()].concat();
        let kind = format!("multipart/form-data; boundary={FORM_BOUNDARY}");
        let file = self
            .send_for_json("POST", "files", &kind, Bytes::from(form))
            .await?;
        string_field(&file, "id")
    }

    /// Creates a batch from an uploaded file; returns its id.
    pub async fn create_batch(&self, file: &str) -> Result<String> {
        let body = json!({
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
        });
        let body = Bytes::from(body.to_string());
        let batch = self
            .send_for_json("POST", "batches", "application/json", body)
            .await?;
        string_field(&batch, "id")
    }
}
