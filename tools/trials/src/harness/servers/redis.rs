//! A Redis for one trial, without persistence.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::servers::child_process::ChildProgram;
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{FailureContext as _, PollLimits, Result, TrialFailure};

const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(10));
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// Keeps its port across restarts; it is killed on drop.
#[derive(Debug)]
pub struct TrialRedisServer {
    pub child: ChildServer,
    address: SocketAddr,
    folder: PathBuf,
}

impl TrialRedisServer {
    /// Creates a server and starts it.
    pub async fn create(scratch: &ScratchFolder) -> Result<Self> {
        let mut made = Self {
            child: ChildServer::new("redis-server", scratch.join("redis.log"), START_LIMITS),
            address: free_port::find_free_address()?,
            folder: scratch.path().to_owned(),
        };
        made.start().await?;
        Ok(made)
    }

    /// It starts empty.
    pub async fn start(&mut self) -> Result<()> {
        let (folder, port) = (
            self.folder.display().to_string(),
            self.address.port().to_string(),
        );
        let program = ChildProgram::new("redis-server")
            .with_arguments(["--bind", "127.0.0.1", "--port", &port, "--dir", &folder])
            .with_arguments(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
        self.child.spawn(&program)?;
        let address = self.address;
        let ping = async || run_command(address, "PING").await.map(drop);
        self.child.wait_until_answering(ping).await
    }

    /// Deletes every key; connections and scripts stay.
    pub async fn flush_all(&self) -> Result<()> {
        run_command(self.address, "FLUSHALL").await.map(drop)
    }

    pub async fn count_keys(&self) -> Result<u64> {
        let answer = run_command(self.address, "DBSIZE").await?;
        answer
            .trim_start_matches(':')
            .parse()
            .context("counting keys")
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

/// One inline command with a one-line answer.
async fn run_command(address: SocketAddr, command: &str) -> Result<String> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream
            .write_all(format!("{command}\r\n").as_bytes())
            .await?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n") {
            if stream.read_buf(&mut answer).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).trim().to_owned())
    };
    let answer = tokio::time::timeout(COMMAND_TIMEOUT, exchange)
        .await
        .context("sending a command to Redis")?
        .context("sending a command to Redis")?;
    if answer.starts_with(['+', ':']) {
        return Ok(answer);
    }
    Err(TrialFailure::new(format!(
        "Redis answered {command}: {answer}"
    )))
}
