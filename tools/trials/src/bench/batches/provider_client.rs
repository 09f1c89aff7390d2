//! A client of the simulated provider: files and batches over HTTP.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};

use crate::harness::failure::{Result, TrialFailure};
use crate::harness::http::http_client::HttpClient;
use crate::harness::http::string_field;
use crate::harness::servers::simulator_process::SimulatorProcess;

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
        let url = format!("{}/{path}", self.base_url);
        let failed = |why: String| TrialFailure::new(format!("{method} {url}: {why}"));
        let request = Request::builder()
            .method(method)
            .uri(&url)
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("content-type", kind)
            .body(Full::new(body));
        let request = request.map_err(|error| failed(error.to_string()))?;
        let reply = self.http.send(request).await;
        let reply = reply.map_err(|error| failed(error.to_string()))?;
        if !reply.is_success() {
            return Err(failed(format!("{} {}", reply.status, reply.text())));
        }
        Ok(reply.body)
    }

    async fn send_for_json(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> Result<Value> {
        let answer = self.send(method, path, kind, body).await?;
        serde_json::from_slice(&answer)
            .map_err(|error| TrialFailure::new(format!("{path}: {error}")))
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
