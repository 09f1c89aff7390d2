//! Free loopback ports outside the ephemeral range, so that a restarted process finds its port
//! free.
//!
//! A port stays free until its server starts. So it is reserved until this process ends: by a
//! Unix socket with its name, which other trials that run at the same time find taken.

use std::fs;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixSocketAddr, UnixListener};

use crate::harness::{Result, TrialFailure};

const MIN_PORT: u16 = 12_000;
const DEFAULT_FIRST_EPHEMERAL_PORT: u16 = 32_768;

pub fn find_free_address() -> Result<SocketAddr> {
    let beyond = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|text| parse_first_ephemeral_port(&text))
        .unwrap_or(DEFAULT_FIRST_EPHEMERAL_PORT);
    for _ in 0..200 {
        let port = rand::random_range(MIN_PORT..beyond);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if let Some(reservation) = reserve(port)
            && TcpListener::bind(address).is_ok()
        {
            mem::forget(reservation);
            return Ok(address);
        }
    }
    Err(TrialFailure::new("no free port on 127.0.0.1"))
}

fn reserve(port: u16) -> Option<UnixListener> {
    let name = UnixSocketAddr::from_abstract_name(format!("longshore-trial-port-{port}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

fn parse_first_ephemeral_port(text: &str) -> Option<u16> {
    let first = text.split_whitespace().next()?.parse().ok()?;
    (first > MIN_PORT).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_not_given_again() {
        let port = find_free_address().unwrap().port();
        assert!(reserve(port).is_none());
        // No server listens there yet.
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
    }

    #[test]
    fn the_range_is_read_from_its_first_number() {
        assert_eq!(parse_first_ephemeral_port("32768\t60999\n"), Some(32_768));
        assert_eq!(parse_first_ephemeral_port("1024 65535"), None);
        assert_eq!(parse_first_ephemeral_port(""), None);
    }
}
