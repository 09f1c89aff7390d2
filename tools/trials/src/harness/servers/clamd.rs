//! A malware scanner for one trial: clamd with one signature, the EICAR test file.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::servers::child_process::ChildProgram;
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{FailureContext as _, PollLimits, Result};

const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(20));
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);
const EICAR_HALVES: [&[u8]; 2] = [
    b"X5O!P%@AP[4\\PZX54(P^)7CC)7}",
    b"$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*",
];

/// The harmless test file, in two halves so that scanners do not report this source file.
pub fn eicar_test_file() -> Vec<u8> {
    EICAR_HALVES.concat()
}

/// How much of a stream it scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClamdLimits {
    /// More than the largest file.
    Sufficient,
    /// Streams of a megabyte, as in clamd's defaults.
    SmallStream,
    /// Streams of any length, but files in them of a megabyte only.
    SmallFile,
}

/// Keeps its port across restarts; it is killed on drop.
#[derive(Debug)]
pub struct TrialClamdServer {
    pub child: ChildServer,
    address: SocketAddr,
    folder: PathBuf,
}

impl TrialClamdServer {
    pub async fn create(scratch: &ScratchFolder) -> Result<Self> {
        let folder = scratch.join("scanner");
        for name in ["signatures", "streams"] {
            fs::create_dir_all(folder.join(name)).context("creating a folder for clamd")?;
        }
        let signature = format!("Test.Eicar:0:*:{}\n", hex::encode(eicar_test_file()));
        fs::write(folder.join("signatures/test.ndb"), signature).context("writing a signature")?;
        // Debian's AppArmor profile depends on the path of the binary.
        let installed = ["/usr/sbin/clamd", "/usr/local/sbin/clamd"];
        let installed = installed.iter().find(|path| Path::new(path).exists());
        let installed = installed.context("clamd is not installed")?;
        fs::copy(installed, folder.join("clamd")).context("copying clamd")?;
        let mut made = Self {
            child: ChildServer::new("clamd", scratch.join("scanner.log"), START_LIMITS),
            address: free_port::find_free_address()?,
            folder,
        };
        made.start(ClamdLimits::Sufficient).await?;
        Ok(made)
    }

    pub async fn start(&mut self, limits: ClamdLimits) -> Result<()> {
        let file = self.folder.join("clamd.conf");
        fs::write(&file, self.settings(limits)).context("writing clamd.conf")?;
        let program = ChildProgram::new(self.folder.join("clamd"))
            .with_arguments([format!("--config-file={}", file.display())]);
        self.child.spawn(&program)?;
        let address = self.address;
        let ping = async || run_command(address, "PING").await.map(drop);
        self.child.wait_until_answering(ping).await
    }

    fn settings(&self, limits: ClamdLimits) -> String {
        let folder = self.folder.display();
        // clamd also scans parts of a video that look like an archive, so the total is more
        // than the file.
        let (stream, file, all) = match limits {
            ClamdLimits::Sufficient => ("1100M", "1100M", "4000M"),
            ClamdLimits::SmallStream => ("1M", "1100M", "4000M"),
            ClamdLimits::SmallFile => ("1100M", "1M", "1M"),
        };
        format!(
            "DatabaseDirectory {folder}/signatures\nTemporaryDirectory {folder}/streams\n\
             TCPAddr 127.0.0.1\nTCPSocket {}\nForeground yes\nSelfCheck 0\n\
             ConcurrentDatabaseReload yes\nReadTimeout 300\nStreamMaxLength {stream}\n\
             MaxFileSize {file}\nMaxScanSize {all}\nMaxScanTime 0\nAlertExceedsMax yes\n",
            self.address.port()
        )
    }

    /// Makes it reload its signatures.
    pub async fn reload(&self) -> Result<()> {
        run_command(self.address, "RELOAD").await.map(drop)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// One command with a one-line answer.
async fn run_command(address: SocketAddr, command: &str) -> Result<String> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("n{command}\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer.trim().to_owned())
    };
    let answer = tokio::time::timeout(COMMAND_TIMEOUT, exchange).await;
    answer
        .context("sending a command to clamd")?
        .context("sending a command to clamd")
}
