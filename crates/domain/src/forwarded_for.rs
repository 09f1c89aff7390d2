//! The client address behind reverse proxies: `X-Forwarded-For`, read from the right.
//!
//! Each proxy appends the address that it received the request from. So the rightmost entry that
//! is not a trusted proxy is the client, and everything left of it may be invented by the client.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;

/// The address of the client. The listener sets it in the extensions of each request.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress(pub IpAddr);

/// A trusted proxy sent the request, so its `X-Forwarded-*` headers count. The listener sets it in
/// the extensions of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxyPeer;

/// The address of the client, in its canonical form: an IPv4-mapped IPv6 address is IPv4.
///
/// `lines` are the values of all `X-Forwarded-For` headers, in the order of the request. They
/// count only if a trusted proxy sent the request.
pub fn client_address<'a>(
    peer: IpAddr,
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    trusted_proxies: &[IpNet],
) -> IpAddr {
    let mut client = peer.to_canonical();
    let mut entries = lines
        .rev()
        .flat_map(|line| line.rsplit(|byte| *byte == b','));
    while is_trusted(client, trusted_proxies) {
        let next = entries.find(|entry| !entry.trim_ascii().is_empty());
        // No proxy vouches for what is left of an entry that is not an address.
        let Some(address) = next.and_then(parse_entry) else {
            break;
        };
        client = address;
    }
    client
}

/// What a client is counted under: its IPv4 address, or the first half of its IPv6 address, because
/// one customer has all of the other half.
pub fn customer_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Whether the address is one of the trusted proxies.
pub fn is_trusted(address: IpAddr, trusted_proxies: &[IpNet]) -> bool {
    let address = address.to_canonical();
    trusted_proxies.iter().any(|range| range.contains(&address))
}

/// An address, with or without a port: some proxies append it.
fn parse_entry(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse::<IpAddr>().ok();
    let address = address.or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, lines: &[&str]) -> String {
        let proxies = ["10.0.0.0/8", "fd00::/8"].map(|range| range.parse().unwrap());
        let lines = lines.iter().map(|line| line.as_bytes());
        client_address(peer.parse().unwrap(), lines, &proxies).to_string()
    }

    #[test]
    fn m5_the_client_is_the_first_untrusted_hop_from_the_right() {
        for (peer, lines, expected) in [
            ("10.0.0.1", &["192.0.2.7"][..], "192.0.2.7"),
            // The client invents the left part, in the same line or in one of its own.
            ("10.0.0.1", &["203.0.113.9, 192.0.2.7"], "192.0.2.7"),
            ("10.0.0.1", &["203.0.113.9", "192.0.2.7"], "192.0.2.7"),
            ("10.0.0.1", &["10.9.9.9", "192.0.2.7"], "192.0.2.7"),
            // Two trusted hops, in one line and in two.
            ("10.0.0.1", &["192.0.2.7, 10.0.0.2"], "192.0.2.7"),
            ("10.0.0.1", &["192.0.2.7", "fd00::2"], "192.0.2.7"),
            (
                "10.0.0.1",
                &["8.8.8.8,192.0.2.7 ,10.0.0.3", " 10.0.0.2"],
                "192.0.2.7",
            ),
        ] {
            assert_eq!(client(peer, lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn m5_an_untrusted_peer_cannot_name_another_client() {
        assert_eq!(client("192.0.2.1", &["192.0.2.7"]), "192.0.2.1");
        assert_eq!(client("192.0.2.1", &["10.0.0.1"]), "192.0.2.1");
        assert_eq!(client("::1", &["192.0.2.7"]), "::1");
    }

    #[test]
    fn m5_a_mapped_peer_counts_as_ipv4() {
        assert_eq!(client("::ffff:10.0.0.1", &["192.0.2.7"]), "192.0.2.7");
        assert_eq!(client("::ffff:192.0.2.1", &["192.0.2.7"]), "192.0.2.1");
        assert_eq!(client("10.0.0.1", &["::ffff:192.0.2.7"]), "192.0.2.7");
        assert_eq!(
            client("10.0.0.1", &["192.0.2.7, ::ffff:10.0.0.2"]),
            "192.0.2.7"
        );
    }

    #[test]
    fn m5_without_a_readable_client_the_nearest_hop_counts() {
        for (lines, expected) in [
            (&[][..], "10.0.0.1"),
            (&[""], "10.0.0.1"),
            (&["unknown"], "10.0.0.1"),
            (&["192.0.2.7, unknown, 10.0.0.2"], "10.0.0.2"),
            (&["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ] {
            assert_eq!(client("10.0.0.1", lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn ports_brackets_and_empty_entries_are_read() {
        for entry in [
            "192.0.2.7:4711",
            "192.0.2.7,",
            " ,192.0.2.7, ,",
            "[::ffff:192.0.2.7]:4711",
        ] {
            assert_eq!(client("10.0.0.1", &[entry]), "192.0.2.7", "{entry}");
        }
        assert_eq!(client("10.0.0.1", &["[2001:db8::7]"]), "2001:db8::7");
        assert_eq!(client("10.0.0.1", &["[2001:db8::7]:1"]), "2001:db8::7");
    }
}
