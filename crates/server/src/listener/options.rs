//! Limits and timeouts of a listener.

use std::net::IpAddr;
use std::time::Duration;

use domain::forwarded_for;
use http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

#[derive(Debug, Clone)]
pub struct Options {
    pub max_connections: usize,
    /// Also the limit for requests in progress of one client address behind trusted proxies.
    pub max_connections_per_address: usize,
    /// Addresses of proxies, which connect for many callers. They and loopback are exempt from the
    /// limit of connections per address. Their requests count for the client that they forward.
    pub trusted_proxies: Vec<IpNet>,
    /// From the first byte of a request to its last. A large body gets more time: see
    /// `request_body`.
    pub request_timeout: Duration,
    /// How long no byte of a request body may arrive while its route waits for one.
    pub body_idle_timeout: Duration,
    /// How long a connection stays open between requests. It is longer than the 60 s of common
    /// load balancers, so that the balancer closes first.
    pub idle_timeout: Duration,
    /// How long a write may block while the caller reads nothing of its response.
    pub write_timeout: Duration,
    /// Only connections that were idle, half-open or unread for at least this long are closed to make
    /// room.
    pub min_shed_age: Duration,
    /// Maximum bytes of all request bodies that are being received.
    pub body_budget: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_connections: 8192,
            max_connections_per_address: 1024,
            trusted_proxies: Vec::new(),
            request_timeout: Duration::from_secs(30),
            body_idle_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            min_shed_age: Duration::from_millis(250),
            body_budget: 256 << 20,
        }
    }
}

impl Options {
    /// Lowers the connection limit to three quarters of the open-file limit: databases, Redis and
    /// callbacks need files too.
    #[must_use]
    pub fn within_open_files(mut self) -> Self {
        if let Ok((soft, _)) = rlimit::Resource::NOFILE.get() {
            let most = usize::try_from(soft / 4 * 3).unwrap_or(usize::MAX);
            self.max_connections = self.max_connections.min(most);
        }
        self
    }

    /// The address that a peer is counted under; none if it is exempt.
    pub(super) fn counted_address(&self, peer: IpAddr) -> Option<IpAddr> {
        let peer = peer.to_canonical();
        if peer.is_loopback() || forwarded_for::is_trusted(peer, &self.trusted_proxies) {
            return None;
        }
        Some(forwarded_for::customer_of(peer))
    }

    /// The client of a request: the peer, or the address that trusted proxies forward.
    pub(super) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all(FORWARDED_FOR).iter();
        let lines = lines.map(http::HeaderValue::as_bytes);
        forwarded_for::client_address(peer, lines, &self.trusted_proxies)
    }

    /// The address that a request is counted under; none if no proxy forwarded it, because the
    /// connections of the peer are counted already.
    pub(super) fn counted_client(&self, peer: IpAddr, client: IpAddr) -> Option<IpAddr> {
        if client == peer.to_canonical() {
            return None;
        }
        self.counted_address(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_counted_by_address_and_proxies_are_not() {
        let options = Options {
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
            ..Options::default()
        };
        let counted = |peer: &str| {
            let counted = options.counted_address(peer.parse().unwrap());
            counted.map(|address| address.to_string())
        };
        for exempt in [
            "127.0.0.1",
            "::1",
            "::ffff:127.0.0.1",
            "10.1.2.3",
            "::ffff:10.1.2.3",
        ] {
            assert_eq!(counted(exempt), None, "{exempt}");
        }
        assert_eq!(counted("192.0.2.7").as_deref(), Some("192.0.2.7"));
        assert_eq!(counted("::ffff:192.0.2.7").as_deref(), Some("192.0.2.7"));
        assert_eq!(
            counted("2001:db8:1:2:3:4:5:6").as_deref(),
            Some("2001:db8:1:2::")
        );
    }
}
