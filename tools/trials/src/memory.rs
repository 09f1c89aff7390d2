//! How much memory a process has.

use std::fs;

use crate::failure::{During as _, Failure, Result};

/// Megabytes that are resident at this moment.
pub fn of_process(pid: u32) -> Result<f64> {
    read(pid, "VmRSS:")
}

/// The most megabytes that were ever resident.
pub fn peak_of_process(pid: u32) -> Result<f64> {
    read(pid, "VmHWM:")
}

fn read(pid: u32, field: &str) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"));
    let text = text.during(format!("looking at process {pid}"))?;
    megabytes(&text, field).ok_or_else(|| Failure::new(format!("cannot read the memory of {pid}")))
}

fn megabytes(text: &str, field: &str) -> Option<f64> {
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
        assert_eq!(megabytes(text, "VmRSS:"), Some(2.0));
        assert_eq!(megabytes(text, "VmHWM:"), Some(4.0));
        assert_eq!(megabytes("Name:\tx\n", "VmRSS:"), None);
        let ours = std::process::id();
        assert!(of_process(ours).unwrap() > 0.0);
        assert!(peak_of_process(ours).unwrap() > 0.0);
    }
}
