//! Accounts that are not let in or do not pay: paused, and their cargo kept.

use domain::route::{Route, Via};
use simulator::{Fault, FaultName, Provider};
use store::shard::provider as standing;

use super::play::{BATCHES, SHORT, Scene, Turn};
use crate::support::jobs::{ACCOUNT, Port, route};
use crate::support::receiver::Receiver;

fn spare(provider: Provider) -> Vec<Route> {
    vec![route(&format!("{provider}-spare"), Via::Batch)]
}

#[tokio::test]
async fn the_credential_is_refused_and_mended() {
    let scene = Scene {
        turn: Turn::Mended(6),
        reasons: true,
        ..Scene::of([Fault::of(FaultName::Unauthorized)])
    };
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: its provider is paused: the credential is not accepted; the operator can mend it
    waiting: the provider is working on its batch
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_account_is_out_of_funds_and_paid() {
    let scene = Scene {
        turn: Turn::Mended(6),
        reasons: true,
        ..Scene::of([Fault::of(FaultName::OutOfFunds)])
    };
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: its provider is paused: the account cannot pay; the operator can mend it
    waiting: the provider is working on its batch
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn what_waits_for_a_paused_account_leaves_when_it_is_resumed() {
    let mut port = Port::open().await;
    let receiver = Receiver::new().await;
    let refused = vec![Fault::of(FaultName::Unauthorized)];
    for provider in BATCHES {
        port.simulator
            .set_faults(provider, ACCOUNT, refused.clone());
        let cargo = port.load(provider, "one crate", receiver.url()).await;
        port.advance(SHORT).await;
        assert_eq!(port.service.status(&port.customer, &cargo).await, "BATCHED");
        port.simulator.set_faults(provider, ACCOUNT, Vec::new());
        let (north, now) = (&port.service.north, port.service.now());
        assert!(standing::resume(north, provider.name()).await.unwrap());
        standing::wake(north, provider.name(), now).await.unwrap();
        port.service.work().await;
        assert_eq!(
            port.service.status(&port.customer, &cargo).await,
            "PROCESSING"
        );
    }
}

#[tokio::test]
async fn the_credential_is_refused_until_the_deadline() {
    let scene = Scene::of([Fault::of(FaultName::Unauthorized)]).for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 callback_delivered1 | the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | the deadline of 24 hours has passed | charged 0
    3 callbacks, 0 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_credential_is_refused_and_there_is_another_account() {
    let scene = Scene {
        others: spare,
        ..Scene::of([Fault::of(FaultName::Unauthorized)])
    };
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 0 jobs, 1 at the spare account, 0.00 held
    ");
}

#[tokio::test]
async fn the_credential_is_refused_and_there_is_a_server() {
    let scene = Scene {
        others: |_| vec![route("server", Via::Realtime)],
        ..Scene::of([Fault::of(FaultName::Unauthorized)])
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
async fn items_are_refused_for_the_account() {
    let scene = Scene {
        turn: Turn::Mended(3),
        ..Scene::of([Fault::of(FaultName::AllFail).status(401)])
    };
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 BATCHED2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 BATCHED2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 BATCHED2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}
