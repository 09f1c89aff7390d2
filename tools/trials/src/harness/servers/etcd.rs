//! An etcd with one member for one trial.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::Request;

use crate::harness::servers::child_process::ChildProgram;
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{HttpClient, PollLimits, Result};

const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(50));

/// It is killed on drop.
#[derive(Debug)]
pub struct TrialEtcdServer {
    pub child: ChildServer,
    address: SocketAddr,
}

impl TrialEtcdServer {
    pub async fn start(scratch: &ScratchFolder) -> Result<Self> {
        let address = free_port::find_free_address()?;
        let peers = format!("http://{}", free_port::find_free_address()?);
        let clients = format!("http://{address}");
        let folder = scratch.join("etcd").display().to_string();
        let program = ChildProgram::new("etcd")
            .with_arguments(["--name", "trial", "--data-dir", &folder])
            .with_arguments(["--enable-v2", "--listen-client-urls", &clients])
            .with_arguments(["--advertise-client-urls", &clients])
            .with_arguments(["--listen-peer-urls", &peers])
            .with_arguments(["--initial-advertise-peer-urls", &peers])
            .with_arguments(["--initial-cluster", &format!("trial={peers}")]);
        let mut started = Self {
            child: ChildServer::new("etcd", scratch.join("etcd.log"), START_LIMITS),
            address,
        };
        started.child.spawn(&program)?;
        let (http, url) = (HttpClient::default(), format!("{clients}/health"));
        let ask = async || http.call(Request::get(&url), "").await.map(drop);
        started.child.wait_until_answering(ask).await?;
        Ok(started)
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}
