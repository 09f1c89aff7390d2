//! How jobs and their items end.

use simulator::{Fault, FaultName, Pace, Provider};

use super::play::{Scene, Turn};

/// What is not done within the hour expires.
fn hour() -> Pace {
    Pace {
        window_ms: Some(3_600_000),
        ..Pace::default()
    }
}

/// A job takes ten minutes.
fn slow() -> Pace {
    Pace {
        running_ms: 600_000,
        ..Pace::default()
    }
}

#[tokio::test]
async fn all_succeed() {
    let scene = Scene::of([]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn all_fail() {
    let scene = Scene::saying(&["[[fail 400]] one", "[[fail 400]] two"]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | simulated failure 400 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | simulated failure 400 | charged 0
    2 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn all_fail_by_the_job() {
    let scene = Scene::of([Fault::of(FaultName::AllFail)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | simulated failure 400 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | simulated failure 400 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | simulated failure 400 | charged 0
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn some_fail_are_blocked_or_refused() {
    let scene = Scene::saying(&[
        "one",
        "[[fail 422]] two",
        "[[blocked]] three",
        "[[refuse]] four",
    ]);
    insta::assert_snapshot!(scene.everywhere().await, @r#"
    openai:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 callback_delivered1 | simulated failure 422 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: content_filter | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | says "I'm sorry, but I can't help with that." | charged 3600
    4 callbacks, 1 jobs, 0.00 held

    anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 callback_delivered1 | simulated failure 422 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: refusal | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | says "I'm sorry, but I can't help with that." | charged 3600
    4 callbacks, 1 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 callback_delivered1 | simulated failure 422 | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: SAFETY | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | says "I'm sorry, but I can't help with that." | charged 3600
    4 callbacks, 1 jobs, 0.00 held
    "#);
}

#[tokio::test]
async fn an_item_that_failed_for_no_fault_of_its_own_goes_again_so_often() {
    let scene = Scene::saying(&["one", "[[fail 500]] two"]).for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 ... PROCESSING8 callback_delivered8 | no answer in 8 attempts: status 500 | charged 0
    2 callbacks, 8 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_expires_half_done() {
    let scene = Scene {
        pace: hour(),
        ..Scene::once(FaultName::ExpirePartial)
    }
    .for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_cancelled_behind_our_back() {
    let scene = Scene {
        pace: slow(),
        turn: Turn::Cancelled(4),
        ..Scene::of([])
    };
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_cancelled_job_has_results_of_every_sort() {
    let scene = Scene {
        pace: slow(),
        turn: Turn::Cancelled(4),
        texts: vec!["one", "two", "three", "four"],
        ..Scene::once(FaultName::CancelMixed)
    };
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1000
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    4 callbacks, 2 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1000
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 900
    4 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn all_is_counted_long_before_the_results_are_there() {
    let scene = Scene::once(FaultName::LongFinalizing);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_refused_for_one_line() {
    let scene = Scene::of([Fault::once(FaultName::ValidationFailed).line(2)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held

    anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_job_is_refused_for_one_line_again_and_again() {
    let scene = Scene::of([Fault::of(FaultName::ValidationFailed).line(1)]);
    insta::assert_snapshot!(scene.with(&[Provider::OpenAi, Provider::Gemini]).await, @"
    openai:
    PENDING1 PROCESSING1 callback_delivered1 | This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 PENDING3 PROCESSING3 callback_delivered3 | This line is not valid. | charged 0
    3 callbacks, 3 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 PENDING3 PROCESSING3 callback_delivered3 | This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 PENDING3 PROCESSING3 callback_delivered3 | This line is not valid. | charged 0
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 PENDING3 PROCESSING3 callback_delivered3 | This line is not valid. | charged 0
    3 callbacks, 3 jobs, 0.00 held
    ");
}
