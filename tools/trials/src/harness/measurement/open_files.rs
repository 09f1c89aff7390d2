//! Open files: how many a process has, and how many the trial may have.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::harness::{FailureContext as _, Result, TrialFailure};

/// The open files of a process; each connection is one.
pub fn count_open_files(pid: u32) -> Result<usize> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"));
    let entries = entries.context(format!("reading /proc/{pid}/fd"))?;
    Ok(entries.count())
}

/// Raises the limit of the trial, and of processes that it starts later, as far as it is allowed
/// to. Fails if that is not enough.
pub fn raise_limit(needed: usize) -> Result<()> {
    let most = getrlimit(Resource::Nofile).maximum;
    let needed = u64::try_from(needed).unwrap_or(u64::MAX);
    if let Some(most) = most.filter(|most| *most < needed) {
        return Err(TrialFailure::new(format!(
            "the trial needs {needed} open files and may have {most}: raise the hard limit (ulimit \
             -Hn {needed}, or LimitNOFILE={needed}), or choose fewer connections"
        )));
    }
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::Nofile, limit).context("raising the limit of open files")
}
