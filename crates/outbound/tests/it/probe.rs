//! The parent's side of the probe, against child scripts that misbehave.
//!
//! The real child is tested in crate server, which builds it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::file::{FileFailureReason, FileStructure, MediaType};
use outbound::probe::{FeedStatus, ProbeFailure, Prober};

use crate::support::LONG_TIMEOUT;

/// Long enough for a shell to start on a busy machine.
const SHORT_TIMEOUT: Duration = Duration::from_secs(2);

/// Writes a child script with a random name, so that tests do not share files.
fn child_script(script: &str) -> PathBuf {
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

type ProbeAnswer = Result<Result<FileStructure, FileFailureReason>, ProbeFailure>;

async fn answer(script: &str, timeout: Duration, media_type: MediaType) -> ProbeAnswer {
    let path = child_script(script);
    let prober = Prober::with_timeout(path.clone(), timeout);
    let started = prober.start(media_type);
    let mut probing = started?;
    for _ in 0..32 {
        if probing.feed(Bytes::from(vec![b'a'; 64 << 10])).await == FeedStatus::Finished {
            break;
        }
    }
    let answer = probing.finish().await;
    fs::remove_file(path).unwrap();
    answer
}

#[tokio::test]
async fn an_answer_at_the_end_is_read() {
    let script = "echo ready; cat >/dev/null; echo '{\"pages\":7}'";
    let answer = answer(script, LONG_TIMEOUT, MediaType::Pdf).await;
    assert_eq!(answer.unwrap(), Ok(FileStructure::Pages(7)));
}

#[tokio::test]
async fn an_answer_before_the_end_ends_the_feeding() {
    let script = "echo ready; echo '{\"flaw\":\"too_many_pages\"}'";
    let path = child_script(script);
    let prober = Prober::new(path.clone());
    let mut probing = prober.start(MediaType::Pdf).unwrap();
    let chunk = Bytes::from(vec![b'a'; 1 << 20]);
    while probing.feed(chunk.clone()).await == FeedStatus::WantsMore {}
    // Further bytes have no effect.
    assert_eq!(probing.feed(chunk).await, FeedStatus::Finished);
    let answer = probing.finish().await.unwrap();
    assert_eq!(answer, Err(FileFailureReason::TooManyPages));
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_ready_child_that_fails_makes_the_file_malformed() {
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
        let answer = answer(script, LONG_TIMEOUT, MediaType::Pdf).await;
        assert_eq!(
            answer.unwrap(),
            Err(FileFailureReason::MalformedDocument),
            "{script}"
        );
    }
}

#[tokio::test]
async fn a_child_that_hangs_is_killed() {
    for script in [
        // The first never reads, the second never answers, the third never ends.
        "echo ready; exec sleep 1000",
        "echo ready; cat >/dev/null; exec sleep 1000",
        "echo ready; cat >/dev/null; exec 1>&-; exec sleep 1000",
    ] {
        let began = Instant::now();
        let answer = answer(script, SHORT_TIMEOUT, MediaType::Mp4).await;
        assert_eq!(
            answer.unwrap(),
            Err(FileFailureReason::MalformedVideo),
            "{script}"
        );
        assert!(began.elapsed() < LONG_TIMEOUT, "{script}");
    }
}

#[tokio::test]
async fn a_child_that_never_was_ready_says_nothing_of_the_file() {
    for (script, expected) in [
        ("echo no seccomp here; exit 1", "no seccomp here"),
        ("exit 127", "exit status: 127"),
        ("cat >/dev/null; echo '{\"pages\":7}'", "{\"pages\":7}"),
    ] {
        let failure = answer(script, LONG_TIMEOUT, MediaType::Pdf)
            .await
            .unwrap_err();
        assert!(failure.to_string().contains(expected), "{failure}");
    }
}

#[tokio::test]
async fn a_child_terminated_by_a_signal_says_nothing_of_the_file() {
    for signal in ["TERM", "INT", "HUP"] {
        let script = format!("echo ready; kill -{signal} $$");
        let failure = answer(&script, LONG_TIMEOUT, MediaType::Pdf)
            .await
            .unwrap_err();
        assert!(matches!(failure, ProbeFailure::Terminated), "{failure}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_cannot_be_started() {
    let prober = Prober::new("/nowhere/longshored".into());
    let failure = prober.start(MediaType::Png).unwrap_err();
    assert!(matches!(failure, ProbeFailure::Start(_)), "{failure}");
    assert!(prober.check_sandbox().await.is_err());
}

#[tokio::test]
async fn a_child_sees_no_environment() {
    let script = "echo ready; cat >/dev/null; [ -z \"$HOME$LONGSHORE_TEST_DATABASE_URL\" ] && echo '\"text\"'";
    let answer = answer(script, LONG_TIMEOUT, MediaType::Text).await;
    assert_eq!(answer.unwrap(), Ok(FileStructure::Text));
}
