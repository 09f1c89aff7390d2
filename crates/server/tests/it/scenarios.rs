//! One table of what can happen at a provider, for each of them: what is tracked, what is called
//! back, and what is paid.

use std::fmt::Write as _;
use std::time::Duration;

use store::shard::audit;
use simulator::{Fault, FaultName, Provider, rule};

use crate::support::jobs::{ACCOUNT, Port};
use crate::support::receiver::Receiver;

const STEP: Duration = Duration::from_secs(30);
/// Loaded in every scenario.
const TEXTS: [&str; 3] = ["one crate", "two crates", "three crates"];

/// Everything that happened, a line for each cargo.
async fn play(provider: Provider, faults: Vec<Fault>, texts: &[&str], hours: u64) -> String {
    let mut port = Port::open().await;
    let receiver = Receiver::new().await;
    port.simulator.set_faults(provider, ACCOUNT, faults);
    let mut cargo = Vec::new();
    for text in texts {
        cargo.push(port.load(provider, text, receiver.url()).await);
    }
    let mut seen: Vec<Vec<String>> = vec![Vec::new(); cargo.len()];
    let rounds = hours * 3600 / STEP.as_secs();
    for _ in 0..rounds.max(40) {
        for (cargo, seen) in cargo.iter().zip(&mut seen) {
            let record = port.service.track(&port.customer, cargo).await;
            let status = format!("{}{}", record["status"].as_str().unwrap(), record["attempt"]);
            if seen.last() != Some(&status) {
                seen.push(status);
            }
        }
        if seen.iter().all(|seen| seen.last().unwrap().starts_with("callback_")) {
            break;
        }
        port.advance(STEP).await;
    }
    let mut told = String::new();
    for ((cargo, seen), text) in cargo.iter().zip(&seen).zip(texts) {
        let record = port.service.track(&port.customer, cargo).await;
        let own = record["response"]["content"][0]["text"] == rule::chat_text(text).as_str();
        let said = match record["success"].as_bool() {
            Some(true) if own => "its own answer".to_owned(),
            Some(true) => format!("ANOTHER ANSWER {}", record["response"]),
            _ => record["error"].as_str().unwrap_or("nothing").to_owned(),
        };
        writeln!(told, "{} | {said} | charged {}", seen.join(" "), record["cost"]["charged"]).unwrap();
    }
    let callbacks = receiver.received().len();
    let jobs = port.simulator.jobs(provider, ACCOUNT).len();
    let account = port.service.account(&port.customer).await;
    writeln!(told, "{callbacks} callbacks, {jobs} jobs, {} held", account.held).unwrap();
    let report = audit::whole(&port.service.north).await.unwrap();
    assert_eq!(report.faults, []);
    told
}

#[tokio::test]
async fn all_succeed() {
    for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini] {
        let told = play(provider, Vec::new(), &TEXTS, 0).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(told, @"");
        }
    }
}

#[tokio::test]
async fn the_answer_to_a_submission_is_lost() {
    for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini] {
        let told = play(provider, vec![Fault::once(FaultName::CreateDropAfter)], &TEXTS, 0).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(told, @"");
        }
    }
}
