//! An object store of the trial's own: SeaweedFS, with one bucket.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bucket::Bucket;
use crate::daemon::{Daemon, Patience, Program};
use crate::failure::{During as _, Failure, Result};
use crate::port;
use crate::scratch::Scratch;
use crate::web::Web;

const STARTING: Patience = Patience {
    within: Duration::from_mins(1),
    every: Duration::from_millis(100),
};
const NAME: &str = "longshore";
const ACCESS_KEY: &str = "trials";
const SECRET_KEY: &str = "trials-secret";
/// Each would otherwise choose a port 10,000 above another, which may be taken.
const PORTS: [&str; 8] = [
    "s3.port",
    "s3.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
];

/// One server that keeps its ports and its data over its restarts; dropped, it is killed.
#[derive(Debug)]
pub struct Objects {
    pub bucket: Bucket,
    program: PathBuf,
    folder: PathBuf,
    log: PathBuf,
    ports: Vec<u16>,
    daemon: Option<Daemon>,
}

impl Objects {
    /// Makes a server with a bucket and starts it.
    pub async fn create(scratch: &Scratch, program: &Path) -> Result<Self> {
        let mut made = Self::begin(scratch, program)?;
        made.working().await?;
        Ok(made)
    }

    /// Starts it without waiting: it takes seconds, and others can start meanwhile.
    pub fn begin(scratch: &Scratch, program: &Path) -> Result<Self> {
        let folder = scratch.join("objects");
        fs::create_dir_all(folder.join("data")).during("making a folder for objects")?;
        let identities = format!(
            r#"{{"identities":[{{"name":"trials","actions":["Admin","Read","Write","List","Tagging"],
            "credentials":[{{"accessKey":"{ACCESS_KEY}","secretKey":"{SECRET_KEY}"}}]}}]}}"#
        );
        fs::write(folder.join("s3.json"), identities).during("writing identities")?;
        // A bucket would begin with seven volumes, and the first request wait for all of them.
        let growth = "[master.volume_growth]\ncopy_1 = 1\n";
        fs::write(folder.join("master.toml"), growth).during("writing the master's settings")?;
        let ports = PORTS.map(|_| port::free().map(|address| address.port()));
        let ports: Vec<u16> = ports.into_iter().collect::<Result<_>>()?;
        let mut made = Self {
            bucket: Bucket {
                host: format!("127.0.0.1:{}", ports.first().copied().unwrap_or_default()),
                name: NAME.to_owned(),
                access_key: ACCESS_KEY.to_owned(),
                secret_key: SECRET_KEY.to_owned(),
                web: Web::default(),
            },
            program: program.to_owned(),
            log: scratch.join("objects.log"),
            folder,
            ports,
            daemon: None,
        };
        made.spawn()?;
        Ok(made)
    }

    fn spawn(&mut self) -> Result<()> {
        let folder = self.folder.display();
        let mut weed = Program::new(&self.program)
            .arguments(["-logtostderr".to_owned(), format!("-config_dir={folder}")])
            .arguments(["server", "-s3", "-filer", "-ip=127.0.0.1"])
            .arguments(["-ip.bind=127.0.0.1", "-s3.iam=false", "-s3.port.iceberg=0"])
            // It sends statistics home unless told not to.
            .arguments(["-master.telemetry=false", "-s3.port.lance=0"])
            // 120 volumes of 256 MB: room for 30 GB.
            .arguments(["-master.volumeSizeLimitMB=256", "-volume.max=120"])
            .arguments(["-master.electionTimeout=1s", "-volume.preStopSeconds=0"])
            .arguments([
                format!("-dir={folder}/data"),
                format!("-s3.config={folder}/s3.json"),
                format!("-s3.localSocket={folder}/s3.sock"),
                format!("-filer.localSocket={folder}/filer.sock"),
            ]);
        for (option, port) in PORTS.iter().zip(&self.ports) {
            weed = weed.arguments([format!("-{option}={port}")]);
        }
        self.daemon = Some(weed.start(&self.log)?);
        Ok(())
    }

    /// Waits until what is put can be got, which is later than that it answers.
    pub async fn working(&mut self) -> Result<()> {
        let (daemon, bucket) = (self.daemon.as_mut(), &self.bucket);
        let daemon = daemon.ok_or_else(|| Failure::new("the object store was not started"))?;
        let works = async || {
            bucket.make().await?;
            bucket.works().await
        };
        daemon.answering(&self.log, STARTING, works).await
    }

    /// The same server again, after `kill`.
    pub async fn start(&mut self) -> Result<()> {
        self.spawn()?;
        self.working().await
    }

    /// SIGKILL: what was acknowledged is on disk.
    pub fn kill(&mut self) {
        drop(self.daemon.take());
    }

    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Daemon::pid)
    }

    pub fn port(&self) -> u16 {
        self.ports.first().copied().unwrap_or_default()
    }

    /// What names it to the service: our own way to it, and the callers'.
    pub fn settings(&self, ours: &str) -> Vec<(&'static str, String)> {
        vec![
            ("OBJECTS_URL", format!("http://{ours}")),
            (
                "OBJECTS_PUBLIC_URL",
                format!("http://localhost:{}", self.port()),
            ),
            ("OBJECTS_BUCKET", NAME.to_owned()),
            ("OBJECTS_ACCESS_KEY", ACCESS_KEY.to_owned()),
            ("OBJECTS_SECRET_KEY", SECRET_KEY.to_owned()),
        ]
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        self.kill();
        // It leaves sockets behind that no option moves.
        for port in &self.ports {
            for part in ["s3", "filer", "master", "volume"] {
                let _ = fs::remove_file(format!("/tmp/seaweedfs-{part}-grpc-{port}.sock"));
            }
        }
    }
}
