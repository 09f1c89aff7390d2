//! Command lines that need no service.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::program::{TestFolder, run};

const GOOD_LINE: &str = r#"{"custom_id":"a","params":{"model":"svc-mock","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}}"#;

#[test]
fn check_names_every_fault_with_its_line() {
    let folder = TestFolder::new("check");
    let lines = format!("{GOOD_LINE}\n\n{GOOD_LINE}\nnot json\n{{\"params\":{{}}}}\n");
    folder.write("requests.jsonl", lines);
    let ended = run(&folder, &["check", "requests.jsonl", "--offline"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    insta::assert_snapshot!(ended.stdout, @r"
    line 3: another line has the same custom_id
    line 4: not JSON, at character 2
    line 5: params has neither messages nor input_text
    4 requests, 3 with faults
    ");
}

#[test]
fn check_prints_json_for_programs() {
    let folder = TestFolder::new("check-json");
    folder.write("requests.jsonl", format!("{GOOD_LINE}\n"));
    let ended = run(&folder, &["check", "requests.jsonl", "--offline", "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["requests"], 1);
    assert_eq!(report["faulty_lines"], 0);
}

#[test]
fn a_faulty_file_is_not_run() {
    let folder = TestFolder::new("faulty");
    folder.write("requests.jsonl", "{}\n");
    let ended = run(&folder, &["run", "requests.jsonl"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.stderr.contains("line 1: params is missing"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("Nothing was loaded."),
        "{}",
        ended.stderr
    );
}

#[test]
fn without_a_key_a_command_says_how_to_sign_in() {
    let folder = TestFolder::new("key");
    let ended = run(&folder, &["whoami", "--base-url", "http://127.0.0.1:1"]);
    assert_eq!(ended.code, 4);
    insta::assert_snapshot!(ended.stderr, @r"
    longshore: There is no API key for http://127.0.0.1:1.
    Run `longshore login`, or set LONGSHORE_BASE_URL and LONGSHORE_API_KEY.
    ");
}

#[test]
fn errors_are_json_for_programs() {
    let folder = TestFolder::new("json");
    let ended = run(&folder, &["--json", "whoami"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (4, ""));
    let error: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(error["code"], "not_signed_in");
}

#[test]
fn wrong_usage_has_its_own_code() {
    let folder = TestFolder::new("usage");
    assert_eq!(run(&folder, &["run"]).code, 2);
    assert_eq!(run(&folder, &["list", "--api-key", "x"]).code, 2);
}

#[test]
fn a_stored_key_is_for_its_owner_and_its_service_only() {
    let folder = TestFolder::new("profile");
    std::fs::create_dir_all(folder.path().join("longshore")).unwrap();
    let config = "[profiles.work]\nbase_url = \"http://127.0.0.1:1\"\n";
    folder.write("longshore/config.toml", config);
    let credentials = "[keys]\nwork = \"svc_sk_00000000000000000000000000000000\"\n";
    let path = folder.write("longshore/credentials.toml", credentials);
    let ended = run(&folder, &["profiles"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("work"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("svc_sk_"), "{}", ended.stdout);
    let elsewhere = run(&folder, &["whoami", "--base-url", "http://127.0.0.2:1"]);
    assert_eq!(elsewhere.code, 4);
    assert_eq!(run(&folder, &["logout"]).code, 0);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(!kept.contains("svc_sk_"));
}

#[test]
fn completions_are_printed_for_each_shell() {
    let folder = TestFolder::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let ended = run(&folder, &["completions", shell]);
        assert_eq!(ended.code, 0);
        assert!(ended.stdout.contains("estimate"), "{}", ended.stdout);
    }
}
