//! The parent's side of the probe, against children that are scripts and do what they should not.
//!
//! The real child is tested where it is built, in the server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::file::{Flaw, MediaType, Structure};
use outbound::probe::{Appetite, ProbeFailure, Prober};

use crate::support::AMPLE;

/// Long enough for a shell to start on a busy machine.
const SHORT: Duration = Duration::from_secs(2);

/// A child that is a script. Its name is its hash, so that no test writes what another runs.
fn child(script: &str) -> PathBuf {
    let name = format!(
        "longshore-probe-{:016x}-{}",
        rand::random::<u64>(),
        std::process::id()
    );
    let path = std::env::temp_dir().join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

type Answer = Result<Result<Structure, Flaw>, ProbeFailure>;

async fn answer(script: &str, patience: Duration, media_type: MediaType) -> Answer {
    let path = child(script);
    let prober = Prober::with_patience(path.clone(), patience);
    let started = prober.start(media_type);
    let mut probing = started?;
    for _ in 0..32 {
        if probing.feed(Bytes::from(vec![b'a'; 64 << 10])).await == Appetite::Full {
            break;
        }
    }
    let answer = probing.finish().await;
    fs::remove_file(path).unwrap();
    answer
}

#[tokio::test]
async fn an_answer_at_the_end_is_heard() {
    let script = "echo ready; cat >/dev/null; echo '{\"pages\":7}'";
    let answer = answer(script, AMPLE, MediaType::Pdf).await;
    assert_eq!(answer.unwrap(), Ok(Structure::Pages(7)));
}

#[tokio::test]
async fn an_answer_before_the_end_ends_the_feeding() {
    let script = "echo ready; echo '{\"flaw\":\"too_many_pages\"}'";
    let path = child(script);
    let prober = Prober::new(path.clone());
    let mut probing = prober.start(MediaType::Pdf).unwrap();
    let chunk = Bytes::from(vec![b'a'; 1 << 20]);
    while probing.feed(chunk.clone()).await == Appetite::Hungry {}
    // Nothing happens any more.
    assert_eq!(probing.feed(chunk).await, Appetite::Full);
    let answer = probing.finish().await.unwrap();
    assert_eq!(answer, Err(Flaw::TooManyPages));
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn whatever_becomes_of_a_ready_child_is_the_files_doing() {
    for script in [
        "echo ready; kill -KILL $$",
        "echo ready; kill -SEGV $$",
        "echo ready; kill -ABRT $$",
        "echo ready; cat >/dev/null; exit 1",
        "echo ready; cat >/dev/null",
        "echo ready; cat >/dev/null; echo ahoy",
        "echo ready; cat >/dev/null; echo '{\"pages\":7}'; exit 1",
        "echo ready; cat >/dev/null; echo '{\"pages\":7}'; echo '{\"pages\":7}'",
        "echo ready; cat >/dev/null; printf '{\"pages\":7}'",
        "echo ready; cat >/dev/null; echo '{\"pages\":101}'",
        "echo ready; cat >/dev/null; echo '\"text\"'",
        "echo ready; cat >/dev/null; yes",
    ] {
        let answer = answer(script, AMPLE, MediaType::Pdf).await;
        assert_eq!(answer.unwrap(), Err(Flaw::MalformedDocument), "{script}");
    }
}

#[tokio::test]
async fn a_child_that_keeps_us_waiting_is_killed() {
    for script in [
        // It reads nothing; it says nothing; it does not end.
        "echo ready; exec sleep 1000",
        "echo ready; cat >/dev/null; exec sleep 1000",
        "echo ready; cat >/dev/null; exec 1>&-; exec sleep 1000",
    ] {
        let began = Instant::now();
        let answer = answer(script, SHORT, MediaType::Mp4).await;
        assert_eq!(answer.unwrap(), Err(Flaw::MalformedVideo), "{script}");
        assert!(began.elapsed() < AMPLE, "{script}");
    }
}

#[tokio::test]
async fn a_child_that_never_was_ready_says_nothing_of_the_file() {
    for (script, said) in [
        ("echo no seccomp here; exit 1", "no seccomp here"),
        ("exit 127", "exit status: 127"),
        ("cat >/dev/null; echo '{\"pages\":7}'", "{\"pages\":7}"),
    ] {
        let failure = answer(script, AMPLE, MediaType::Pdf).await.unwrap_err();
        assert!(failure.to_string().contains(said), "{failure}");
    }
}

#[tokio::test]
async fn a_child_that_someone_else_stopped_says_nothing_of_the_file() {
    for signal in ["TERM", "INT", "HUP"] {
        let script = format!("echo ready; kill -{signal} $$");
        let failure = answer(&script, AMPLE, MediaType::Pdf).await.unwrap_err();
        assert!(matches!(failure, ProbeFailure::Stopped), "{failure}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_cannot_be_started() {
    let prober = Prober::new("/nowhere/longshored".into());
    let failure = prober.start(MediaType::Png).unwrap_err();
    assert!(matches!(failure, ProbeFailure::Start(_)), "{failure}");
    assert!(prober.rehearse().await.is_err());
}

#[tokio::test]
async fn a_child_sees_no_environment() {
    let script = "echo ready; cat >/dev/null; [ -z \"$HOME$LONGSHORE_TEST_DATABASE_URL\" ] && echo '\"text\"'";
    let answer = answer(script, AMPLE, MediaType::Text).await;
    assert_eq!(answer.unwrap(), Ok(Structure::Text));
}
