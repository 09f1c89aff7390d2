//! The TCP ports of a process: maps a backend's `client_port` to its process.

use std::collections::{HashMap, HashSet};
use std::fs;

/// The local ports of these processes' TCP connections, with the index of each process.
pub fn ports_by_process(pids: impl Iterator<Item = Option<u32>>) -> HashMap<u16, usize> {
    let mut owners = HashMap::new();
    for (place, pid) in pids.enumerate() {
        let inodes = pid.map(socket_inodes).unwrap_or_default();
        owners.extend(inodes.into_iter().map(|inode| (inode, place)));
    }
    // All processes share the network namespace, so one table is enough.
    let table = fs::read_to_string("/proc/self/net/tcp").unwrap_or_default();
    let lines = table.lines().skip(1);
    let ports = lines.filter_map(|line| {
        let (port, inode) = parse_port_and_inode(line)?;
        Some((port, *owners.get(&inode)?))
    });
    ports.collect()
}

fn socket_inodes(pid: u32) -> HashSet<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return HashSet::new();
    };
    let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links
        .filter_map(|link| parse_socket_inode(link.to_str()?))
        .collect()
}

/// `socket:[12345]`
fn parse_socket_inode(link: &str) -> Option<u64> {
    let digits = link.strip_prefix("socket:[")?.strip_suffix(']')?;
    digits.parse().ok()
}

/// The local port, in hex after the address, and the tenth field.
fn parse_port_and_inode(line: &str) -> Option<(u16, u64)> {
    let mut fields = line.split_whitespace();
    let port = fields.nth(1)?.rsplit(':').next()?;
    let inode = fields.nth(7)?;
    Some((u16::from_str_radix(port, 16).ok()?, inode.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_line_of_the_table_is_read() {
        let line = "   1: 0100007F:8AE2 0100007F:1538 01 00000000:00000000 00:00000000 00000000  \
                    1000        0 34567 1 0000000000000000 20 4 30 10 -1";
        assert_eq!(parse_port_and_inode(line), Some((0x8ae2, 34_567)));
        assert_eq!(parse_socket_inode("socket:[34567]"), Some(34_567));
        assert_eq!(parse_socket_inode("/dev/null"), None);
    }

    #[test]
    fn our_own_connections_are_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let port = stream.local_addr().unwrap().port();
        let ports = ports_by_process([None, Some(std::process::id())].into_iter());
        assert_eq!(ports.get(&port), Some(&1));
    }
}
