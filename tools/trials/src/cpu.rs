//! CPU seconds, as the kernel counts them per process.

use std::fs;
use std::ops::Sub;

use crate::failure::{During as _, Failure, Result};

/// Linux counts in hundredths of a second on every platform we run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// One line of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stat {
    parent: u32,
    own: f64,
    /// Of children that have ended and been waited for.
    ended_children: f64,
}

/// What one process has used itself.
pub fn of_process(pid: u32) -> Result<f64> {
    stat(pid).map(|stat| stat.own)
}

/// What a process and its children have used, those included that are gone.
pub fn of_family(pid: u32) -> Result<f64> {
    let head = stat(pid)?;
    let mut sum = head.own + head.ended_children;
    for entry in fs::read_dir("/proc").during("listing processes")? {
        let name = entry.during("listing processes")?.file_name();
        let Some(child) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // One that ends while we look is counted with its parent the next time.
        if let Ok(stat) = stat(child)
            && stat.parent == pid
        {
            sum += stat.own;
        }
    }
    Ok(sum)
}

pub fn of_ourselves() -> Result<f64> {
    of_process(std::process::id())
}

/// What our children that have ended had used.
pub fn of_our_ended() -> Result<f64> {
    stat(std::process::id()).map(|stat| stat.ended_children)
}

fn stat(pid: u32) -> Result<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"));
    let text = text.during(format!("looking at process {pid}"))?;
    read_stat(&text).ok_or_else(|| Failure::new(format!("cannot read the account of {pid}")))
}

fn read_stat(text: &str) -> Option<Stat> {
    // The second field is a name that may hold anything, in brackets.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        own: (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND,
        ended_children: (ticks(13)? + ticks(14)?) / TICKS_PER_SECOND,
    })
}

/// The whole machine: how far figures can be trusted when others share it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    pub busy: f64,
    pub stolen: f64,
    pub all: f64,
}

impl Machine {
    pub fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat").during("looking at the machine")?;
        read_machine(&text).ok_or_else(|| Failure::new("cannot read the machine's account"))
    }
}

impl Sub for Machine {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            busy: self.busy - earlier.busy,
            stolen: self.stolen - earlier.stolen,
            all: self.all - earlier.all,
        }
    }
}

fn read_machine(text: &str) -> Option<Machine> {
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
    Some(Machine {
        busy,
        stolen: *stolen,
        all: busy + idle + waiting + stolen,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_past_any_name() {
        let text = "42 (a) (b c) S 7 1 1 0 -1 4194560 1 2 3 4 150 50 1000 500 20 0 1 0 9 1 1";
        let stat = read_stat(text).unwrap();
        assert_eq!(
            stat,
            Stat {
                parent: 7,
                own: 2.0,
                ended_children: 15.0
            }
        );
        assert_eq!(read_stat("42"), None);
    }

    #[test]
    fn the_machine_is_the_sum_of_its_cores() {
        let text = "cpu  100 0 100 600 100 0 0 100 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        let machine = read_machine(text).unwrap();
        assert_eq!(
            machine,
            Machine {
                busy: 2.0,
                stolen: 1.0,
                all: 10.0
            }
        );
    }

    #[test]
    fn a_real_process_has_an_account() {
        assert!(of_ourselves().unwrap() >= 0.0);
        assert!(of_family(1).unwrap() >= 0.0);
        assert!(Machine::now().unwrap().all > 0.0);
    }
}
