//! A certificate authority and its certificates, created at run time.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

#[derive(Debug)]
pub struct TestAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl TestAuthority {
    pub fn generate() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer }
    }

    pub fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        roots
    }

    /// The certificate of the authority, as a PEM file.
    pub fn pem(&self) -> String {
        pem("CERTIFICATE", self.issuer.der())
    }

    /// A client certificate and its key, as PEM files.
    pub fn client_pem(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = params(&["client"]).signed_by(&key, &self.issuer).unwrap();
        (
            pem("CERTIFICATE", certificate.der()),
            pem("PRIVATE KEY", &key.serialize_der()),
        )
    }

    /// A TLS acceptor with a certificate for these names.
    pub fn acceptor(&self, names: &[&str]) -> TlsAcceptor {
        self.sign(&params(names), false)
    }

    /// The same, for clients with a certificate of this authority only.
    pub fn strict_acceptor(&self, names: &[&str]) -> TlsAcceptor {
        self.sign(&params(names), true)
    }

    pub fn expired(&self, names: &[&str]) -> TlsAcceptor {
        let mut params = params(names);
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign(&params, false)
    }

    fn sign(&self, params: &CertificateParams, needs_client: bool) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(self.roots());
        let clients = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let clients = if needs_client {
            clients.build().unwrap()
        } else {
            WebPkiClientVerifier::no_client_auth()
        };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        // The server prefers HTTP/2.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    let lines = lines.join("\n");
    format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")
}
