//! What the child gives up before it reads a byte.
//!
//! Two steps, since an allocator takes its first memory before `main`: [`limit`] sets the limits,
//! and the program starts itself again to live under them from its first moment; [`seal`] then
//! lays down every system call but those that reading, thinking, answering and ending need. Both
//! work for any user, in a container too, and neither needs a privilege.
//!
//! A host that lacks one of them is not read on: the child refuses. There is no switch for it.

use std::env::consts::ARCH;
use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::set_no_new_privs;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter_all_threads,
};

const MB: u64 = 1 << 20;
/// What starting again needs: standard streams, and libraries one after the other.
const FEW_FILES: u64 = 16;

/// What one file may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Address space, the program's own included.
    pub memory_bytes: u64,
    pub cpu_seconds: u64,
}

/// The largest PDF is 50 MB and lies in memory; a GB of video passes through in a few seconds.
pub const LIMITS: Limits = Limits {
    memory_bytes: 384 * MB,
    cpu_seconds: 10,
};

#[derive(Debug, thiserror::Error)]
pub enum SandboxFailure {
    #[error("the limit on {0} cannot be set")]
    Limit(&'static str, #[source] io::Error),
    #[error("privileges cannot be given up")]
    Privileges(#[source] io::Error),
    #[error("the filter of system calls cannot be made for this machine")]
    Filter(#[from] BackendError),
    #[error("system calls cannot be filtered on this host")]
    Seal(#[from] seccompiler::Error),
}

/// Whether the limits held when the program began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    FromTheStart,
    /// What was allocated before does not count: the program must begin again.
    FromNowOn,
}

pub fn limit(limits: &Limits) -> Result<Held, SandboxFailure> {
    let before = getrlimit(Resource::As).maximum;
    set_no_new_privs(true).map_err(|error| SandboxFailure::Privileges(error.into()))?;
    // No traces: a core holds the file.
    lower(Resource::Core, "core files", 0, 0)?;
    lower(Resource::Fsize, "written files", 0, 0)?;
    lower(Resource::Nofile, "open files", FEW_FILES, FEW_FILES)?;
    // The signal at the soft limit tells it from a kill by others; the hard one cannot be caught.
    let seconds = limits.cpu_seconds;
    lower(Resource::Cpu, "CPU time", seconds, seconds + 1)?;
    let memory = limits.memory_bytes;
    lower(Resource::As, "memory", memory, memory)?;
    if before.is_some_and(|before| before <= memory) {
        Ok(Held::FromTheStart)
    } else {
        Ok(Held::FromNowOn)
    }
}

/// Never raises what a host has set lower.
fn lower(what: Resource, name: &'static str, soft: u64, hard: u64) -> Result<(), SandboxFailure> {
    let before = getrlimit(what);
    let hard = before.maximum.map_or(hard, |before| before.min(hard));
    let limit = Rlimit {
        current: Some(soft.min(hard)),
        maximum: Some(hard),
    };
    let set = setrlimit(what, limit);
    set.map_err(|error: Errno| SandboxFailure::Limit(name, error.into()))
}

/// From here on another system call is the end of the process.
pub fn seal() -> Result<(), SandboxFailure> {
    let filter = SeccompFilter::new(
        rules()?.into_iter().collect(),
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        ARCH.try_into()?,
    )?;
    let program: BpfProgram = filter.try_into()?;
    Ok(apply_filter_all_threads(&program)?)
}

/// A system call, and when it is allowed: always, if there are no rules.
type Allowed = (i64, Vec<SeccompRule>);

fn rules() -> Result<Vec<Allowed>, SandboxFailure> {
    let always = |call| (call, Vec::new());
    // Memory may be had, but not to be run.
    let protection = |call| when(call, 2, SeccompCmpOp::MaskedEq(EXECUTABLE), 0);
    Ok(vec![
        when(libc::SYS_read, 0, SeccompCmpOp::Eq, STANDARD_INPUT)?,
        when(libc::SYS_write, 0, SeccompCmpOp::Eq, STANDARD_OUTPUT)?,
        protection(libc::SYS_mmap)?,
        protection(libc::SYS_mprotect)?,
        always(libc::SYS_munmap),
        always(libc::SYS_mremap),
        always(libc::SYS_madvise),
        always(libc::SYS_brk),
        always(libc::SYS_futex),
        always(libc::SYS_sched_yield),
        // The allocator names its memory, and asks which node of a large machine it is on.
        when(libc::SYS_prctl, 0, SeccompCmpOp::Eq, NAME_OF_MEMORY)?,
        always(libc::SYS_getcpu),
        always(libc::SYS_clock_gettime),
        // Hash tables are seeded.
        always(libc::SYS_getrandom),
        // Ending: the alternate stack is given back, and nothing else is left to do.
        always(libc::SYS_sigaltstack),
        always(libc::SYS_exit),
        always(libc::SYS_exit_group),
    ])
}

const STANDARD_INPUT: u64 = 0;
const STANDARD_OUTPUT: u64 = 1;
/// `PR_SET_VMA`.
const NAME_OF_MEMORY: u64 = 0x5356_4d41;
/// `PROT_EXEC`.
const EXECUTABLE: u64 = 4;

fn when(
    call: i64,
    argument: u8,
    comparison: SeccompCmpOp,
    value: u64,
) -> Result<Allowed, SandboxFailure> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)?;
    Ok((call, vec![SeccompRule::new(vec![condition])?]))
}
