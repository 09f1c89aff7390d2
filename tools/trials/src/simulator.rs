//! The providers' side: the simulator as a process, administered over HTTP.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::Value;

use crate::daemon::{Daemon, Program};
use crate::failure::{Failure, Result};
use crate::port;
use crate::scratch::Scratch;
use crate::web::Web;

const STARTING: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// Dropped, it is killed, and all that it knew is gone.
#[derive(Debug)]
pub struct Simulator {
    pub address: SocketAddr,
    web: Web,
    daemon: Daemon,
}

impl Simulator {
    pub async fn start(program: &Path, scratch: &Scratch, seed: u64) -> Result<Self> {
        let address = port::free()?;
        let (listen, seed) = (address.to_string(), seed.to_string());
        let program = Program::new(program).arguments(["--listen", &listen, "--seed", &seed]);
        let started = Self {
            address,
            web: Web::default(),
            daemon: program.start(&scratch.join("simulator.log"))?,
        };
        let begun = Instant::now();
        while let Err(failure) = started.ask("GET", "clock", None).await {
            if begun.elapsed() > STARTING {
                return Err(failure);
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(started)
    }

    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// One call to `/admin`, which must succeed.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let url = format!("http://{}/admin/{path}", self.address);
        let body = body.map(ToString::to_string).unwrap_or_default();
        let request = Request::builder().method(method).uri(&url);
        let request = request.body(Full::new(Bytes::from(body)));
        let failed = |why: String| Failure::new(format!("{method} {url}: {why}"));
        let request = request.map_err(|error| failed(error.to_string()))?;
        let reply = self.web.send(request).await.map_err(failed)?;
        if !reply.is_success() {
            return Err(failed(format!("{} {}", reply.status, reply.text())));
        }
        serde_json::from_slice(&reply.body).map_err(|error| failed(error.to_string()))
    }
}
