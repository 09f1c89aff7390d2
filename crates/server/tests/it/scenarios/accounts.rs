//! Accounts that are not let in or do not pay: paused, and their cargo kept.

use domain::money::Money;
use domain::route::{Route, Via};
use simulator::{Fault, FaultName, Provider};
use store::shard::provider as standing;

use super::play::{BATCHES, LONG, SHORT, Scene, Turn};
use crate::support::Customer;
use crate::support::jobs::{ACCOUNT, Port, question, route};
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
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

/// Loads one text for each of two organizations, whose cargo goes into the same batch.
async fn load_both(port: &Port, provider: Provider, texts: [&str; 2], url: &str) -> [Loaded; 2] {
    let neighbour = port.service.customer().await;
    let credit = Money(1_000_000_000);
    port.service.add_credit(&neighbour, credit).await;
    let own = port.load(provider, texts[0], url).await;
    let body = question(provider.name(), texts[1], url);
    let other = port.service.load(&neighbour, &body).await;
    [(port.customer.clone(), own), (neighbour, other)]
}

type Loaded = (Customer, String);

/// Advances, and says why the account was paused, if it ever was.
async fn paused_within(port: &mut Port, provider: Provider, steps: u32) -> Option<String> {
    for _ in 0..steps {
        port.advance(SHORT).await;
        let paused = standing::paused(&port.service.north).await.unwrap();
        if let Some(paused) = paused.get(provider.name()) {
            return Some(paused.reason.clone());
        }
    }
    None
}

#[tokio::test]
async fn the_items_of_one_organization_pause_no_account() {
    let mut port = Port::open().await;
    let receiver = Receiver::new().await;
    for provider in BATCHES {
        let texts = ["[[fail 401]] crate", "one crate"];
        let loaded = load_both(&port, provider, texts, receiver.url()).await;
        assert_eq!(paused_within(&mut port, provider, 20).await, None);
        let [(customer, refused), (neighbour, answered)] = loaded;
        let status = port.service.status(&neighbour, &answered).await;
        assert_eq!(status, "callback_delivered", "{provider}");
        // What it met counts as attempts: it ends long before its deadline.
        port.wait_for(std::slice::from_ref(&refused), LONG, 12)
            .await;
        let tracked = port.service.track(&customer, &refused).await;
        let error = tracked["error"].as_str().unwrap_or_default();
        assert!(error.starts_with("no answer in 8 attempts: "), "{tracked}");
    }
}

#[tokio::test]
async fn the_items_of_two_organizations_pause_an_account_by_error_code() {
    let mut port = Port::open().await;
    let receiver = Receiver::new().await;
    for (provider, reason) in [
        (
            Provider::Anthropic,
            Some("authentication_error (status 401)"),
        ),
        (Provider::Gemini, Some("status 401")),
        // It has a status here, and no code.
        (Provider::OpenAi, None),
    ] {
        let texts = ["[[fail 401]] crate", "[[fail 401]] crate"];
        load_both(&port, provider, texts, receiver.url()).await;
        let paused = paused_within(&mut port, provider, 20).await;
        assert_eq!(paused.as_deref(), reason, "{provider}");
    }
}
