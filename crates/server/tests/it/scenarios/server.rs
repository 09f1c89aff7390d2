//! A server that is asked one by one.

use simulator::{Fault, FaultName, Provider};

use super::play::{Scene, Turn};

#[tokio::test]
async fn all_succeed() {
    let scene = Scene::of([]);
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"");
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
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"");
}

#[tokio::test]
async fn it_is_busy_for_a_while() {
    let scene = Scene::of([Fault::of(FaultName::Busy503).times(20)]);
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"");
}

#[tokio::test]
async fn it_is_dead_for_a_while() {
    let scene = Scene {
        turn: Turn::Mended(4),
        ..Scene::of([Fault::of(FaultName::Dead)])
    };
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"");
}

#[tokio::test]
async fn it_is_dead_until_the_deadline() {
    let scene = Scene::of([Fault::of(FaultName::Dead)]).for_long();
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"");
}

#[tokio::test]
async fn an_answer_is_cut_off() {
    let scene = Scene::of([Fault::of(FaultName::Drop).times(2)]);
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"");
}

#[tokio::test]
async fn a_request_is_too_long_for_it() {
    let scene = Scene::once(FaultName::Context400);
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"");
}

#[tokio::test]
async fn it_does_not_let_us_in() {
    let scene = Scene {
        turn: Turn::Mended(4),
        reasons: true,
        ..Scene::of([Fault::of(FaultName::Unauthorized)])
    };
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"");
}

#[tokio::test]
async fn it_is_not_paid_for() {
    let scene = Scene {
        turn: Turn::Mended(4),
        reasons: true,
        ..Scene::of([Fault::of(FaultName::OutOfFunds)])
    };
    insta::assert_snapshot!(scene.with(&[Provider::Server]).await, @"");
}
