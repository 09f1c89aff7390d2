//! A Redis for one trial, without persistence.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::servers::child_process::{ChildProcess, ChildProgram, StartTimeout};
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;

const START_TIMEOUT: StartTimeout = StartTimeout {
    timeout: Duration::from_secs(30),
    poll_interval: Duration::from_millis(10),
};
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// Keeps its port across restarts; it is killed on drop.
#[derive(Debug)]
pub struct TrialRedisServer {
    address: SocketAddr,
    folder: PathBuf,
    log: PathBuf,
    process: Option<ChildProcess>,
}

impl TrialRedisServer {
    /// Creates a server and starts it.
    pub async fn create(scratch: &ScratchFolder) -> Result<Self> {
        let mut made = Self {
            address: free_port::find_free_address()?,
            folder: scratch.path().to_owned(),
            log: scratch.join("redis.log"),
            process: None,
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
        let mut daemon = program.start(&self.log)?;
        let ping = async || self.run_command("PING").await.map(|_| ());
        daemon
            .wait_until_answering(&self.log, START_TIMEOUT, ping)
            .await?;
        self.process = Some(daemon);
        Ok(())
    }

    /// SIGKILL: connections are reset and all keys are lost.
    pub fn kill(&mut self) {
        drop(self.process.take());
    }

    /// SIGSTOP: connections stay open and nothing answers.
    pub fn freeze(&self) -> Result<()> {
        self.signal("STOP")
    }

    pub fn thaw(&self) -> Result<()> {
        self.signal("CONT")
    }

    fn signal(&self, name: &str) -> Result<()> {
        let daemon = self.process.as_ref();
        let daemon = daemon.ok_or_else(|| TrialFailure::new("redis-server is not running"))?;
        daemon.signal(name)
    }

    /// Deletes every key; connections and scripts stay.
    pub async fn flush_all(&self) -> Result<()> {
        self.run_command("FLUSHALL").await.map(|_| ())
    }

    pub async fn count_keys(&self) -> Result<u64> {
        let answer = self.run_command("DBSIZE").await?;
        answer
            .trim_start_matches(':')
            .parse()
            .context("counting keys")
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(ChildProcess::pid)
    }

    /// One inline command with a one-line answer.
    async fn run_command(&self, command: &str) -> Result<String> {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await?;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_is_frozen_thawed_and_comes_back_empty() {
        let scratch = ScratchFolder::new().unwrap();
        let mut redis = TrialRedisServer::create(&scratch).await.unwrap();
        redis.run_command("SET place example").await.unwrap();
        redis.freeze().unwrap();
        let ping = tokio::time::timeout(Duration::from_millis(50), redis.run_command("PING"));
        assert!(ping.await.is_err());
        redis.thaw().unwrap();
        assert_eq!(redis.count_keys().await.unwrap(), 1);
        redis.kill();
        assert!(redis.run_command("PING").await.is_err());
        redis.start().await.unwrap();
        assert_eq!(redis.count_keys().await.unwrap(), 0);
        redis.run_command("SET place example").await.unwrap();
        assert_eq!(redis.count_keys().await.unwrap(), 1);
        redis.flush_all().await.unwrap();
        assert_eq!(redis.count_keys().await.unwrap(), 0);
    }
}
