//! The sandbox of the probe: what the child gives up before it reads a byte.
//!
//! It has two steps, since an allocator takes its first memory before `main`. [`apply_limits`] sets the
//! limits, and the program executes itself again, so that they are in force from the start.
//! [`install_seccomp_filter`] then forbids all system calls but those for reading, computing, answering and exiting.
//! Both work for any user, also in a container, and need no privilege.
//!
//! On a host that lacks one of them, the child refuses to read. No setting turns the sandbox off.

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
/// Executing again needs the standard streams, and the libraries one after the other.
const MAX_OPEN_FILES: u64 = 16;

/// The resources that one file may use.
#[derive(Debug, Clone, Copy)]
pub struct SandboxLimits {
    /// Address space, including the program.
    pub memory_bytes: u64,
    pub cpu_seconds: u64,
}

/// The largest PDF is 50 MB and is held in memory. A GB of video is read in a few seconds.
pub const DEFAULT_LIMITS: SandboxLimits = SandboxLimits {
    memory_bytes: 384 * MB,
    cpu_seconds: 10,
};

#[derive(Debug, thiserror::Error)]
pub enum SandboxFailure {
    #[error("cannot set the limit on {0}")]
    Limit(&'static str, #[source] io::Error),
    #[error("cannot drop privileges")]
    Privileges(#[source] io::Error),
    #[error("cannot build the seccomp filter for this architecture")]
    Filter(#[from] BackendError),
    #[error("cannot install the seccomp filter on this host")]
    Install(#[from] seccompiler::Error),
}

/// Whether the limits were in force when the program started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitsInForce {
    SinceStart,
    /// Memory allocated before does not count: the program must execute itself again.
    RestartNeeded,
}

pub fn apply_limits(limits: &SandboxLimits) -> Result<LimitsInForce, SandboxFailure> {
    let before = getrlimit(Resource::As).maximum;
    set_no_new_privs(true).map_err(|error| SandboxFailure::Privileges(error.into()))?;
    // No core files: they would contain the file.
    lower_limit(Resource::Core, "core files", 0, 0)?;
    lower_limit(Resource::Fsize, "written files", 0, 0)?;
    lower_limit(
        Resource::Nofile,
        "open files",
        MAX_OPEN_FILES,
        MAX_OPEN_FILES,
    )?;
    // The signal at the soft limit differs from other kills. The hard limit cannot be caught.
    let seconds = limits.cpu_seconds;
    lower_limit(Resource::Cpu, "CPU time", seconds, seconds + 1)?;
    let memory = limits.memory_bytes;
    lower_limit(Resource::As, "memory", memory, memory)?;
    if before.is_some_and(|before| before <= memory) {
        Ok(LimitsInForce::SinceStart)
    } else {
        Ok(LimitsInForce::RestartNeeded)
    }
}

/// Never raises a limit that the host has set lower.
fn lower_limit(
    what: Resource,
    name: &'static str,
    soft: u64,
    hard: u64,
) -> Result<(), SandboxFailure> {
    let before = getrlimit(what);
    let hard = before.maximum.map_or(hard, |before| before.min(hard));
    let limit = Rlimit {
        current: Some(soft.min(hard)),
        maximum: Some(hard),
    };
    let set = setrlimit(what, limit);
    set.map_err(|error: Errno| SandboxFailure::Limit(name, error.into()))
}

/// From here on, any other system call kills the process.
pub fn install_seccomp_filter() -> Result<(), SandboxFailure> {
    let filter = SeccompFilter::new(
        syscall_rules()?.into_iter().collect(),
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        ARCH.try_into()?,
    )?;
    let program: BpfProgram = filter.try_into()?;
    Ok(apply_filter_all_threads(&program)?)
}

/// A system call, and when it is allowed: always, if there are no rules.
type AllowedSyscall = (i64, Vec<SeccompRule>);

fn syscall_rules() -> Result<Vec<AllowedSyscall>, SandboxFailure> {
    let always = |call| (call, Vec::new());
    // Memory may be allocated, but not executed.
    let protection = |call| allow_when(call, 2, SeccompCmpOp::MaskedEq(PROT_EXEC), 0);
    Ok(vec![
        allow_when(libc::SYS_read, 0, SeccompCmpOp::Eq, STDIN_FD)?,
        allow_when(libc::SYS_write, 0, SeccompCmpOp::Eq, STDOUT_FD)?,
        protection(libc::SYS_mmap)?,
        protection(libc::SYS_mprotect)?,
        always(libc::SYS_munmap),
        always(libc::SYS_mremap),
        always(libc::SYS_madvise),
        always(libc::SYS_brk),
        always(libc::SYS_futex),
        always(libc::SYS_sched_yield),
        // The allocator names its memory, and asks for its NUMA node.
        allow_when(libc::SYS_prctl, 0, SeccompCmpOp::Eq, PR_SET_VMA)?,
        always(libc::SYS_getcpu),
        always(libc::SYS_clock_gettime),
        // Hash tables need a seed.
        always(libc::SYS_getrandom),
        // Exit: the alternate stack is released first.
        always(libc::SYS_sigaltstack),
        always(libc::SYS_exit),
        always(libc::SYS_exit_group),
    ])
}

const STDIN_FD: u64 = 0;
const STDOUT_FD: u64 = 1;
const PR_SET_VMA: u64 = 0x5356_4d41;
const PROT_EXEC: u64 = 4;

fn allow_when(
    call: i64,
    argument: u8,
    comparison: SeccompCmpOp,
    value: u64,
) -> Result<AllowedSyscall, SandboxFailure> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)?;
    Ok((call, vec![SeccompRule::new(vec![condition])?]))
}
