//! Provider accounts with a rejected credential or without credit: they are paused, and their
//! cargo waits.

use domain::money::Money;
use domain::route::InferenceMode;
use simulator::{FaultName, SimulatedFault, SimulatedProvider};
use store::shard::provider as provider_status;
use test_support::callback_receiver::CallbackReceiver;

use super::scenario::{
    BATCH_PROVIDERS, LONG_STEP, ProviderScenario, SHORT_STEP, ScenarioIntervention, spare_routes,
};
use crate::support::Customer;
use crate::support::simulated_providers::{
    PRIMARY_ACCOUNT, ProviderFixture, provider_chat_request, route,
};

#[tokio::test]
async fn the_credential_is_refused_and_then_accepted() {
    let scenario = ProviderScenario {
        intervention: ScenarioIntervention::ClearFaults(6),
        shows_waiting_reasons: true,
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::Unauthorized)])
    };
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: the provider is paused: the provider rejected the credential; the operator can resolve this
    waiting: the provider is working on its batch
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_account_is_out_of_credit_and_then_paid() {
    let scenario = ProviderScenario {
        intervention: ScenarioIntervention::ClearFaults(6),
        shows_waiting_reasons: true,
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::OutOfFunds)])
    };
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 BATCHED1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    waiting: waiting to be gathered into a batch
    waiting: the provider is paused: provider account is out of credit (billing limit reached); the operator can resolve this
    waiting: the provider is working on its batch
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn cargo_of_a_paused_account_is_submitted_when_it_is_resumed() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let refused = vec![SimulatedFault::new(FaultName::Unauthorized)];
    for provider in BATCH_PROVIDERS {
        fixture
            .simulator
            .set_faults(provider, PRIMARY_ACCOUNT, refused.clone());
        let cargo = fixture.load(provider, "one crate", receiver.url()).await;
        fixture.advance(SHORT_STEP).await;
        assert_eq!(
            fixture.service.status(&fixture.customer, &cargo).await,
            "BATCHED"
        );
        fixture
            .simulator
            .set_faults(provider, PRIMARY_ACCOUNT, Vec::new());
        let (north, now) = (&fixture.service.north, fixture.service.now());
        assert!(
            provider_status::resume(north, provider.name())
                .await
                .unwrap()
        );
        provider_status::wake_waiting(north, provider.name(), now)
            .await
            .unwrap();
        fixture.service.run_until_idle().await;
        assert_eq!(
            fixture.service.status(&fixture.customer, &cargo).await,
            "PROCESSING"
        );
    }
    fixture.finish_and_compare_bill().await;
}

#[tokio::test]
async fn the_credential_is_refused_until_the_deadline() {
    let scenario =
        ProviderScenario::with_faults([SimulatedFault::new(FaultName::Unauthorized)]).over_a_day();
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 callback_delivered1 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    PENDING1 BATCHED1 callback_delivered1 | deadline_exceeded: the deadline of 24 hours has passed | charged 0
    3 callbacks, 0 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_credential_is_refused_and_there_is_another_account() {
    let scenario = ProviderScenario {
        fallback_routes: spare_routes,
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::Unauthorized)])
    };
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 0 jobs, 1 at the spare account, 0.00 held
    ");
}

#[tokio::test]
async fn the_credential_is_refused_and_there_is_a_server() {
    let scenario = ProviderScenario {
        fallback_routes: |_| vec![route("server", InferenceMode::Realtime)],
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::Unauthorized)])
    }
    .over_a_day();
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 BATCHED1 PENDING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 0 jobs, 3 calls, 0.00 held
    ");
}

#[tokio::test]
async fn items_are_refused_for_the_account() {
    let scenario = ProviderScenario {
        intervention: ScenarioIntervention::ClearFaults(3),
        ..ProviderScenario::with_faults([SimulatedFault::new(FaultName::AllFail).status(401)])
    };
    insta::assert_snapshot!(scenario.run_on_batch_providers().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

/// Loads one text for each of two organizations. Both cargo go into the same batch.
async fn load_both(
    fixture: &ProviderFixture,
    provider: SimulatedProvider,
    texts: [&str; 2],
    url: &str,
) -> [LoadedCargo; 2] {
    let neighbour = fixture.service.create_customer().await;
    let credit = Money(1_000_000_000);
    fixture.service.add_credit(&neighbour, credit).await;
    let own = fixture.load(provider, texts[0], url).await;
    let body = provider_chat_request(provider.name(), texts[1], url);
    let other = fixture.service.load(&neighbour, &body).await;
    [(fixture.customer.clone(), own), (neighbour, other)]
}

type LoadedCargo = (Customer, String);

/// Advances until the account is paused, and returns the reason, if it is paused in time.
async fn wait_for_pause(
    fixture: &mut ProviderFixture,
    provider: SimulatedProvider,
    steps: u32,
) -> Option<String> {
    for _ in 0..steps {
        fixture.advance(SHORT_STEP).await;
        let paused = provider_status::list_paused(&fixture.service.north)
            .await
            .unwrap();
        if let Some(paused) = paused.get(provider.name()) {
            return Some(paused.reason.clone());
        }
    }
    None
}

#[tokio::test]
async fn h2_the_items_of_one_organization_pause_no_account() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    for provider in BATCH_PROVIDERS {
        let texts = ["[[fail 401]] crate", "one crate"];
        let loaded = load_both(&fixture, provider, texts, receiver.url()).await;
        assert_eq!(wait_for_pause(&mut fixture, provider, 20).await, None);
        let [(customer, refused), (neighbour, answered)] = loaded;
        let status = fixture.service.status(&neighbour, &answered).await;
        assert_eq!(status, "callback_delivered", "{provider}");
        // The errors count as attempts, so the cargo ends long before its deadline.
        fixture
            .wait_for_callbacks(std::slice::from_ref(&refused), LONG_STEP, 12)
            .await;
        let tracked = fixture.service.track(&customer, &refused).await;
        let error = tracked["error"].as_str().unwrap_or_default();
        assert!(error.starts_with("no answer in 8 attempts: "), "{tracked}");
    }
    fixture.assert_booked_as_billed().await;
}

#[tokio::test]
async fn h2_the_items_of_two_organizations_pause_an_account_by_error_code() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    for (provider, reason) in [
        (
            SimulatedProvider::Anthropic,
            Some("authentication_error (status 401)"),
        ),
        (SimulatedProvider::Gemini, Some("status 401")),
        // OpenAI sends a status here, but no error code.
        (SimulatedProvider::OpenAi, None),
    ] {
        let texts = ["[[fail 401]] crate", "[[fail 401]] crate"];
        load_both(&fixture, provider, texts, receiver.url()).await;
        let paused = wait_for_pause(&mut fixture, provider, 20).await;
        assert_eq!(paused.as_deref(), reason, "{provider}");
    }
    fixture.assert_booked_as_billed().await;
}
