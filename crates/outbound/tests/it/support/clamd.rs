//! The clamd of the test run, and private ones with a test's own settings.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use outbound::malware_scanner::{ClamdAddress, MalwareScanner};
use test_support::environment::required_variable;
use test_support::sample_files::eicar;

const PROGRAM: &str = "clamd";
/// `tcp://host:port` or `unix:/path`
const SERVER_VARIABLE: &str = "LONGSHORE_TEST_SCANNER";
/// With one signature clamd starts in less than a second.
const START_TIMEOUT: Duration = Duration::from_mins(1);
const LONG_TIMEOUT: Duration = Duration::from_mins(1);

/// Without these settings clamd calls files clean that it did not scan.
pub(crate) const REQUIRED_SETTINGS: [&str; 4] = [
    "StreamMaxLength 1100M",
    "MaxFileSize 1100M",
    "MaxScanSize 1100M",
    "AlertExceedsMax yes",
];

/// The scanner of the test run.
pub(crate) fn test_scanner() -> MalwareScanner {
    let address = required_variable(SERVER_VARIABLE);
    let tcp = address
        .strip_prefix("tcp://")
        .map(|it| ClamdAddress::Tcp(it.to_owned()));
    let unix = || ClamdAddress::Unix(address.trim_start_matches("unix:").into());
    MalwareScanner::new(tcp.unwrap_or_else(unix), LONG_TIMEOUT)
}

#[derive(Debug)]
pub(crate) struct ClamdServer {
    folder: PathBuf,
    process: Child,
}

impl ClamdServer {
    /// With one signature, that of the EICAR test file.
    pub(crate) fn with_settings(settings: &[&str]) -> Self {
        let signature = format!("Local.Eicar:0:*:{}\n", hex::encode(eicar()));
        Self::with_signatures(&signature, settings)
    }

    pub(crate) fn with_signatures(signatures: &str, settings: &[&str]) -> Self {
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
            assert!(began.elapsed() < START_TIMEOUT, "{PROGRAM} does not answer");
            sleep(Duration::from_millis(5));
        }
        clamd
    }

    pub(crate) fn scanner(&self, timeout: Duration) -> MalwareScanner {
        MalwareScanner::new(ClamdAddress::Unix(self.folder.join("socket")), timeout)
    }

    pub(crate) fn patient_scanner(&self) -> MalwareScanner {
        self.scanner(LONG_TIMEOUT)
    }

    /// Stops the process. Its connections stay open.
    pub(crate) fn freeze(&self) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-STOP", &pid]).status().unwrap();
        assert!(sent.success());
    }

    fn answers(&self) -> bool {
        let ping = || {
            let mut socket = UnixStream::connect(self.folder.join("socket"))?;
            socket.write_all(b"zPING\0")?;
            let mut answer = String::new();
            socket.read_to_string(&mut answer)?;
            std::io::Result::Ok(answer)
        };
        ping().is_ok_and(|answer| answer.starts_with("PONG"))
    }
}

impl Drop for ClamdServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
