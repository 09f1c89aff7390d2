//! How provider accounts are shown to people and to scripts.

use domain::time::Timestamp;

use super::*;
use crate::providers::tests::accounts;

const FILE: &str = r#"
    [[provider]]
    name = "openai-main"
    kind = "openai"
    credential_env = "OPENAI_API_KEY"
    shards = { north = 3, south = 1 }

    [[provider]]
    name = "our-vllm"
    kind = "server"
    base_url = "http://gpu.internal:8000/v1"
"#;

fn moment() -> Timestamp {
    Timestamp::from_timestamp_micros(1_767_225_600_000_000).unwrap()
}

fn provider_status(name: &str, open_jobs: i64) -> ProviderStatus {
    ProviderStatus {
        name: name.to_owned(),
        paused_at: None,
        reason: None,
        retry_at: None,
        open_jobs,
        enqueued_tokens: open_jobs * 1_000,
        max_enqueued_tokens: None,
        submitting: None,
    }
}

fn answers() -> Vec<ShardAnswer> {
    let paused = ProviderStatus {
        paused_at: Some(moment()),
        reason: Some("provider account is out of credit (billing limit reached)".to_owned()),
        retry_at: Some(moment()),
        ..provider_status("openai-main", 0)
    };
    let north = vec![
        provider_status("mock", 3),
        provider_status("openai-main", 12),
        provider_status("forgotten", 0),
        provider_status("left-behind", 1),
    ];
    vec![
        ("north".to_owned(), Ok(north)),
        ("south".to_owned(), Ok(vec![paused])),
    ]
}

#[test]
fn people_see_a_row_for_each_account_and_shard() {
    let page = render(&accounts(FILE), &answers(), Printer::Text).unwrap();
    insta::assert_snapshot!(page, @r"
    PROVIDER     KIND             SHARD  JOBS  TOKENS            QUESTIONS  MAX JOB              PRICE  CREDENTIAL               BASE                         STATE
    openai-main  openai           north  12    12000 of 1500000  48         50000 / 200000000 B  0.5    variable OPENAI_API_KEY  https://api.openai.com/v1    open
    openai-main  openai           south  0     0 of 500000       16         50000 / 200000000 B  0.5    variable OPENAI_API_KEY  https://api.openai.com/v1    paused since 2026-01-01T00:00:00.000000Z, next retry at 2026-01-01T00:00:00.000000Z: provider account is out of credit (billing limit reached)
    our-vllm     server           north  0     0                 32         10000 / 200000000 B  1      -                        http://gpu.internal:8000/v1  open
    our-vllm     server           south  0     0                 32         10000 / 200000000 B  1      -                        http://gpu.internal:8000/v1  open
    left-behind  not in the file  north  1     1000              -          -                    -      -                        -                            open
    ");
    insta::assert_snapshot!(render(&accounts(""), &[], Printer::Text).unwrap(), @"none");
}

#[test]
fn a_shard_that_does_not_answer_hides_no_account() {
    let answers = [("south".to_owned(), Err("unreachable".to_owned()))];
    let page = render(&accounts(FILE), &answers, Printer::Text).unwrap();
    insta::assert_snapshot!(page, @r"
    PROVIDER     KIND    SHARD  JOBS  TOKENS        QUESTIONS  MAX JOB              PRICE  CREDENTIAL               BASE                         STATE
    openai-main  openai  north  0     0 of 1500000  48         50000 / 200000000 B  0.5    variable OPENAI_API_KEY  https://api.openai.com/v1    open
    openai-main  openai  south  0     0 of 500000   16         50000 / 200000000 B  0.5    variable OPENAI_API_KEY  https://api.openai.com/v1    unknown: unreachable
    our-vllm     server  north  0     0             32         10000 / 200000000 B  1      -                        http://gpu.internal:8000/v1  open
    our-vllm     server  south  0     0             32         10000 / 200000000 B  1      -                        http://gpu.internal:8000/v1  unknown: unreachable
    ");
}

#[test]
fn scripts_get_an_array_without_secrets() {
    let page = render(&accounts(FILE), &answers(), Printer::Json).unwrap();
    assert!(!page.contains("sk-secret"));
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&page[0]).unwrap(), @r#"
    {
      "name": "openai-main",
      "kind": "openai",
      "base_url": "https://api.openai.com/v1",
      "credential": "variable OPENAI_API_KEY",
      "price_factor": "0.5",
      "limits": {
        "job_items": 50000,
        "job_bytes": 200000000,
        "job_tokens": null,
        "enqueued_tokens": 2000000,
        "questions": 64,
        "linger_seconds": 60,
        "grace_seconds": 60,
        "create_seconds": 60
      },
      "shards": [
        {
          "shard": "north",
          "weight": 3,
          "enqueued_tokens_limit": 1500000,
          "questions_limit": 48,
          "paused_at": null,
          "reason": null,
          "retry_at": null,
          "open_jobs": 12,
          "enqueued_tokens": 12000,
          "failure": null
        },
        {
          "shard": "south",
          "weight": 1,
          "enqueued_tokens_limit": 500000,
          "questions_limit": 16,
          "paused_at": "2026-01-01T00:00:00.000000Z",
          "reason": "provider account is out of credit (billing limit reached)",
          "retry_at": "2026-01-01T00:00:00.000000Z",
          "open_jobs": 0,
          "enqueued_tokens": 0,
          "failure": null
        }
      ]
    }
    "#);
}

#[test]
fn a_resumed_account_names_its_shards() {
    let resumed = |shards: &[&str]| ResumeView {
        name: "openai-main".to_owned(),
        resumed: shards.iter().map(|it| (*it).to_owned()).collect(),
    };
    insta::assert_snapshot!(Printer::Text.render_one(&resumed(&["north"])).unwrap(), @r"
    provider  openai-main
    resumed   on north
    ");
    insta::assert_snapshot!(Printer::Text.render_one(&resumed(&[])).unwrap(), @r"
    provider  openai-main
    resumed   no: it was not paused on any shard
    ");
    insta::assert_snapshot!(Printer::Json.render_one(&resumed(&["north"])).unwrap(), @r#"{"name":"openai-main","resumed":["north"]}"#);
}
