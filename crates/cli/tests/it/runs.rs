//! `longshore run`, killed and started again.

use std::fmt::Write as _;

use serde_json::Value;
use tokio::process::Command;

use crate::fake_service::FakeService;
use crate::program::{CommandOutput, TestFolder, longshore};

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

/// Two of five requests fail in the first group.
fn write_failing_requests(folder: &TestFolder) {
    let mut text = String::new();
    for line in 0..5 {
        let fault = if line % 2 == 1 { " fails once" } else { "" };
        let _written = writeln!(
            text,
            r#"{{"params":{{"max_tokens":5,"messages":[{{"role":"user","content":"line {line}{fault}"}}]}}}}"#
        );
    }
    folder.write("requests.jsonl", text);
}

fn read_answers(folder: &TestFolder) -> Vec<Value> {
    let answers = std::fs::read_to_string(folder.path().join("answers.jsonl")).unwrap();
    let lines = answers.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
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
    let ended = CommandOutput::from(output);
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
    let ended = CommandOutput::from(again);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("This run is done"),
        "{}",
        ended.stderr
    );
    assert_eq!(service.state(), (LINES, true));
}

#[tokio::test]
async fn only_failed_requests_are_loaded_again_and_their_answers_take_the_old_places() {
    let folder = TestFolder::new("retry");
    write_failing_requests(&folder);
    let service = FakeService::start().await;
    let first = run_command(&folder, &service).output().await.unwrap();
    let first = CommandOutput::from(first);
    assert_eq!(first.code, 3, "{}", first.stderr);
    let before = read_answers(&folder);
    let mut command = run_command(&folder, &service);
    let retried = command.arg("--retry-failed").output().await.unwrap();
    let ended = CommandOutput::from(retried);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let sizes: Vec<usize> = service.sizes().into_iter().map(|(_, size)| size).collect();
    assert_eq!(sizes, [5, 2]);
    let answers = read_answers(&folder);
    for (position, answer) in answers.iter().enumerate() {
        assert_eq!(answer["position"], position);
        assert_eq!(answer["success"], true, "{answer}");
        if position % 2 == 0 {
            assert_eq!(answer, &before[position]);
        }
    }
    assert_eq!(answers.len(), 5);
    // Nothing has failed now.
    let mut command = run_command(&folder, &service);
    let again = command.arg("--retry-failed").output().await.unwrap();
    let ended = CommandOutput::from(again);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("nothing to retry"),
        "{}",
        ended.stderr
    );
    assert_eq!(service.sizes().len(), 2);
}

#[tokio::test]
async fn a_retry_that_is_killed_goes_on_and_a_first_run_retries_at_its_end() {
    let folder = TestFolder::new("retry-killed");
    write_failing_requests(&folder);
    let service = FakeService::start().await;
    for requests in [1, 3, 5, 7] {
        let mut command = run_command(&folder, &service);
        let mut child = command.arg("--retry-failed").spawn().unwrap();
        tokio::select! {
            () = service.wait_for_requests(requests) => {}
            _ = child.wait() => {}
        }
        let _killed = child.kill().await;
    }
    let mut command = run_command(&folder, &service);
    let output = command.arg("--retry-failed").output().await.unwrap();
    let ended = CommandOutput::from(output);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let sizes: Vec<usize> = service.sizes().into_iter().map(|(_, size)| size).collect();
    assert_eq!(sizes, [5, 2]);
    let answers = read_answers(&folder);
    assert!(answers.iter().all(|answer| answer["success"] == true));
    assert_eq!(answers.len(), 5);
}
