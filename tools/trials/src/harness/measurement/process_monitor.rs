//! Memory and CPU of processes, sampled while a bench runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::Result;
use crate::harness::measurement::cpu_time;
use crate::harness::measurement::process_memory;
use crate::harness::measurement::statistics::round_to;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A process, and whether its children count with it.
#[derive(Debug, Clone, Copy)]
pub struct MonitoredProcess {
    pub name: &'static str,
    pub pid: u32,
    pub includes_children: bool,
}

impl MonitoredProcess {
    /// None if the process does not run.
    pub fn new(name: &'static str, pid: Option<u32>, includes_children: bool) -> Option<Self> {
        Some(Self {
            name,
            pid: pid?,
            includes_children,
        })
    }
}

/// Samples memory until it is dropped.
#[derive(Debug)]
pub struct ProcessMonitor {
    processes: Vec<MonitoredProcess>,
    peak_megabytes: Arc<Mutex<BTreeMap<&'static str, f64>>>,
    _polling: JoinSet<()>,
}

/// Megabytes or CPU seconds, by the name of the process.
pub type ReadingsByProcess = BTreeMap<&'static str, f64>;

impl ProcessMonitor {
    pub fn start(processes: Vec<MonitoredProcess>) -> Self {
        let most = Arc::new(Mutex::new(BTreeMap::new()));
        let mut looking = JoinSet::new();
        looking.spawn(poll_memory(processes.clone(), Arc::clone(&most)));
        Self {
            processes,
            peak_megabytes: most,
            _polling: looking,
        }
    }

    /// The megabytes of each process now; peaks count from here on.
    pub fn reset_peak(&self) -> ReadingsByProcess {
        let now = read_memory(&self.processes);
        self.peak_megabytes.lock().clone_from(&now);
        now
    }

    /// The peak megabytes of each process since the last reset.
    pub fn peak_memory(&self) -> ReadingsByProcess {
        self.peak_megabytes.lock().clone()
    }

    pub fn read_cpu(&self) -> Result<ReadingsByProcess> {
        let mut read = BTreeMap::new();
        for process in &self.processes {
            let seconds = if process.includes_children {
                cpu_time::process_tree_cpu_seconds(process.pid)?
            } else {
                cpu_time::process_cpu_seconds(process.pid)?
            };
            read.insert(process.name, seconds);
        }
        Ok(read)
    }

    pub fn cpu_since(&self, before: &ReadingsByProcess) -> Result<Value> {
        let used = self.read_cpu()?.into_iter().map(|(name, seconds)| {
            let earlier = before.get(name).copied().unwrap_or_default();
            (name.to_owned(), json!(round_to(seconds - earlier, 1)))
        });
        Ok(Value::Object(used.collect()))
    }
}

async fn poll_memory(processes: Vec<MonitoredProcess>, most: Arc<Mutex<ReadingsByProcess>>) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let now = read_memory(&processes);
        let mut most = most.lock();
        for (name, megabytes) in now {
            let greatest = most.entry(name).or_default();
            *greatest = greatest.max(megabytes);
        }
    }
}

fn read_memory(processes: &[MonitoredProcess]) -> ReadingsByProcess {
    let read = |process: &MonitoredProcess| {
        Some((
            process.name,
            process_memory::resident_megabytes(process.pid).ok()?,
        ))
    };
    processes.iter().filter_map(read).collect()
}
