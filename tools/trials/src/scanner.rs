//! A malware scanner of the trial's own: clamd with one signature, the industry's test virus.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::daemon::{Daemon, Patience, Program};
use crate::failure::{During as _, Failure, Result};
use crate::port;
use crate::scratch::Scratch;

const STARTING: Patience = Patience {
    within: Duration::from_secs(30),
    every: Duration::from_millis(20),
};
const PATIENCE: Duration = Duration::from_secs(5);
const HALVES: [&[u8]; 2] = [
    b"X5O!P%@AP[4\\PZX54(P^)7CC)7}",
    b"$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*",
];

/// The harmless test virus, in two halves so that this file is none.
pub fn eicar() -> Vec<u8> {
    HALVES.concat()
}

/// How much it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// More than the largest file.
    Ample,
    /// Streams of a megabyte, as they were before anybody set it up for us.
    ShortStream,
    /// Streams of any length, but files in them of a megabyte only.
    ShortFile,
}

/// One server that keeps its port over its restarts; dropped, it is killed.
#[derive(Debug)]
pub struct Scanner {
    address: SocketAddr,
    folder: PathBuf,
    log: PathBuf,
    daemon: Option<Daemon>,
}

impl Scanner {
    pub async fn create(scratch: &Scratch) -> Result<Self> {
        let folder = scratch.join("scanner");
        for name in ["signatures", "streams"] {
            fs::create_dir_all(folder.join(name)).during("making a folder for the scanner")?;
        }
        let signature = format!("Test.Eicar:0:*:{}\n", hex::encode(eicar()));
        fs::write(folder.join("signatures/test.ndb"), signature).during("writing a signature")?;
        // Debian confines the program to its own folders by the path it is run from.
        let installed = ["/usr/sbin/clamd", "/usr/local/sbin/clamd"];
        let installed = installed.iter().find(|path| Path::new(path).exists());
        let installed = installed.ok_or_else(|| Failure::new("clamd is not installed"))?;
        fs::copy(installed, folder.join("clamd")).during("copying clamd")?;
        let mut made = Self {
            address: port::free()?,
            log: scratch.join("scanner.log"),
            folder,
            daemon: None,
        };
        made.start(Limits::Ample).await?;
        Ok(made)
    }

    pub async fn start(&mut self, limits: Limits) -> Result<()> {
        let file = self.folder.join("clamd.conf");
        fs::write(&file, self.settings(limits)).during("writing the scanner's settings")?;
        let program = Program::new(self.folder.join("clamd"))
            .arguments([format!("--config-file={}", file.display())]);
        let mut daemon = program.start(&self.log)?;
        let ping = async || self.command("PING").await.map(|_| ());
        daemon.answering(&self.log, STARTING, ping).await?;
        self.daemon = Some(daemon);
        Ok(())
    }

    fn settings(&self, limits: Limits) -> String {
        let folder = self.folder.display();
        // What looks like an archive in a video is scanned too, so all of it is more than the file.
        let (stream, file, all) = match limits {
            Limits::Ample => ("1100M", "1100M", "4000M"),
            Limits::ShortStream => ("1M", "1100M", "4000M"),
            Limits::ShortFile => ("1100M", "1M", "1M"),
        };
        format!(
            "DatabaseDirectory {folder}/signatures\nTemporaryDirectory {folder}/streams\n\
             TCPAddr 127.0.0.1\nTCPSocket {}\nForeground yes\nSelfCheck 0\n\
             ConcurrentDatabaseReload yes\nReadTimeout 300\nStreamMaxLength {stream}\n\
             MaxFileSize {file}\nMaxScanSize {all}\nMaxScanTime 0\nAlertExceedsMax yes\n",
            self.address.port()
        )
    }

    /// SIGKILL: connections are reset.
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
        let daemon = daemon.ok_or_else(|| Failure::new("there is no clamd to signal"))?;
        daemon.signal(name)
    }

    /// Reads its signatures anew.
    pub async fn reload(&self) -> Result<()> {
        self.command("RELOAD").await.map(|_| ())
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Daemon::pid)
    }

    /// One command whose answer is one line.
    async fn command(&self, command: &str) -> Result<String> {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await?;
            stream.write_all(format!("n{command}\n").as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            Ok::<_, std::io::Error>(answer.trim().to_owned())
        };
        let answer = tokio::time::timeout(PATIENCE, exchange).await;
        answer
            .during("asking the scanner")?
            .during("asking the scanner")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_scanner_is_frozen_thawed_reloaded_and_started_again() {
        let scratch = Scratch::new().unwrap();
        let mut scanner = Scanner::create(&scratch).await.unwrap();
        assert_eq!(scanner.command("PING").await.unwrap(), "PONG");
        scanner.freeze().unwrap();
        let asked = tokio::time::timeout(Duration::from_millis(50), scanner.command("PING"));
        assert!(asked.await.is_err());
        scanner.thaw().unwrap();
        scanner.reload().await.unwrap();
        scanner.kill();
        assert!(scanner.command("PING").await.is_err());
        scanner.start(Limits::ShortFile).await.unwrap();
        assert_eq!(scanner.command("PING").await.unwrap(), "PONG");
    }
}
