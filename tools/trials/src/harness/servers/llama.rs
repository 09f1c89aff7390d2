//! A real model: `SmolLM2` on llama.cpp's server, as a child process.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::Request;

use crate::harness::servers::child_process::ChildProgram;
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{HttpClient, PollLimits, Result};
use crate::options::ChaosServerOptions;

/// Requests that it answers at the same time.
pub const LLAMA_SLOTS: u32 = 4;
/// The model's name at the server.
pub const LLAMA_MODEL: &str = "smollm2";
/// It first reads a hundred megabytes of weights.
const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(100));

/// Keeps its address across restarts; it is killed on drop.
#[derive(Debug)]
pub struct LlamaServer {
    pub child: ChildServer,
    pub address: SocketAddr,
    program: ChildProgram,
}

impl LlamaServer {
    pub fn new(options: &ChaosServerOptions, scratch: &ScratchFolder) -> Result<Self> {
        let address = free_port::find_free_address()?;
        let script = options.script.display().to_string();
        let (port, slots) = (address.port().to_string(), LLAMA_SLOTS.to_string());
        Ok(Self {
            child: ChildServer::new("the model", scratch.join("llama.log"), START_LIMITS),
            address,
            program: ChildProgram::new(&options.python).with_arguments([script, port, slots]),
        })
    }

    pub fn start(&mut self) -> Result<()> {
        self.child.spawn(&self.program)
    }

    /// Waits until it accepts requests.
    pub async fn wait_until_ready(&mut self) -> Result<()> {
        let (http, url) = (
            HttpClient::default(),
            format!("http://{}/health", self.address),
        );
        let health = async || http.call(Request::get(&url), "").await.map(drop);
        self.child.wait_until_answering(health).await
    }
}
