//! The example `overrun`, once for everything that must not be done.

use std::env;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

const SIGABRT: i32 = 6;
const SIGXCPU: i32 = 24;
const SIGSYS: i32 = 31;

/// Examples are built with the tests, one folder beside them.
fn overrun(deed: &str) -> Output {
    let mut folder = env::current_exe().unwrap();
    folder.pop();
    folder.pop();
    Command::new(folder.join("examples/overrun"))
        .arg(deed)
        .output()
        .unwrap()
}

#[test]
fn who_stays_inside_ends_well() {
    let ended = overrun("nothing");
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(ended.stdout, b"ready\n");
}

#[test]
fn files_sockets_programs_and_threads_are_out_of_reach() {
    for deed in ["read", "write", "socket", "program", "thread", "error"] {
        let ended = overrun(deed);
        assert_eq!(ended.status.signal(), Some(SIGSYS), "{deed}: {ended:?}");
        assert!(!ended.status.core_dumped());
        assert_eq!(ended.stdout, b"ready\n", "{deed}");
        assert_eq!(ended.stderr, b"", "{deed}");
    }
}

#[test]
fn memory_ends_at_its_limit() {
    let ended = overrun("memory");
    let signal = ended.status.signal().unwrap();
    // It ends itself, and may not even say why.
    assert!([SIGABRT, SIGSYS].contains(&signal), "{ended:?}");
    assert_eq!(ended.stdout, b"ready\n");
}

#[test]
fn time_ends_at_its_limit() {
    let ended = overrun("time");
    assert_eq!(ended.status.signal(), Some(SIGXCPU), "{ended:?}");
    assert!(!ended.status.core_dumped());
}
