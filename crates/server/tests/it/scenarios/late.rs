//! What does not end in time takes another way, or fails at its deadline.

use domain::route::{Route, Via};
use simulator::{Fault, FaultName, Provider};

use super::play::Scene;
use crate::support::jobs::route;

fn spare(provider: Provider) -> Vec<Route> {
    vec![route(&format!("{provider}-spare"), Via::Batch)]
}

#[tokio::test]
async fn a_job_is_stuck_and_there_is_no_other_way() {
    let scene = Scene::of([Fault::of(FaultName::Stuck)]).for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | the deadline of 24 hours has passed | charged 0
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_stuck_and_there_is_a_server() {
    let scene = Scene {
        others: |_| vec![route("server", Via::Realtime)],
        ..Scene::of([Fault::of(FaultName::Stuck)])
    }
    .for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 1 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_stuck_and_there_is_another_account() {
    let scene = Scene {
        others: spare,
        ..Scene::of([Fault::of(FaultName::Stuck)])
    }
    .for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 1 jobs, 1 at the spare account, 0.00 held
    ");
}

#[tokio::test]
async fn nothing_is_taken_until_the_deadline() {
    let scene = Scene::of([Fault::of(FaultName::Create429)]).for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 callback_delivered1 | the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | the deadline of 24 hours has passed | charged 0
    3 callbacks, 0 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn nothing_is_taken_and_there_is_a_server() {
    let scene = Scene {
        others: |_| vec![route("server", Via::Realtime)],
        ..Scene::of([Fault::of(FaultName::Create429)])
    }
    .for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn what_was_lost_can_never_be_looked_for() {
    let scene = Scene::of([
        Fault::once(FaultName::CreateDropAfter),
        Fault::of(FaultName::List500),
    ])
    .for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | the deadline of 24 hours has passed | charged 0
    3 callbacks, 1 jobs, 0.00 held
    ");
}
