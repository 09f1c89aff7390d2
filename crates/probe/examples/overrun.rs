//! A child that enters the sandbox and then breaks a rule: `overrun memory|time|…`.
//!
//! The tests of the sandbox start it and check how it ends.
#![expect(clippy::print_stdout, reason = "its parent reads it")]

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::{env, hint, io, thread};

use probe::sandbox::{LimitsInForce, SandboxLimits, apply_limits, install_seccomp_filter};

const LIMITS: SandboxLimits = SandboxLimits {
    memory_bytes: 128 << 20,
    cpu_seconds: 1,
};

fn main() -> ExitCode {
    let action = env::args().nth(1).unwrap_or_default();
    if matches!(apply_limits(&LIMITS), Ok(LimitsInForce::RestartNeeded)) {
        let failure = Command::new("/proc/self/exe").arg(&action).exec();
        println!("{failure}");
        return ExitCode::FAILURE;
    }
    if let Err(failure) = install_seccomp_filter() {
        println!("{failure}");
        return ExitCode::FAILURE;
    }
    println!("ready");
    let escaped = match action.as_str() {
        "nothing" => return ExitCode::SUCCESS,
        "memory" => take_memory(),
        "time" => loop {
            hint::spin_loop();
        },
        "read" => File::open("/etc/passwd").is_ok(),
        "write" => File::create("/tmp/overrun").is_ok(),
        "socket" => TcpListener::bind("127.0.0.1:0").is_ok(),
        "program" => Command::new("/bin/true").status().is_ok(),
        "thread" => thread::Builder::new().spawn(|| {}).is_ok(),
        "error" => io::Write::write(&mut io::stderr(), b"the file says").is_ok(),
        _ => false,
    };
    println!("went on after {action}: {escaped}");
    ExitCode::SUCCESS
}

/// Touches the memory, too: untouched pages cost nothing.
fn take_memory() -> bool {
    let mut taken = Vec::new();
    while taken.len() < 4096 {
        taken.push(vec![1_u8; 1 << 20]);
    }
    hint::black_box(&taken).len() == 4096
}
