//! Free ports on loopback, outside the range that outgoing connections are given:
//! a restarted process must find its port free again.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::failure::{Failure, Result};

const LOWEST: u16 = 12_000;
const USUAL_FIRST_EPHEMERAL: u16 = 32_768;

pub fn free() -> Result<SocketAddr> {
    let beyond = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|text| first_ephemeral(&text))
        .unwrap_or(USUAL_FIRST_EPHEMERAL);
    for _ in 0..200 {
        let port = rand::random_range(LOWEST..beyond);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err(Failure::new("no free port on 127.0.0.1"))
}

fn first_ephemeral(text: &str) -> Option<u16> {
    let first = text.split_whitespace().next()?.parse().ok()?;
    (first > LOWEST).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_read_from_its_first_number() {
        assert_eq!(first_ephemeral("32768\t60999\n"), Some(32_768));
        assert_eq!(first_ephemeral("1024 65535"), None);
        assert_eq!(first_ephemeral(""), None);
    }
}
