//! The simulator of providers as a child process, controlled over HTTP.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::Value;

use crate::harness::failure::{Result, TrialFailure};
use crate::harness::http::http_client::HttpClient;
use crate::harness::servers::child_process::{ChildProcess, ChildProgram};
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;

const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// It is killed on drop, and its state is lost.
#[derive(Debug)]
pub struct SimulatorProcess {
    pub address: SocketAddr,
    http: HttpClient,
    process: ChildProcess,
}

impl SimulatorProcess {
    pub async fn start(program: &Path, scratch: &ScratchFolder, seed: u64) -> Result<Self> {
        let address = free_port::find_free_address()?;
        let (listen, seed) = (address.to_string(), seed.to_string());
        let program =
            ChildProgram::new(program).with_arguments(["--listen", &listen, "--seed", &seed]);
        let started = Self {
            address,
            http: HttpClient::default(),
            process: program.start(&scratch.join("simulator.log"))?,
        };
        let begun = Instant::now();
        while let Err(failure) = started.call_admin("GET", "clock", None).await {
            if begun.elapsed() > START_TIMEOUT {
                return Err(failure);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(started)
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// One call to `/admin`, which must succeed.
    pub async fn call_admin(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        let url = format!("http://{}/admin/{path}", self.address);
        let body = body.map(ToString::to_string).unwrap_or_default();
        let request = Request::builder().method(method).uri(&url);
        let request = request.body(Full::new(Bytes::from(body)));
        let failed = |why: String| TrialFailure::new(format!("{method} {url}: {why}"));
        let request = request.map_err(|error| failed(error.to_string()))?;
        let reply = self.http.send(request).await.map_err(failed)?;
        if !reply.is_success() {
            return Err(failed(format!("{} {}", reply.status, reply.text())));
        }
        serde_json::from_slice(&reply.body).map_err(|error| failed(error.to_string()))
    }
}
