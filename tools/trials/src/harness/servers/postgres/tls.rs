//! TLS, with a certificate that is made for the trial.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::CertifiedKey;

use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::servers::postgres::TrialPostgresServer;

/// The host in the URLs of the server.
const HOST: &str = "127.0.0.1";
/// A line of a PEM file has 64 digits.
const BYTES_PER_LINE: usize = 48;

impl TrialPostgresServer {
    /// Restarts it with TLS; it still accepts plain connections. Returns the file of its
    /// certificate, which is its own authority.
    pub async fn enable_tls(&mut self) -> Result<PathBuf> {
        let made = rcgen::generate_simple_self_signed(vec![HOST.to_owned()]);
        let CertifiedKey { cert, signing_key } = made.context("making a certificate")?;
        let key = to_pem("PRIVATE KEY", &signing_key.serialize_der());
        // The names that PostgreSQL expects in its data folder.
        self.write_private_file("server.key", &key)?;
        let certificate = to_pem("CERTIFICATE", cert.der());
        let path = self.write_private_file("server.crt", &certificate)?;
        self.settings.push(("ssl".to_owned(), "on".to_owned()));
        self.crash().await?;
        self.start().await?;
        Ok(path)
    }

    /// PostgreSQL refuses a key that other users can read.
    fn write_private_file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.data_folder.join(name);
        fs::write(&path, text).context("writing a certificate")?;
        let private = Permissions::from_mode(0o600);
        fs::set_permissions(&path, private).context("setting permissions of a certificate")?;
        if let Some(user) = self.user {
            chown(&path, Some(user.uid), Some(user.gid))
                .context("changing the owner of a certificate")?;
        }
        Ok(path)
    }
}

fn to_pem(label: &str, der: &[u8]) -> String {
    let lines = der.chunks(BYTES_PER_LINE);
    let lines: Vec<String> = lines.map(|bytes| STANDARD.encode(bytes)).collect();
    let lines = lines.join("\n");
    format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")
}
