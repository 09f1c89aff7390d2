//! Every special block: its edges, and the addresses just beyond them.

use ipnet::IpNet;

use super::*;

/// `verdicts`: whether addresses just below the block, inside and just above it are global.
struct AddressBlock {
    cidr: &'static str,
    verdicts: [bool; 3],
}

const fn block(cidr: &'static str, verdicts: [bool; 3]) -> AddressBlock {
    AddressBlock { cidr, verdicts }
}

/// A special block between global addresses.
const fn isolated_block(cidr: &'static str) -> AddressBlock {
    block(cidr, [true, false, true])
}

/// A special block whose neighbours are special too.
const fn enclosed_block(cidr: &'static str) -> AddressBlock {
    block(cidr, [false, false, false])
}

/// A block that the registries name and call globally reachable.
const fn global_block(cidr: &'static str) -> AddressBlock {
    block(cidr, [true, true, true])
}

const BLOCKS: &[AddressBlock] = &[
    // IPv4.
    block("0.0.0.0/8", [false, false, true]),
    enclosed_block("0.0.0.0/32"),
    isolated_block("10.0.0.0/8"),
    isolated_block("100.64.0.0/10"),
    isolated_block("127.0.0.0/8"),
    isolated_block("161.26.0.0/16"),
    isolated_block("166.8.0.0/14"),
    isolated_block("168.63.129.16/32"),
    isolated_block("169.254.0.0/16"),
    enclosed_block("169.254.169.254/32"),
    isolated_block("172.16.0.0/12"),
    isolated_block("192.0.0.0/24"),
    block("192.0.0.0/29", [true, false, false]),
    enclosed_block("192.0.0.8/32"),
    enclosed_block("192.0.0.9/32"),
    enclosed_block("192.0.0.10/32"),
    enclosed_block("192.0.0.170/32"),
    enclosed_block("192.0.0.171/32"),
    isolated_block("192.0.2.0/24"),
    global_block("192.31.196.0/24"),
    global_block("192.52.193.0/24"),
    isolated_block("192.88.99.0/24"),
    enclosed_block("192.88.99.2/32"),
    isolated_block("192.168.0.0/16"),
    global_block("192.175.48.0/24"),
    isolated_block("198.18.0.0/15"),
    isolated_block("198.51.100.0/24"),
    isolated_block("203.0.113.0/24"),
    block("224.0.0.0/4", [true, false, false]),
    enclosed_block("233.252.0.0/24"),
    enclosed_block("239.0.0.0/8"),
    enclosed_block("240.0.0.0/4"),
    enclosed_block("255.255.255.255/32"),
    // IPv6 below 2000::/3.
    enclosed_block("::/128"),
    enclosed_block("::1/128"),
    enclosed_block("::127.0.0.0/104"),
    enclosed_block("::8.8.8.8/128"),
    enclosed_block("::ffff:0:0:0/96"),
    enclosed_block("::ffff:0:8.8.8.8/128"),
    enclosed_block("64:ff9b::/96"),
    enclosed_block("64:ff9b::8.8.8.8/128"),
    enclosed_block("64:ff9b:1::/48"),
    enclosed_block("100::/64"),
    enclosed_block("100:0:0:1::/64"),
    enclosed_block("200::/7"),
    enclosed_block("400::/6"),
    block("1000::/4", [false, false, true]),
    // IPv6 within it.
    block("2000::/16", [false, true, false]),
    block("2001::/23", [true, false, true]),
    block("2001::/32", [true, false, false]),
    enclosed_block("2001:1::1/128"),
    enclosed_block("2001:1::2/128"),
    enclosed_block("2001:1::3/128"),
    enclosed_block("2001:2::/48"),
    enclosed_block("2001:3::/32"),
    enclosed_block("2001:4:112::/48"),
    enclosed_block("2001:10::/28"),
    enclosed_block("2001:20::/28"),
    enclosed_block("2001:30::/28"),
    block("2001:200::/23", [false, true, true]),
    isolated_block("2001:db8::/32"),
    isolated_block("2002::/16"),
    enclosed_block("2002:7f00:1::/48"),
    enclosed_block("2002:808:808::/48"),
    global_block("2620:4f:8000::/48"),
    block("3ffe::/16", [true, true, false]),
    block("3fff::/20", [true, false, true]),
    // IPv6 above it.
    block("4000::/3", [true, false, false]),
    enclosed_block("5f00::/16"),
    enclosed_block("6000::/3"),
    enclosed_block("8000::/3"),
    enclosed_block("a000::/3"),
    enclosed_block("c000::/3"),
    enclosed_block("e000::/4"),
    enclosed_block("f000::/5"),
    enclosed_block("f800::/6"),
    enclosed_block("fc00::/7"),
    enclosed_block("fd00:ec2::254/128"),
    enclosed_block("fe00::/9"),
    enclosed_block("fe80::/10"),
    enclosed_block("fe80::5efe:127.0.0.1/128"),
    enclosed_block("fec0::/10"),
    enclosed_block("ff00::/8"),
    enclosed_block("ff02::1/128"),
];

