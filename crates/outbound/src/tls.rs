//! TLS configuration: the root certificates that the host trusts.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore};

#[derive(Debug, thiserror::Error)]
#[error("the TLS client could not be set up")]
pub struct TlsSetupFailure(#[from] Error);

/// The system's roots, without those that cannot be read.
pub fn native_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "skipped a root certificate that could not be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}

pub(crate) fn tls_connector(roots: RootCertStore) -> Result<TlsConnector, TlsSetupFailure> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
