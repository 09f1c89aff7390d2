//! A model that really answers: `SmolLM2` on llama.cpp's own server, as a process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;

use crate::daemon::{Daemon, Patience, Program};
use crate::failure::{During as _, Failure, Result};
use crate::options::ServerOptions;
use crate::port;
use crate::scratch::Scratch;
use crate::web::Web;

/// Questions that it answers at the same time.
pub const SLOTS: u32 = 4;
/// What it calls the model.
pub const MODEL: &str = "smollm2";
/// It reads a hundred megabytes of weights first.
const STARTING: Patience = Patience {
    within: Duration::from_mins(1),
    every: Duration::from_millis(100),
};

/// Keeps its address over its restarts; dropped, it is killed.
#[derive(Debug)]
pub struct Llama {
    pub address: SocketAddr,
    program: Program,
    log: PathBuf,
    daemon: Option<Daemon>,
}

impl Llama {
    pub fn new(options: &ServerOptions, scratch: &Scratch) -> Result<Self> {
        let address = port::free()?;
        let script = options.script.display().to_string();
        let (port, slots) = (address.port().to_string(), SLOTS.to_string());
        Ok(Self {
            address,
            program: Program::new(&options.python).arguments([script, port, slots]),
            log: scratch.join("llama.log"),
            daemon: None,
        })
    }

    pub fn start(&mut self) -> Result<()> {
        self.daemon = Some(self.program.start(&self.log)?);
        Ok(())
    }

    /// Waits until it takes questions.
    pub async fn ready(&mut self) -> Result<()> {
        let daemon = self.daemon.as_mut();
        let daemon = daemon.ok_or_else(|| Failure::new("the model's server is not started"))?;
        let (web, url) = (Web::default(), format!("http://{}/health", self.address));
        let health = async || {
            let request = Request::get(&url).body(Full::new(Bytes::new()));
            let reply = web.send(request.during("asking for health")?).await;
            match reply {
                Ok(reply) if reply.is_success() => Ok(()),
                Ok(reply) => Err(Failure::new(format!("health is {}", reply.status))),
                Err(why) => Err(Failure::new(why)),
            }
        };
        daemon.answering(&self.log, STARTING, health).await
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.kill();
        }
    }
}
