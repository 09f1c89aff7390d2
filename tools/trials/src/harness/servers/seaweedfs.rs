//! An object store for one trial: SeaweedFS with one bucket.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::harness::servers::child_process::ChildProgram;
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{FailureContext as _, HttpClient, PollLimits, Result, S3Bucket};

const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(100));
const BUCKET_NAME: &str = "longshore";
const ACCESS_KEY: &str = "trials";
const SECRET_KEY: &str = "trials-secret";
/// By default each would be a port 10,000 above another one, which may be taken.
const PORT_OPTIONS: [&str; 8] = [
    "s3.port",
    "s3.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
];

/// Keeps its ports and its data across restarts; it is killed on drop.
#[derive(Debug)]
pub struct TrialSeaweedServer {
    pub child: ChildServer,
    pub bucket: S3Bucket,
    program: PathBuf,
    folder: PathBuf,
    ports: Vec<u16>,
}

impl TrialSeaweedServer {
    /// Starts it without waiting: it takes seconds, and other servers can start meanwhile.
    pub fn start_without_waiting(scratch: &ScratchFolder, program: &Path) -> Result<Self> {
        let folder = scratch.join("objects");
        fs::create_dir_all(folder.join("data"))
            .context("creating a folder for the object store")?;
        let identities = format!(
            r#"{{"identities":[{{"name":"trials","actions":["Admin","Read","Write","List","Tagging"],
            "credentials":[{{"accessKey":"{ACCESS_KEY}","secretKey":"{SECRET_KEY}"}}]}}]}}"#
        );
        fs::write(folder.join("s3.json"), identities).context("writing identities")?;
        // By default a bucket starts with seven volumes, and the first request waits for all of
        // them.
        let growth = "[master.volume_growth]\ncopy_1 = 1\n";
        fs::write(folder.join("master.toml"), growth).context("writing the master's settings")?;
        let ports =
            PORT_OPTIONS.map(|_| free_port::find_free_address().map(|address| address.port()));
        let ports: Vec<u16> = ports.into_iter().collect::<Result<_>>()?;
        let mut made = Self {
            child: ChildServer::new("weed", scratch.join("objects.log"), START_LIMITS),
            bucket: S3Bucket {
                host: format!("127.0.0.1:{}", ports.first().copied().unwrap_or_default()),
                name: BUCKET_NAME.to_owned(),
                access_key: ACCESS_KEY.to_owned(),
                secret_key: SECRET_KEY.to_owned(),
                http: HttpClient::default(),
            },
            program: program.to_owned(),
            folder,
            ports,
        };
        made.spawn()?;
        Ok(made)
    }

    fn spawn(&mut self) -> Result<()> {
        let folder = self.folder.display();
        let mut weed = ChildProgram::new(&self.program)
            .with_arguments(["-logtostderr".to_owned(), format!("-config_dir={folder}")])
            .with_arguments(["server", "-s3", "-filer", "-ip=127.0.0.1"])
            .with_arguments(["-ip.bind=127.0.0.1", "-s3.iam=false", "-s3.port.iceberg=0"])
            // It sends telemetry unless this is off.
            .with_arguments(["-master.telemetry=false", "-s3.port.lance=0"])
            // 120 volumes of 256 MB: 30 GB.
            .with_arguments(["-master.volumeSizeLimitMB=256", "-volume.max=120"])
            .with_arguments(["-master.electionTimeout=1s", "-volume.preStopSeconds=0"])
            .with_arguments([
                format!("-dir={folder}/data"),
                format!("-s3.config={folder}/s3.json"),
                format!("-s3.localSocket={folder}/s3.sock"),
                format!("-filer.localSocket={folder}/filer.sock"),
            ]);
        for (option, port) in PORT_OPTIONS.iter().zip(&self.ports) {
            weed = weed.with_arguments([format!("-{option}={port}")]);
        }
        self.child.spawn(&weed)
    }

    /// Waits until an object can be put and read back, which is later than the first response.
    pub async fn wait_until_working(&mut self) -> Result<()> {
        let bucket = &self.bucket;
        let works = async || {
            bucket.create().await?;
            bucket.check_put_and_get().await
        };
        self.child.wait_until_answering(works).await
    }

    /// Starts the same server again, after `kill`.
    pub async fn start(&mut self) -> Result<()> {
        self.spawn()?;
        self.wait_until_working().await
    }

    pub fn port(&self) -> u16 {
        self.ports.first().copied().unwrap_or_default()
    }

    /// The settings of the service: its own address of the store, and the callers'.
    pub fn settings(&self, ours: &str) -> Vec<(&'static str, String)> {
        vec![
            ("OBJECTS_URL", format!("http://{ours}")),
            (
                "OBJECTS_PUBLIC_URL",
                format!("http://localhost:{}", self.port()),
            ),
            ("OBJECTS_BUCKET", BUCKET_NAME.to_owned()),
            ("OBJECTS_ACCESS_KEY", ACCESS_KEY.to_owned()),
            ("OBJECTS_SECRET_KEY", SECRET_KEY.to_owned()),
        ]
    }
}

impl Drop for TrialSeaweedServer {
    fn drop(&mut self) {
        self.child.kill();
        // It leaves sockets behind whose path no option changes.
        for port in &self.ports {
            for part in ["s3", "filer", "master", "volume"] {
                let _ = fs::remove_file(format!("/tmp/seaweedfs-{part}-grpc-{port}.sock"));
            }
        }
    }
}
