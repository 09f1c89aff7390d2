//! A Redis of the trial's own, which keeps nothing on disk.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::daemon::{Daemon, Patience, Program};
use crate::failure::{During as _, Failure, Result};
use crate::port;
use crate::scratch::Scratch;

const STARTING: Patience = Patience {
    within: Duration::from_secs(30),
    every: Duration::from_millis(10),
};
const PATIENCE: Duration = Duration::from_secs(5);

/// One server that keeps its port over its restarts; dropped, it is killed.
#[derive(Debug)]
pub struct Redis {
    address: SocketAddr,
    folder: PathBuf,
    log: PathBuf,
    daemon: Option<Daemon>,
}

impl Redis {
    /// Makes a server and starts it.
    pub async fn create(scratch: &Scratch) -> Result<Self> {
        let mut made = Self {
            address: port::free()?,
            folder: scratch.path().to_owned(),
            log: scratch.join("redis.log"),
            daemon: None,
        };
        made.start().await?;
        Ok(made)
    }

    /// It starts empty: what it held before is gone.
    pub async fn start(&mut self) -> Result<()> {
        let (folder, port) = (
            self.folder.display().to_string(),
            self.address.port().to_string(),
        );
        let program = Program::new("redis-server")
            .arguments(["--bind", "127.0.0.1", "--port", &port, "--dir", &folder])
            .arguments(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
        let mut daemon = program.start(&self.log)?;
        let ping = async || self.command("PING").await.map(|_| ());
        daemon.answering(&self.log, STARTING, ping).await?;
        self.daemon = Some(daemon);
        Ok(())
    }

    /// SIGKILL: connections are reset and what it held is gone.
    pub fn kill(&mut self) {
        drop(self.daemon.take());
    }

    /// SIGSTOP: connections stay and nothing answers.
    pub fn freeze(&self) -> Result<()> {
        self.signal("STOP")
    }

    pub fn thaw(&self) -> Result<()> {
        self.signal("CONT")
    }

    fn signal(&self, name: &str) -> Result<()> {
        let daemon = self.daemon.as_ref();
        let daemon = daemon.ok_or_else(|| Failure::new("there is no redis-server to signal"))?;
        daemon.signal(name)
    }

    /// Forgets every key; connections and scripts stay.
    pub async fn wipe(&self) -> Result<()> {
        self.command("FLUSHALL").await.map(|_| ())
    }

    /// How many keys it holds.
    pub async fn keys(&self) -> Result<u64> {
        let answer = self.command("DBSIZE").await?;
        answer
            .trim_start_matches(':')
            .parse()
            .during("counting keys")
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Daemon::pid)
    }

    /// One inline command whose answer is one line.
    async fn command(&self, command: &str) -> Result<String> {
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
        let answer = tokio::time::timeout(PATIENCE, exchange)
            .await
            .during("asking Redis")?
            .during("asking Redis")?;
        if answer.starts_with(['+', ':']) {
            return Ok(answer);
        }
        Err(Failure::new(format!("Redis answered {command}: {answer}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_is_frozen_thawed_and_comes_back_empty() {
        let scratch = Scratch::new().unwrap();
        let mut redis = Redis::create(&scratch).await.unwrap();
        redis.command("SET place harbour").await.unwrap();
        redis.freeze().unwrap();
        let asked = tokio::time::timeout(Duration::from_millis(50), redis.command("PING"));
        assert!(asked.await.is_err());
        redis.thaw().unwrap();
        assert_eq!(redis.keys().await.unwrap(), 1);
        redis.kill();
        assert!(redis.command("PING").await.is_err());
        redis.start().await.unwrap();
        assert_eq!(redis.keys().await.unwrap(), 0);
        redis.command("SET place harbour").await.unwrap();
        assert_eq!(redis.keys().await.unwrap(), 1);
        redis.wipe().await.unwrap();
        assert_eq!(redis.keys().await.unwrap(), 0);
    }
}
