//! clamd: the one of the tests, and ones set up as a test wants them, gone with the test.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use outbound::scanner::{Address, Scanner};

use super::setting;

const PROGRAM: &str = "clamd";
/// `tcp://host:port` or `unix:/path`
const SERVER: &str = "LONGSHORE_TEST_SCANNER";
/// How long it may take to start; with one signature it takes less than a second.
const START: Duration = Duration::from_mins(1);
const AMPLE: Duration = Duration::from_mins(1);

/// What a clamd must be told, or it calls clean what it has not looked at.
pub(crate) const GOOD: [&str; 4] = [
    "StreamMaxLength 1100M",
    "MaxFileSize 1100M",
    "MaxScanSize 1100M",
    "AlertExceedsMax yes",
];

/// In two halves, lest a scanner takes this program for it.
pub(crate) fn eicar() -> Vec<u8> {
    let halves = [
        r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-",
        r"ANTIVIRUS-TEST-FILE!$H+H*",
    ];
    halves.concat().into_bytes()
}

/// The scanner that the tests were given.
pub(crate) fn scanner() -> Scanner {
    let told = setting(SERVER);
    let tcp = told
        .strip_prefix("tcp://")
        .map(|it| Address::Tcp(it.to_owned()));
    let unix = || Address::Unix(told.trim_start_matches("unix:").into());
    Scanner::new(tcp.unwrap_or_else(unix), AMPLE)
}

#[derive(Debug)]
pub(crate) struct Clamd {
    folder: PathBuf,
    process: Child,
}

impl Clamd {
    /// Knows one signature, that of the test file.
    pub(crate) fn with(settings: &[&str]) -> Self {
        let signature = format!("Local.Eicar:0:*:{}\n", hex::encode(eicar()));
        Self::knowing(&signature, settings)
    }

    pub(crate) fn knowing(signatures: &str, settings: &[&str]) -> Self {
        let name = format!("longshore-clamd-{:016x}", rand::random::<u64>());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("signatures")).unwrap();
        fs::write(folder.join("signatures/local.ndb"), signatures).unwrap();
        let at = folder.display();
        let config = format!(
            "DatabaseDirectory {at}/signatures\nLocalSocket {at}/socket\nTemporaryDirectory {at}\n\
             Foreground yes\nSelfCheck 0\n{}\n",
            settings.join("\n")
        );
        fs::write(folder.join("clamd.conf"), config).unwrap();
        let process = Command::new(PROGRAM)
            .arg("--config-file")
            .arg(folder.join("clamd.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        assert!(process.is_ok(), "{PROGRAM} must be in PATH: ./dev deps");
        let mut clamd = Self {
            folder,
            process: process.unwrap(),
        };
        let began = Instant::now();
        while !clamd.answers() {
            assert_eq!(clamd.process.try_wait().unwrap(), None, "{PROGRAM} ended");
            assert!(began.elapsed() < START, "{PROGRAM} does not answer");
            sleep(Duration::from_millis(5));
        }
        clamd
    }

    pub(crate) fn scanner(&self, timeout: Duration) -> Scanner {
        Scanner::new(Address::Unix(self.folder.join("socket")), timeout)
    }

    pub(crate) fn ample(&self) -> Scanner {
        self.scanner(AMPLE)
    }

    /// It holds its connections and does nothing.
    pub(crate) fn freeze(&self) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-STOP", &pid]).status().unwrap();
        assert!(sent.success());
    }

    fn answers(&self) -> bool {
        let asked = || {
            let mut socket = UnixStream::connect(self.folder.join("socket"))?;
            socket.write_all(b"zPING\0")?;
            let mut answer = String::new();
            socket.read_to_string(&mut answer)?;
            std::io::Result::Ok(answer)
        };
        asked().is_ok_and(|answer| answer.starts_with("PONG"))
    }
}

impl Drop for Clamd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
