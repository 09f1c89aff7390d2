//! The simulator of providers as a child process, controlled over HTTP.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use hyper::Request;
use serde_json::Value;

use crate::harness::servers::child_process::ChildProgram;
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{FailureContext as _, HttpClient, PollLimits, Result};

const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(20), Duration::from_millis(20));

/// It is killed on drop, and its state is lost.
#[derive(Debug)]
pub struct SimulatorProcess {
    pub child: ChildServer,
    pub address: SocketAddr,
    http: HttpClient,
}

impl SimulatorProcess {
    pub async fn start(program: &Path, scratch: &ScratchFolder, seed: u64) -> Result<Self> {
        let address = free_port::find_free_address()?;
        let (listen, seed) = (address.to_string(), seed.to_string());
        let program =
            ChildProgram::new(program).with_arguments(["--listen", &listen, "--seed", &seed]);
        let log_file = scratch.join("simulator.log");
        let mut started = Self {
            child: ChildServer::new("simulator", log_file, START_LIMITS),
            address,
            http: HttpClient::default(),
        };
        started.child.spawn(&program)?;
        let http = started.http.clone();
        let ask = async || {
            call_admin(&http, address, "GET", "clock", None)
                .await
                .map(drop)
        };
        started.child.wait_until_answering(ask).await?;
        Ok(started)
    }

    /// One call to `/admin`, which must succeed.
    pub async fn call_admin(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        call_admin(&self.http, self.address, method, path, body).await
    }
}

async fn call_admin(
    http: &HttpClient,
    address: SocketAddr,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<Value> {
    let url = format!("http://{address}/admin/{path}");
    let body = body.map(ToString::to_string).unwrap_or_default();
    let request = Request::builder().method(method).uri(&url);
    let reply = http.call(request, body).await?;
    serde_json::from_slice(&reply.body).context(format!("{method} {url}"))
}
