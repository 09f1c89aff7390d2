//! The SSRF guard: callers' URLs may lead to global unicast addresses and to configured ranges.
//!
//! The blocks are those of the IANA special-purpose registries. An address that is not known to
//! be global is refused, so a new IPv6 block is refused until it is added here. So are the global
//! blocks in which clouds have services for their own machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use ipnet::IpNet;

#[cfg(test)]
mod tests;

/// The ranges that may be called besides the global addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedAddresses {
    pub ranges: Vec<IpNet>,
    /// Never called, not even if they are global or in `ranges`.
    pub denied: Vec<IpNet>,
}

/// What the operator excludes from callbacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DestinationRules {
    pub denied_ranges: Vec<IpNet>,
    /// These names, in lower case, and all names below them.
    pub denied_hosts: Vec<String>,
    /// Empty: all ports.
    pub allowed_ports: Vec<RangeInclusive<u16>>,
}

/// Why a resolved name is not called. The text does not reveal the address to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefusal {
    #[error("could not resolve host")]
    NoAddress,
    #[error("address is not allowed")]
    NotAllowed,
    #[error("host is not allowed")]
    HostDenied,
    #[error("port is not allowed")]
    PortDenied,
}

impl DestinationRules {
    pub fn check_port(&self, port: u16) -> Result<(), AddressRefusal> {
        let mut ranges = self.allowed_ports.iter();
        if self.allowed_ports.is_empty() || ranges.any(|range| range.contains(&port)) {
            Ok(())
        } else {
            Err(AddressRefusal::PortDenied)
        }
    }

    /// `name` as the URL parser returns it: in lower case and punycode.
    pub fn check_host(&self, name: &str) -> Result<(), AddressRefusal> {
        let name = name.trim_end_matches('.');
        let is_denied = |denied: &String| {
            let rest = name.strip_suffix(denied.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if self.denied_hosts.iter().any(is_denied) {
            Err(AddressRefusal::HostDenied)
        } else {
            Ok(())
        }
    }
}

impl AllowedAddresses {
    pub fn may_call(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_in = |ranges: &[IpNet]| ranges.iter().any(|range| range.contains(&address));
        !is_in(&self.denied) && (is_global(address) || is_in(&self.ranges))
    }

    /// The addresses that may be dialled, in the resolver's order and without repetition.
    ///
    /// One refused record refuses the whole answer: a name that mixes internal and global
    /// addresses is an attempt to reach the internal one.
    pub fn vet(
        &self,
        answer: impl IntoIterator<Item = IpAddr>,
    ) -> Result<Vec<IpAddr>, AddressRefusal> {
        let mut vetted = Vec::new();
        for address in answer {
            // The dialled address is the one that was checked.
            let address = address.to_canonical();
            if !self.may_call(address) {
                return Err(AddressRefusal::NotAllowed);
            }
            if !vetted.contains(&address) {
                vetted.push(address);
            }
        }
        if vetted.is_empty() {
            Err(AddressRefusal::NoAddress)
        } else {
            Ok(vetted)
        }
    }
}

/// Whether this is a global unicast address. IPv4-mapped IPv6 (`::ffff:…`) counts as IPv4.
pub const fn is_global(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

const fn is_global_v4(address: Ipv4Addr) -> bool {
    let octets = address.octets();
    let this_network = matches!(octets, [0, ..]);
    let loopback = matches!(octets, [127, ..]);
    let private = matches!(octets, [10, ..] | [172, 16..=31, ..] | [192, 168, ..]);
    let shared_by_carriers = matches!(octets, [100, 64..=127, ..]);
    // Cloud metadata services are here.
    let link_local = matches!(octets, [169, 254, ..]);
    // Includes the few global ones: no receiver of callbacks is there.
    let protocol_assignments = matches!(octets, [192, 0, 0, _]);
    let documentation = matches!(
        octets,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _]
    );
    let withdrawn_relays = matches!(octets, [192, 88, 99, _]);
    let benchmarks = matches!(octets, [198, 18 | 19, ..]);
    let multicast_or_reserved = matches!(octets, [224..=255, ..]);
    // Assigned, but not announced on the internet: the agent of Azure's hosts, and the services of
    // IBM Cloud for its own machines.
    let cloud_services = matches!(
        octets,
        [168, 63, 129, 16] | [161, 26, ..] | [166, 8..=11, ..]
    );
    !(this_network
        || loopback
        || private
        || shared_by_carriers
        || link_local
        || protocol_assignments
        || documentation
        || withdrawn_relays
        || benchmarks
        || multicast_or_reserved
        || cloud_services)
}

const fn is_global_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Nothing else is global unicast: not the forms that embed an IPv4 address (compatible,
    // translated, NAT64), not loopback, unique local, link-local, site-local, discard, segment
    // routing or multicast.
    let unicast = first >> 13 == 0b001;
    // Teredo, benchmarks, ORCHID and future assignments.
    let protocol_assignments = first == 0x2001 && second < 0x200;
    let documentation =
        (first == 0x2001 && second == 0xdb8) || (first == 0x3fff && second < 0x1000);
    // Embeds an IPv4 address, which may be any.
    let six_to_four = first == 0x2002;
    unicast && !(protocol_assignments || documentation || six_to_four)
}
