//! Creating a job: refused, lost, or taken and then not.

use domain::model::{Kind, Model};
use domain::route::Via;
use serde_json::json;
use simulator::{Fault, FaultName, Provider};

use super::play::{SHORT, Scene};
use crate::support::jobs::{ACCOUNT, Port, model, route};
use crate::support::receiver::Receiver;

#[tokio::test]
async fn the_answer_to_a_submission_is_dropped() {
    let scene = Scene::once(FaultName::CreateDropAfter);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_answer_to_a_submission_is_500() {
    let scene = Scene::once(FaultName::Create500After);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_answer_to_a_submission_is_cut() {
    let scene = Scene::once(FaultName::CreateDropBody);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_submission_fails_before_the_job_is_there() {
    let scene = Scene::once(FaultName::Create500Before);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_submission_is_dropped_before_the_job_is_there() {
    let scene = Scene::once(FaultName::CreateDropBefore);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_submission_is_too_large() {
    let scene = Scene::once(FaultName::Create413Html);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held

    anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_burst_of_429_at_create() {
    let scene = Scene::of([Fault::of(FaultName::Create429).times(3)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_burst_of_503_at_create() {
    let scene = Scene::of([Fault::of(FaultName::Create503).times(3)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_burst_of_529_at_create() {
    let scene = Scene::of([Fault::of(FaultName::Create529).times(3)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_lost_submission_shows_late() {
    let scene = Scene {
        reasons: true,
        ..Scene::of([
            Fault::once(FaultName::CreateDropAfter),
            Fault::once(FaultName::ListLag).seconds(50),
        ])
    };
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: whether its batch reached the provider is being looked into
    waiting: the provider is working on its batch
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_lost_submission_cannot_be_looked_for() {
    let scene = Scene::of([
        Fault::once(FaultName::CreateDropAfter),
        Fault::of(FaultName::List500).times(3),
    ]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn more_waits_than_the_account_may_have() {
    let scene = Scene::of([Fault::once(FaultName::TokenLimit).limit(10)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 BATCHED2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 BATCHED2 PENDING2 BATCHED2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 4 jobs, 0.00 held

    anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn an_uploaded_file_turns_out_unusable() {
    let scene = Scene {
        reasons: true,
        ..Scene::once(FaultName::FileFailed)
    };
    insta::assert_snapshot!(scene.with(&[Provider::Gemini]).await, @"
    gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: the provider takes nothing right now: its batch is tried again soon
    waiting: the provider is working on its batch
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn what_cannot_be_put_into_the_providers_words_fails_alone() {
    let mut port = Port::open().await;
    let receiver = Receiver::new().await;
    port.service.sell(Model {
        kind: Kind::Embedding,
        ..model("theirs", route("gemini", Via::Batch))
    });
    let mut cargo = Vec::new();
    // Gemini embeds one text a request.
    for input in [json!("one"), json!(["one", "two"])] {
        let params = json!({"model": "theirs", "input_text": input});
        let body = json!({"params": params, "callback_url": receiver.url()});
        cargo.push(port.service.load(&port.customer, &body).await);
    }
    port.wait_for(&cargo, SHORT, 10).await;
    let mut told = Vec::new();
    for cargo in &cargo {
        let record = port.service.track(&port.customer, cargo).await;
        let (success, error) = (&record["success"], &record["error"]);
        told.push(format!("{success} {error} in {}", record["attempt"]));
    }
    let unfit = r#"false "the model embeds one text a request" in 1"#;
    assert_eq!(told, ["true null in 1", unfit]);
    assert_eq!(receiver.received().len(), 2);
    let jobs = port.simulator.jobs(Provider::Gemini, ACCOUNT);
    let sizes: Vec<_> = jobs.iter().map(|job| job.items).collect();
    assert_eq!(sizes, [1]);
}
