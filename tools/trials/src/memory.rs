//! How much memory a process has.

use std::fs;

use crate::failure::{During as _, Failure, Result};

/// Megabytes that are resident at this moment.
pub fn of_process(pid: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"));
    let text = text.during(format!("looking at process {pid}"))?;
    resident(&text).ok_or_else(|| Failure::new(format!("cannot read the memory of {pid}")))
}

fn resident(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_in_megabytes() {
        let text = "Name:\tx\nVmHWM:\t  9999 kB\nVmRSS:\t  2048 kB\n";
        assert_eq!(resident(text), Some(2.0));
        assert_eq!(resident("Name:\tx\n"), None);
        assert!(of_process(std::process::id()).unwrap() > 0.0);
    }
}
