//! The SSRF guard: resolves, vets and dials in one place, so that no unvetted address is dialled.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll};
use std::time::Duration;

use domain::ssrf_guard::{AddressRefusal, AllowedAddresses, DestinationRules};
use http::Uri;
use http::uri::Scheme;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tower::Service;
use url::Host;

use super::dns::DnsResolver;
use super::failure::ConnectFailure;
use super::limited_stream::LimitedStream;
use crate::connection::MaybeTlsStream;

/// Addresses tried per name.
const MAX_ADDRESSES_DIALLED: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct GuardedConnector(Arc<ConnectorConfig>);

pub(super) struct ConnectorConfig {
    pub(super) resolver: Arc<dyn DnsResolver>,
    pub(super) allowed: AllowedAddresses,
    pub(super) rules: DestinationRules,
    pub(super) tls: TlsConnector,
    pub(super) timeout: Duration,
    pub(super) open_connections: Arc<AtomicUsize>,
}

impl std::fmt::Debug for ConnectorConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectorConfig")
            .field("allowed", &self.allowed)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl GuardedConnector {
    pub(super) fn new(rules: ConnectorConfig) -> Self {
        Self(Arc::new(rules))
    }
}

impl Service<Uri> for GuardedConnector {
    type Response = TokioIo<LimitedStream>;
    type Error = ConnectFailure;
    type Future =
        Pin<Box<dyn Future<Output = Result<TokioIo<LimitedStream>, ConnectFailure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let rules = Arc::clone(&self.0);
        Box::pin(async move {
            // The client goes on connecting in the background when a pooled connection is free.
            let connected = timeout(rules.timeout, rules.connect(&uri)).await;
            let connected = connected.unwrap_or(Err(ConnectFailure::TimedOut(rules.timeout)));
            connected.map(TokioIo::new)
        })
    }
}

impl ConnectorConfig {
    async fn connect(&self, uri: &Uri) -> Result<LimitedStream, ConnectFailure> {
        // The same parser as for the callback URL, so one spelling cannot mean two addresses.
        let host = uri.host().and_then(|host| Host::parse(host).ok());
        let host = host.ok_or(AddressRefusal::NoAddress)?;
        let secured = uri.scheme() == Some(&Scheme::HTTPS);
        let port = uri.port_u16().unwrap_or(if secured { 443 } else { 80 });
        self.rules.check_port(port)?;
        let addresses = match &host {
            Host::Domain(name) => {
                // Before the name is resolved: the question itself may tell something.
                self.rules.check_host(name)?;
                self.allowed.vet(self.resolver.resolve(name).await)?
            }
            Host::Ipv4(address) => self.allowed.vet([IpAddr::V4(*address)])?,
            Host::Ipv6(address) => self.allowed.vet([IpAddr::V6(*address)])?,
        };
        let tcp = self.dial(&addresses, port).await?;
        let wire = if secured {
            self.handshake_tls(tcp, host).await?
        } else {
            MaybeTlsStream::Plain(tcp)
        };
        Ok(LimitedStream::new(wire, &self.open_connections))
    }

    /// Connects to the first address that answers. Each address gets an equal share of the time.
    async fn dial(&self, vetted: &[IpAddr], port: u16) -> Result<TcpStream, ConnectFailure> {
        let deadline = Instant::now() + self.timeout;
        let mut last = ConnectFailure::Address(AddressRefusal::NoAddress);
        let mut untried = u32::try_from(vetted.len().min(MAX_ADDRESSES_DIALLED)).unwrap_or(1);
        for address in vetted.iter().take(MAX_ADDRESSES_DIALLED) {
            let share = deadline.saturating_duration_since(Instant::now()) / untried.max(1);
            untried = untried.saturating_sub(1);
            match timeout(share, TcpStream::connect((*address, port))).await {
                Ok(Ok(tcp)) => {
                    tcp.set_nodelay(true).map_err(ConnectFailure::Dial)?;
                    return Ok(tcp);
                }
                Ok(Err(error)) => last = ConnectFailure::Dial(error),
                Err(_) => last = ConnectFailure::TimedOut(self.timeout),
            }
        }
        Err(last)
    }

    async fn handshake_tls(
        &self,
        tcp: TcpStream,
        host: Host,
    ) -> Result<MaybeTlsStream, ConnectFailure> {
        let name = match host {
            // Certificates name a host without the trailing dot.
            Host::Domain(name) => ServerName::try_from(name.trim_end_matches('.').to_owned())
                .map_err(|error| ConnectFailure::Tls(io::Error::other(error)))?,
            Host::Ipv4(address) => ServerName::IpAddress(IpAddr::V4(address).into()),
            Host::Ipv6(address) => ServerName::IpAddress(IpAddr::V6(address).into()),
        };
        let secured = self
            .tls
            .connect(name, tcp)
            .await
            .map_err(ConnectFailure::Tls)?;
        Ok(MaybeTlsStream::Tls(Box::new(secured)))
    }
}
