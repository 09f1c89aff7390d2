//! A simulator with a manual clock, and a client for it.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use simulator::{Options, SimulatedFault, SimulatedPace, SimulatedProvider, Simulator};

pub const TEST_KEY: &str = "sk-test";

pub struct TestSimulator {
    pub simulator: Simulator,
    http: Client<HttpConnector, Full<Bytes>>,
    pub provider: SimulatedProvider,
    pub key: String,
}

pub struct TestResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl TestResponse {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Every line that is not blank.
    pub fn lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The JSON body of a response that must be 200.
    pub fn expect_ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }
}

impl TestSimulator {
    pub async fn start(provider: SimulatedProvider) -> Self {
        let mut options = Options::manual();
        options.seed = Some(1);
        let simulator = Simulator::start(options).await.unwrap();
        Self {
            simulator,
            http: Client::builder(TokioExecutor::new()).build_http(),
            provider,
            key: TEST_KEY.to_owned(),
        }
    }

    /// A call with the provider's credential. An error means that no complete response came.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<TestResponse, String> {
        let url = if path.starts_with("http") {
            path.to_owned()
        } else {
            format!("{}{path}", self.simulator.base_url(self.provider))
        };
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri(url);
        request = match self.provider {
            SimulatedProvider::OpenAi | SimulatedProvider::Server => {
                request.header("authorization", format!("Bearer {}", self.key))
            }
            SimulatedProvider::Anthropic => request
                .header("x-api-key", &self.key)
                .header("anthropic-version", "2023-06-01"),
            SimulatedProvider::Gemini => request.header("x-goog-api-key", &self.key),
        };
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let response = self.http.request(request).await;
        let response = response.map_err(|error| format!("no answer: {error}"))?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await;
        let body = body.map_err(|error| format!("cut: {error}"))?;
        Ok(TestResponse {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.to_bytes(),
        })
    }

    pub async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], Bytes::new()).await.unwrap()
    }

    pub async fn delete(&self, path: &str) -> TestResponse {
        self.send("DELETE", path, &[], Bytes::new()).await.unwrap()
    }

    pub async fn try_post(&self, path: &str, body: &Value) -> Result<TestResponse, String> {
        let headers = [("content-type", "application/json")];
        self.send("POST", path, &headers, body.to_string()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.try_post(path, body).await.unwrap()
    }

    pub fn set_faults(&self, faults: Vec<SimulatedFault>) {
        self.simulator.set_faults(self.provider, &self.key, faults);
    }

    pub fn set_fault(&self, fault: SimulatedFault) {
        self.set_faults(vec![fault]);
    }

    pub fn set_pace(&self, pace: SimulatedPace) {
        self.simulator.set_pace(self.provider, &self.key, pace);
    }

    pub fn advance_ms(&self, ms: u64) {
        self.simulator.advance(Duration::from_millis(ms));
    }

    /// Advances far enough for any job at the default pace.
    pub fn finish_jobs(&self) {
        self.advance_ms(1000);
    }
}

/// The form of an upload: a purpose and a file.
pub fn form(purpose: &str, content: &[u8]) -> (String, Vec<u8>) {
    let mut body = format!(
        "--edge\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n{purpose}\r\n\
         --edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    )
    .into_bytes();
    body.extend(content);
    body.extend(b"\r\n--edge--\r\n");
    ("multipart/form-data; boundary=edge".to_owned(), body)
}

/// One line of a file for `OpenAI`.
pub fn openai_line(id: &str, text: &str) -> String {
    serde_json::json!({
        "custom_id": id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "gpt-sim", "messages": [{"role": "user", "content": text}]},
    })
    .to_string()
}

impl TestSimulator {
    pub async fn upload(&self, content: impl AsRef<[u8]>) -> TestResponse {
        let (kind, body) = form("batch", content.as_ref());
        let headers = [("content-type", kind.as_str())];
        self.send("POST", "/v1/files", &headers, body)
            .await
            .unwrap()
    }

    /// Uploads lines and creates a batch from them.
    pub async fn try_create_batch(&self, lines: &[String]) -> Result<TestResponse, String> {
        let file = self.upload(lines.join("\n") + "\n").await.expect_ok();
        let body = serde_json::json!({
            "input_file_id": file["id"],
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"submission_id": "sub-1"},
        });
        self.try_post("/v1/batches", &body).await
    }

    /// Creates an `OpenAI` batch of these texts, as items `a0`, `a1`…, and returns its id.
    pub async fn create_batch(&self, texts: &[&str]) -> String {
        let lines = texts.iter().enumerate();
        let lines: Vec<String> = lines
            .map(|(index, text)| openai_line(&format!("a{index}"), text))
            .collect();
        let created = self.try_create_batch(&lines).await.unwrap().expect_ok();
        created["id"].as_str().unwrap().to_owned()
    }

    pub async fn get_batch(&self, id: &str) -> Value {
        self.get(&format!("/v1/batches/{id}")).await.expect_ok()
    }

    pub async fn get_content(&self, file: &Value) -> TestResponse {
        let id = file.as_str().unwrap();
        self.get(&format!("/v1/files/{id}/content")).await
    }
}
