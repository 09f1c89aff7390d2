//! How an address protects its connections: TLS or not, and whether certificates are verified.

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::connect::host_options;
use crate::Error;

/// How connections to one host of an address are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostTransport {
    /// None for a Unix socket.
    pub host: Option<String>,
    pub tls: TlsRequirement,
}

/// What `sslmode` requires of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsRequirement {
    /// A server, or someone in between, can have the connection unencrypted.
    Optional,
    /// Encrypted, but anyone can pretend to be the server.
    Unverified,
    /// Encrypted, and the server has a certificate of a trusted authority.
    Verified,
}

/// The transport to each host of an address, in its order.
pub fn host_transports(url: &str) -> Result<Vec<HostTransport>, Error> {
    let hosts = host_options(url)?;
    Ok(hosts.iter().map(host_transport).collect())
}

fn host_transport(options: &PgConnectOptions) -> HostTransport {
    // The driver also takes a directory as host.
    let host = options.get_host();
    let is_socket = options.get_socket().is_some() || host.starts_with('/');
    HostTransport {
        host: (!is_socket).then(|| host.to_owned()),
        tls: match options.get_ssl_mode() {
            PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer => TlsRequirement::Optional,
            PgSslMode::Require => TlsRequirement::Unverified,
            PgSslMode::VerifyCa | PgSslMode::VerifyFull => TlsRequirement::Verified,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h5_an_address_says_how_it_is_protected() {
        let transport = |url: &str| {
            let mut found = host_transports(url).unwrap();
            assert_eq!(found.len(), 1);
            found.remove(0)
        };
        let remote = |tls| HostTransport {
            host: Some("db.example".to_owned()),
            tls,
        };
        let table = [
            ("sslmode=disable", TlsRequirement::Optional),
            ("sslmode=allow", TlsRequirement::Optional),
            ("sslmode=prefer", TlsRequirement::Optional),
            ("sslmode=require", TlsRequirement::Unverified),
            // As in libpq: with an authority, the certificate is verified.
            (
                "sslmode=require&sslrootcert=/ca.pem",
                TlsRequirement::Verified,
            ),
            ("sslmode=verify-ca", TlsRequirement::Verified),
            ("sslmode=verify-full", TlsRequirement::Verified),
        ];
        for (query, tls) in table {
            let url = format!("postgres://me@db.example/name?{query}");
            assert_eq!(transport(&url), remote(tls), "{query}");
        }
        for socket in [
            "postgres:///name?host=/run/postgresql",
            "postgres://%2Frun/name",
        ] {
            assert_eq!(transport(socket).host, None, "{socket}");
        }
        let several = host_transports("postgres://one,two/name?sslmode=verify-full").unwrap();
        assert_eq!(several.len(), 2);
        assert!(several.iter().all(|it| it.tls == TlsRequirement::Verified));
    }
}
