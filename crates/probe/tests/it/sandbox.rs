//! Runs the example `overrun` once for every forbidden action.

use std::env;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

const SIGABRT: i32 = 6;
const SIGXCPU: i32 = 24;
const SIGSYS: i32 = 31;

/// Examples are built with the tests, into a folder beside them.
fn overrun(action: &str) -> Output {
    let mut folder = env::current_exe().unwrap();
    folder.pop();
    folder.pop();
    Command::new(folder.join("examples/overrun"))
        .arg(action)
        .output()
        .unwrap()
}

#[test]
fn a_program_that_keeps_the_rules_succeeds() {
    let ended = overrun("nothing");
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(ended.stdout, b"ready\n");
}

#[test]
fn files_sockets_programs_and_threads_are_out_of_reach() {
    for action in ["read", "write", "socket", "program", "thread", "error"] {
        let ended = overrun(action);
        assert_eq!(ended.status.signal(), Some(SIGSYS), "{action}: {ended:?}");
        assert!(!ended.status.core_dumped());
        assert_eq!(ended.stdout, b"ready\n", "{action}");
        assert_eq!(ended.stderr, b"", "{action}");
    }
}

#[test]
fn memory_ends_at_its_limit() {
    let ended = overrun("memory");
    let signal = ended.status.signal().unwrap();
    // It aborts, and may be unable to print why.
    assert!([SIGABRT, SIGSYS].contains(&signal), "{ended:?}");
    assert_eq!(ended.stdout, b"ready\n");
}

#[test]
fn time_ends_at_its_limit() {
    let ended = overrun("time");
    assert_eq!(ended.status.signal(), Some(SIGXCPU), "{ended:?}");
    assert!(!ended.status.core_dumped());
}
