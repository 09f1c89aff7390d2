//! A server that is asked one by one.

use simulator::{Fault, FaultName, Provider};

use super::play::{Scene, Turn};

#[tokio::test]
async fn all_succeed() {
    let scene = Scene::of([]);
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn some_fail() {
    let scene = Scene::saying(&[
        "one",
        "[[fail 400]] two",
        "[[blocked]] three",
        "[[no-usage]] four",
        "[[absurd-usage]] five",
    ]);
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | its own answer | charged 900
    PENDING1 callback_delivered1 | simulated failure 400 | charged 0
    PENDING1 callback_delivered1 | blocked by provider: content_filter | charged 0
    PENDING1 callback_delivered1 | its own answer | charged 4600
    PENDING1 callback_delivered1 | its own answer | charged 5100
    5 callbacks, 0 jobs, 5 calls, 0.00 held
    ");
}

#[tokio::test]
async fn it_is_busy_for_a_while() {
    let scene = Scene::of([Fault::of(FaultName::Busy503).times(20)]);
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 23 calls, 0.00 held
    ");
}

#[tokio::test]
async fn it_is_dead_for_a_while() {
    let scene = Scene {
        turn: Turn::Mended(4),
        ..Scene::of([Fault::of(FaultName::Dead)])
    };
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn it_is_dead_until_the_deadline() {
    let scene = Scene::of([Fault::of(FaultName::Dead)]).for_long();
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 PROCESSING1 callback_delivered1 | the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | the deadline of 24 hours has passed | charged 0
    3 callbacks, 0 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn an_answer_is_cut_off() {
    let scene = Scene::of([Fault::of(FaultName::Drop).times(2)]);
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 5 calls, 0.00 held
    ");
}

#[tokio::test]
async fn one_question_is_never_answered() {
    let scene = Scene::saying(&["one", "[[fail 500]] two", "three"]).for_long();
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PENDING2 PENDING3 PENDING4 PENDING5 PENDING6 PENDING7 PENDING8 callback_delivered8 | no answer in 8 attempts: unavailable: status 500 | charged 0
    PENDING1 callback_delivered1 | its own answer | charged 1000
    3 callbacks, 0 jobs, 26 calls, 0.00 held
    ");
}

#[tokio::test]
async fn a_request_is_too_long_for_it() {
    let scene = Scene::once(FaultName::Context400);
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 callback_delivered1 | This model's maximum context length is 4096 tokens. However, your request has more. Please reduce the length of the input messages. | charged 0
    PENDING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn it_does_not_let_us_in() {
    let scene = Scene {
        turn: Turn::Mended(4),
        reasons: true,
        ..Scene::of([Fault::of(FaultName::Unauthorized)])
    };
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 PENDING2 BATCHED2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PENDING2 BATCHED2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PENDING2 BATCHED2 callback_delivered2 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: its provider is paused: the credential is not accepted; the operator can mend it
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn it_is_not_paid_for() {
    // Only its message says so, which pauses nothing: it is a 429 like any other.
    let scene = Scene {
        turn: Turn::Mended(4),
        reasons: true,
        ..Scene::of([Fault::of(FaultName::OutOfFunds)])
    };
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"
    server:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: the model's server does not answer right now: it is asked again soon
    3 callbacks, 0 jobs, 35 calls, 0.00 held
    ");
}
