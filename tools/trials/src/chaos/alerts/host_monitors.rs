//! The exporters of Prometheus for hosts, with a disk and a certificate that the trial can spoil.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;

use crate::harness::servers::free_port;
use crate::harness::{
    ChildProgram, ChildServer, FailureContext as _, HttpClient, PollLimits, Result, ScratchFolder,
    SmallDisk,
};

const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(20), Duration::from_millis(100));
const DISK_MEGABYTES: u64 = 32;
const VALID_DAYS: u32 = 90;
/// The alert fires below 14 days.
const EXPIRING_DAYS: u32 = 5;
/// Connects with TLS and reads the certificate.
const BLACKBOX_MODULES: &str = "\
modules:
  tls:
    prober: tcp
    timeout: 1s
    tcp:
      preferred_ip_protocol: ip4
      tls: true
      tls_config:
        insecure_skip_verify: true
";

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct HostMonitors {
    _node_exporter: ChildServer,
    _blackbox_exporter: ChildServer,
    tls_server: ChildServer,
    node_address: SocketAddr,
    blackbox_address: SocketAddr,
    tls_address: SocketAddr,
    pub disk: SmallDisk,
    scratch: Arc<ScratchFolder>,
}

impl HostMonitors {
    pub async fn start(scratch: &Arc<ScratchFolder>) -> Result<Self> {
        let disk = SmallDisk::mount(scratch.join("small-disk"), DISK_MEGABYTES)?;
        let modules = scratch.join("blackbox.yml");
        fs::write(&modules, BLACKBOX_MODULES).context("writing blackbox.yml")?;
        let node_address = free_port::find_free_address()?;
        let node = ChildProgram::new("prometheus-node-exporter")
            .with_arguments(["--collector.disable-defaults", "--collector.filesystem"]);
        let blackbox_address = free_port::find_free_address()?;
        let blackbox = ChildProgram::new("prometheus-blackbox-exporter")
            .with_arguments([format!("--config.file={}", modules.display())]);
        let mut monitors = Self {
            _node_exporter: start_exporter(scratch, "node-exporter", node, node_address).await?,
            _blackbox_exporter: start_exporter(scratch, "blackbox", blackbox, blackbox_address)
                .await?,
            tls_server: ChildServer::new("openssl", scratch.join("openssl.log"), START_LIMITS),
            node_address,
            blackbox_address,
            tls_address: free_port::find_free_address()?,
            disk,
            scratch: Arc::clone(scratch),
        };
        monitors.serve_certificate(VALID_DAYS).await?;
        Ok(monitors)
    }

    /// The certificate expires within days.
    pub async fn let_certificate_expire(&mut self) -> Result<()> {
        self.serve_certificate(EXPIRING_DAYS).await
    }

    async fn serve_certificate(&mut self, days: u32) -> Result<()> {
        let (key, certificate) = self.make_certificate(days).await?;
        self.tls_server.kill();
        let (key, certificate) = (key.display(), certificate.display());
        let server = ChildProgram::new("openssl")
            .with_arguments(["s_server", "-www", "-accept", &self.tls_address.to_string()])
            .with_arguments(["-key".to_owned(), key.to_string()])
            .with_arguments(["-cert".to_owned(), certificate.to_string()]);
        self.tls_server.spawn(&server)
    }

    async fn make_certificate(&self, days: u32) -> Result<(PathBuf, PathBuf)> {
        let key = self.scratch.join(format!("tls-{days}.key"));
        let certificate = self.scratch.join(format!("tls-{days}.pem"));
        let request = ChildProgram::new("openssl")
            .with_arguments(["req", "-x509", "-newkey", "rsa:2048", "-nodes"])
            .with_arguments(["-subj", "/CN=127.0.0.1", "-days", &days.to_string()])
            .with_arguments(["-keyout".to_owned(), key.display().to_string()])
            .with_arguments(["-out".to_owned(), certificate.display().to_string()]);
        request.run(&self.scratch.join("openssl-req")).await?;
        Ok((key, certificate))
    }

    /// The scrape jobs of both exporters. The rules leave memory disks out, so the small disk, which
    /// is one, gets the type of a real disk; the disks of this machine are left out.
    pub fn scrape_jobs(&self) -> String {
        let Self {
            node_address,
            blackbox_address,
            tls_address,
            ..
        } = self;
        let disk = self.disk.path().display();
        format!(
            r#"  - job_name: node
    static_configs: [{{targets: ["{node_address}"]}}]
    metric_relabel_configs:
      - {{source_labels: [mountpoint], regex: "{disk}", action: keep}}
      - {{target_label: fstype, replacement: ext4}}
  - job_name: blackbox
    metrics_path: /probe
    params: {{module: [tls]}}
    static_configs: [{{targets: ["{tls_address}"]}}]
    relabel_configs:
      - {{source_labels: [__address__], target_label: __param_target}}
      - {{source_labels: [__param_target], target_label: instance}}
      - {{target_label: __address__, replacement: "{blackbox_address}"}}
"#
        )
    }
}

async fn start_exporter(
    scratch: &ScratchFolder,
    name: &str,
    program: ChildProgram,
    address: SocketAddr,
) -> Result<ChildServer> {
    let program = program.with_arguments([format!("--web.listen-address={address}")]);
    let mut child = ChildServer::new(name, scratch.join(format!("{name}.log")), START_LIMITS);
    child.spawn(&program)?;
    let (http, url) = (HttpClient::default(), format!("http://{address}/metrics"));
    let ask = async || http.call(Request::get(&url), "").await.map(drop);
    child.wait_until_answering(ask).await?;
    Ok(child)
}
