//! `longshore run`, killed and started again.

use std::fmt::Write as _;

use serde_json::Value;
use tokio::process::Command;

use crate::fake_service::FakeService;
use crate::program::{Ended, TestFolder, longshore};

const LINES: usize = 6_000;

fn write_requests(folder: &TestFolder) {
    let mut text = String::new();
    for line in 0..LINES {
        let _written = writeln!(
            text,
            r#"{{"params":{{"max_tokens":5,"messages":[{{"role":"user","content":"line {line}"}}]}}}}"#
        );
    }
    folder.write("requests.jsonl", text);
}

fn run_command(folder: &TestFolder, service: &FakeService) -> Command {
    let mut command = longshore(folder);
    command
        .env("LONGSHORE_BASE_URL", &service.base_url)
        .env(
            "LONGSHORE_API_KEY",
            "svc_sk_00000000000000000000000000000000",
        )
        .args([
            "--json",
            "run",
            "requests.jsonl",
            "-o",
            "answers.jsonl",
            "--model",
            "m",
        ]);
    Command::from(command)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_killed_goes_on() {
    let folder = TestFolder::new("killed");
    write_requests(&folder);
    let service = FakeService::start().await;
    for requests in [1, 2, 4, 6, 8] {
        let mut child = run_command(&folder, &service).spawn().unwrap();
        tokio::select! {
            () = service.wait_for_requests(requests) => {}
            _ = child.wait() => {}
        }
        let _killed = child.kill().await;
    }
    let output = run_command(&folder, &service).output().await.unwrap();
    let ended = Ended::from(output);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(service.state(), (LINES, true));
    let answers = std::fs::read_to_string(folder.path().join("answers.jsonl")).unwrap();
    let mut count = 0;
    for (position, line) in answers.lines().enumerate() {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert_eq!(answer["position"], position);
        assert_eq!(answer["response"], format!("line {position}"));
        count += 1;
    }
    assert_eq!(count, LINES);
    assert!(!folder.path().join("answers.jsonl.part").exists());
}

#[tokio::test]
async fn the_same_command_after_the_end_changes_nothing() {
    let folder = TestFolder::new("again");
    write_requests(&folder);
    let service = FakeService::start().await;
    let first = run_command(&folder, &service).output().await.unwrap();
    assert!(first.status.success());
    let report: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(report["answered"], LINES);
    assert_eq!(report["charged"], 2 * LINES);
    let again = run_command(&folder, &service).output().await.unwrap();
    let ended = Ended::from(again);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("This run is done"),
        "{}",
        ended.stderr
    );
    assert_eq!(service.state(), (LINES, true));
}
