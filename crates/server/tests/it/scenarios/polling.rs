//! Asking for a job that was taken.

use simulator::{Fault, FaultName, Pace, Provider};

use super::play::Scene;

/// A job takes ten minutes.
fn slow() -> Pace {
    Pace {
        running_ms: 600_000,
        ..Pace::default()
    }
}

#[tokio::test]
async fn a_burst_of_500_at_poll() {
    let scene = Scene::of([Fault::of(FaultName::Poll500).times(3)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_burst_of_429_at_poll() {
    let scene = Scene::of([Fault::of(FaultName::Poll429).times(3)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_out_of_sight_for_a_moment() {
    let scene = Scene::of([Fault::of(FaultName::Vanish).times(2)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_vanishes() {
    let scene = Scene::of([Fault::of(FaultName::Vanish).times(5)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn anthropic_says_when_to_ask_again() {
    let scene = Scene {
        pace: slow(),
        ..Scene::of([Fault::of(FaultName::RetryAfter).times(3)])
    };
    insta::assert_snapshot!(scene.with(&[Provider::Anthropic]).await, @"
    anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn nobody_can_ask_for_a_job_until_the_deadline() {
    let scene = Scene::of([Fault::of(FaultName::Poll500)]).for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 PENDING2 callback_delivered2 | the deadline of 24 hours has passed | charged 0
    3 callbacks, 1 jobs, 0.00 held
    ");
}