/// Global unicast addresses. None may be refused.
pub(super) const GLOBAL: &[&str] = &[
    "1.0.0.1",
    "8.8.8.8",
    "9.9.9.9",
    "11.0.0.1",
    "100.0.0.1",
    "128.0.0.1",
    "169.253.1.1",
    "172.15.0.1",
    "192.0.1.1",
    "192.0.3.1",
    "192.1.0.1",
    "198.17.1.1",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "::ffff:1.1.1.1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700::1111",
    "2620:fe::fe",
    "2a00:1450:4001::200e",
    "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff:1000::",
];

/// The addresses to check for the blocks, and whether each must be global.
pub(super) fn probe_addresses() -> Vec<(IpAddr, bool)> {
    let mut probes = Vec::new();
    for block in BLOCKS {
        let net: IpNet = block
            .cidr
            .parse()
            .unwrap_or_else(|_| panic!("{}", block.cidr));
        assert_eq!(
            net.trunc(),
            net,
            "{} is written with its first address",
            block.cidr
        );
        let (first, last) = (net.network(), net.broadcast());
        let [below, inside, above] = block.verdicts;
        probes.extend(step(first, -1).map(|address| (address, below)));
        probes.extend([first, last].map(|address| (address, inside)));
        probes.push((middle(first, last), inside));
        probes.extend(step(last, 1).map(|address| (address, above)));
    }
    probes.sort_unstable();
    probes.dedup();
    probes
}

fn step(address: IpAddr, by: i8) -> Option<IpAddr> {
    match address {
        IpAddr::V4(v4) => v4
            .to_bits()
            .checked_add_signed(by.into())
            .map(Ipv4Addr::from_bits)
            .map(Into::into),
        IpAddr::V6(v6) => v6
            .to_bits()
            .checked_add_signed(by.into())
            .map(Ipv6Addr::from_bits)
            .map(Into::into),
    }
}

fn middle(first: IpAddr, last: IpAddr) -> IpAddr {
    match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            Ipv4Addr::from_bits(first.to_bits().midpoint(last.to_bits())).into()
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            Ipv6Addr::from_bits(first.to_bits().midpoint(last.to_bits())).into()
        }
        _ => panic!("a block has one address family"),
    }
}

#[test]
fn every_special_block_is_refused_up_to_its_edges() {
    let wrong: Vec<_> = probe_addresses()
        .into_iter()
        .filter(|(address, global)| is_global(*address) != *global)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn every_ipv4_verdict_holds_inside_ipv6() {
    for (address, global) in probe_addresses() {
        if let IpAddr::V4(v4) = address {
            assert_eq!(is_global(v4.to_ipv6_mapped().into()), global, "{address}");
            // The other embeddings are refused for every IPv4 address.
            let [a, b, c, d] = v4.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            for carrier in [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !high, !low),
            ] {
                assert!(!is_global(carrier.into()), "{carrier}");
            }
        }
    }
}

#[test]
fn global_addresses_are_not_refused() {
    for address in GLOBAL {
        assert!(is_global(ip(address)), "{address}");
    }
}
