//! CPU seconds of processes and of the machine, from /proc.

use std::fs;
use std::ops::Sub;

use crate::harness::{FailureContext as _, Result};

/// Linux counts in hundredths of a second on every platform we use.
const TICKS_PER_SECOND: f64 = 100.0;

/// One line of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProcessStat {
    parent_pid: u32,
    own_seconds: f64,
    /// Of children that have exited and were waited for.
    ended_children_seconds: f64,
}

pub fn process_cpu_seconds(pid: u32) -> Result<f64> {
    read_process_stat(pid).map(|stat| stat.own_seconds)
}

/// CPU seconds of a process and its children, including exited ones.
pub fn process_tree_cpu_seconds(pid: u32) -> Result<f64> {
    let head = read_process_stat(pid)?;
    let children = read_children(pid)?;
    let children = children.iter().map(|(_, stat)| stat.own_seconds);
    Ok(head.own_seconds + head.ended_children_seconds + children.sum::<f64>())
}

pub fn child_pids(parent: u32) -> Result<Vec<u32>> {
    let children = read_children(parent)?;
    Ok(children.into_iter().map(|(pid, _)| pid).collect())
}

fn read_children(parent: u32) -> Result<Vec<(u32, ProcessStat)>> {
    let entries = fs::read_dir("/proc").context("listing processes")?;
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // A child that exits now is counted with its parent the next time.
    let stats = pids.filter_map(|pid: u32| Some((pid, read_process_stat(pid).ok()?)));
    Ok(stats
        .filter(|(_, stat)| stat.parent_pid == parent)
        .collect())
}

pub fn own_cpu_seconds() -> Result<f64> {
    process_cpu_seconds(std::process::id())
}

/// CPU seconds of our exited children.
pub fn ended_children_cpu_seconds() -> Result<f64> {
    read_process_stat(std::process::id()).map(|stat| stat.ended_children_seconds)
}

fn read_process_stat(pid: u32) -> Result<ProcessStat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"));
    let text = text.context(format!("reading /proc/{pid}/stat"))?;
    parse_process_stat(&text).context(format!("cannot parse /proc/{pid}/stat"))
}

fn parse_process_stat(text: &str) -> Option<ProcessStat> {
    // The second field is a name in brackets that may contain anything.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
    Some(ProcessStat {
        parent_pid: fields.get(1)?.parse().ok()?,
        own_seconds: (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND,
        ended_children_seconds: (ticks(13)? + ticks(14)?) / TICKS_PER_SECOND,
    })
}

/// CPU seconds of the whole machine: shows how much other processes disturb a bench.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineCpuTime {
    pub busy: f64,
    pub stolen: f64,
    pub total: f64,
}

impl MachineCpuTime {
    pub fn read() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
        parse_machine_cpu_time(&text).context("cannot parse /proc/stat")
    }
}

impl Sub for MachineCpuTime {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            busy: self.busy - earlier.busy,
            stolen: self.stolen - earlier.stolen,
            total: self.total - earlier.total,
        }
    }
}

fn parse_machine_cpu_time(text: &str) -> Option<MachineCpuTime> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .take(8)
        .map(|field| field.parse().map(|ticks: f64| ticks / TICKS_PER_SECOND))
        .collect::<std::result::Result<_, _>>()
        .ok()?;
    let [user, nice, system, idle, waiting, interrupts, soft, stolen] = ticks.as_slice() else {
        return None;
    };
    let busy = user + nice + system + interrupts + soft;
    Some(MachineCpuTime {
        busy,
        stolen: *stolen,
        total: busy + idle + waiting + stolen,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_parsed_past_any_name() {
        let text = "42 (a) (b c) S 7 1 1 0 -1 4194560 1 2 3 4 150 50 1000 500 20 0 1 0 9 1 1";
        let stat = parse_process_stat(text).unwrap();
        assert_eq!(
            stat,
            ProcessStat {
                parent_pid: 7,
                own_seconds: 2.0,
                ended_children_seconds: 15.0
            }
        );
        assert_eq!(parse_process_stat("42"), None);
    }

    #[test]
    fn the_machine_is_the_sum_of_its_cores() {
        let text = "cpu  100 0 100 600 100 0 0 100 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        let machine = parse_machine_cpu_time(text).unwrap();
        assert_eq!(
            machine,
            MachineCpuTime {
                busy: 2.0,
                stolen: 1.0,
                total: 10.0
            }
        );
    }

    #[test]
    fn a_real_process_has_cpu_time() {
        assert!(own_cpu_seconds().unwrap() >= 0.0);
        assert!(process_tree_cpu_seconds(1).unwrap() >= 0.0);
        assert!(MachineCpuTime::read().unwrap().total > 0.0);
    }
}
