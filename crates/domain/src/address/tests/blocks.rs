//! Every special block with its edges and what lies one beyond them.

use ipnet::IpNet;

use super::*;

/// What is one below the first address, inside, and one above the last.
struct Block {
    cidr: &'static str,
    verdicts: [bool; 3],
}

const fn block(cidr: &'static str, verdicts: [bool; 3]) -> Block {
    Block { cidr, verdicts }
}

/// A special block in the midst of global addresses.
const fn island(cidr: &'static str) -> Block {
    block(cidr, [true, false, true])
}

/// A special block whose neighbours are special too.
const fn inland(cidr: &'static str) -> Block {
    block(cidr, [false, false, false])
}

/// A block that the registries name and call globally reachable.
const fn open(cidr: &'static str) -> Block {
    block(cidr, [true, true, true])
}

const BLOCKS: &[Block] = &[
    // IPv4.
    block("0.0.0.0/8", [false, false, true]),
    inland("0.0.0.0/32"),
    island("10.0.0.0/8"),
    island("100.64.0.0/10"),
    island("127.0.0.0/8"),
    island("169.254.0.0/16"),
    inland("169.254.169.254/32"),
    island("172.16.0.0/12"),
    island("192.0.0.0/24"),
    block("192.0.0.0/29", [true, false, false]),
    inland("192.0.0.8/32"),
    inland("192.0.0.9/32"),
    inland("192.0.0.10/32"),
    inland("192.0.0.170/32"),
    inland("192.0.0.171/32"),
    island("192.0.2.0/24"),
    open("192.31.196.0/24"),
    open("192.52.193.0/24"),
    island("192.88.99.0/24"),
    inland("192.88.99.2/32"),
    island("192.168.0.0/16"),
    open("192.175.48.0/24"),
    island("198.18.0.0/15"),
    island("198.51.100.0/24"),
    island("203.0.113.0/24"),
    block("224.0.0.0/4", [true, false, false]),
    inland("233.252.0.0/24"),
    inland("239.0.0.0/8"),
    inland("240.0.0.0/4"),
    inland("255.255.255.255/32"),
    // IPv6 below 2000::/3.
    inland("::/128"),
    inland("::1/128"),
    inland("::127.0.0.0/104"),
    inland("::8.8.8.8/128"),
    inland("::ffff:0:0:0/96"),
    inland("::ffff:0:8.8.8.8/128"),
    inland("64:ff9b::/96"),
    inland("64:ff9b::8.8.8.8/128"),
    inland("64:ff9b:1::/48"),
    inland("100::/64"),
    inland("100:0:0:1::/64"),
    inland("200::/7"),
    inland("400::/6"),
    block("1000::/4", [false, false, true]),
    // IPv6 within it.
    block("2000::/16", [false, true, false]),
    block("2001::/23", [true, false, true]),
    block("2001::/32", [true, false, false]),
    inland("2001:1::1/128"),
    inland("2001:1::2/128"),
    inland("2001:1::3/128"),
    inland("2001:2::/48"),
    inland("2001:3::/32"),
    inland("2001:4:112::/48"),
    inland("2001:10::/28"),
    inland("2001:20::/28"),
    inland("2001:30::/28"),
    block("2001:200::/23", [false, true, true]),
    island("2001:db8::/32"),
    island("2002::/16"),
    inland("2002:7f00:1::/48"),
    inland("2002:808:808::/48"),
    open("2620:4f:8000::/48"),
    block("3ffe::/16", [true, true, false]),
    block("3fff::/20", [true, false, true]),
    // IPv6 above it.
    block("4000::/3", [true, false, false]),
    inland("5f00::/16"),
    inland("6000::/3"),
    inland("8000::/3"),
    inland("a000::/3"),
    inland("c000::/3"),
    inland("e000::/4"),
    inland("f000::/5"),
    inland("f800::/6"),
    inland("fc00::/7"),
    inland("fd00:ec2::254/128"),
    inland("fe00::/9"),
    inland("fe80::/10"),
    inland("fe80::5efe:127.0.0.1/128"),
    inland("fec0::/10"),
    inland("ff00::/8"),
    inland("ff02::1/128"),
];

/// Global unicast, of which none may be refused by mistake.
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

/// Every address that follows from the blocks, with what it must be.
pub(super) fn probes() -> Vec<(IpAddr, bool)> {
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
        _ => panic!("a block is of one family"),
    }
}

#[test]
fn every_special_block_is_refused_up_to_its_edges() {
    let wrong: Vec<_> = probes()
        .into_iter()
        .filter(|(address, global)| is_global(*address) != *global)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn every_ipv4_verdict_holds_inside_ipv6() {
    for (address, global) in probes() {
        if let IpAddr::V4(v4) = address {
            assert_eq!(is_global(v4.to_ipv6_mapped().into()), global, "{address}");
            // The other embeddings are refused whatever they carry.
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
