//! Memory of a process, from /proc.

use std::fs;

use crate::harness::{FailureContext as _, Result};

/// Megabytes that are resident now.
pub fn resident_megabytes(pid: u32) -> Result<f64> {
    read_status_field(pid, "VmRSS:")
}

/// The most megabytes that were ever resident.
pub fn peak_resident_megabytes(pid: u32) -> Result<f64> {
    read_status_field(pid, "VmHWM:")
}

fn read_status_field(pid: u32, field: &str) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"));
    let text = text.context(format!("reading /proc/{pid}/status"))?;
    parse_megabytes(&text, field).context(format!("cannot parse /proc/{pid}/status"))
}

fn parse_megabytes(text: &str, field: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_in_megabytes() {
        let text = "Name:\tx\nVmHWM:\t  4096 kB\nVmRSS:\t  2048 kB\n";
        assert_eq!(parse_megabytes(text, "VmRSS:"), Some(2.0));
        assert_eq!(parse_megabytes(text, "VmHWM:"), Some(4.0));
        assert_eq!(parse_megabytes("Name:\tx\n", "VmRSS:"), None);
        let ours = std::process::id();
        assert!(resident_megabytes(ours).unwrap() > 0.0);
        assert!(peak_resident_megabytes(ours).unwrap() > 0.0);
    }
}
