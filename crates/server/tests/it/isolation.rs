//! Tenant isolation: an account that hangs, a flood or a poison pill delays no other tenant.

use std::time::Duration;

use simulator::{FaultName, SimulatedFault, SimulatedPace, SimulatedProvider};
use test_support::callback_receiver::CallbackReceiver;
use workers::stage::{Stage as _, StepResult};

use crate::support::http::chat_request;
use crate::support::simulated_providers::{
    PRIMARY_ACCOUNT, ProviderFixture, provider_chat_request,
};
use crate::support::{Customer, MOCK_DELAY, TestService};

const CALLBACK_URL: &str = "https://example.com/hook";
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const WAIT_TIMEOUT: Duration = Duration::from_mins(2);
const SHORT_ADVANCE: Duration = Duration::from_secs(5);
const LONG_ADVANCE: Duration = Duration::from_mins(5);

async fn count_batches(service: &TestService, condition: &str) -> i64 {
    let count = format!("select count(*) from shard.batch where {condition}");
    let count = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(count));
    count.fetch_one(&service.north.pool).await.unwrap()
}

/// Runs dispatch and collect until this many batches match the condition, or until a timeout.
async fn advance_until(fixture: &mut ProviderFixture, expected: i64, condition: &str) {
    let now = fixture.service.now();
    let wait = async {
        while count_batches(&fixture.service, condition).await < expected {
            fixture.service.worker_sets[0]
                .dispatch
                .advance(now)
                .await
                .unwrap();
            fixture.service.worker_sets[0]
                .collect
                .advance(now)
                .await
                .unwrap();
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let waited = tokio::time::timeout(WAIT_TIMEOUT, wait).await;
    assert!(
        waited.is_ok(),
        "timed out: fewer than {expected} batches with {condition}"
    );
}

#[tokio::test]
async fn an_account_that_never_answers_delays_no_other() {
    let mut fixture = ProviderFixture::start().await;
    let hangs = vec![SimulatedFault::new(FaultName::Stall)];
    fixture
        .simulator
        .set_faults(SimulatedProvider::OpenAi, PRIMARY_ACCOUNT, hangs);
    for _ in 0..60 {
        fixture
            .load(SimulatedProvider::OpenAi, "never", CALLBACK_URL)
            .await;
    }
    let now = fixture.service.now();
    while fixture.service.worker_sets[0]
        .gather
        .step(now)
        .await
        .unwrap()
        != StepResult::Idle
    {}
    // The account that hangs uses all its slots, and then other accounts get cargo.
    advance_until(&mut fixture, 4, "state = 'submitting' and node is not null").await;
    fixture
        .load(SimulatedProvider::Gemini, "soon", CALLBACK_URL)
        .await;
    fixture
        .load(SimulatedProvider::Anthropic, "soon", CALLBACK_URL)
        .await;
    // Their lanes are new: gather discovers them a little later.
    let now = fixture.service.clock.advance(SHORT_ADVANCE);
    fixture.simulator.advance(SHORT_ADVANCE);
    fixture.service.worker_sets[0]
        .gather
        .step(now)
        .await
        .unwrap();
    advance_until(&mut fixture, 2, "state = 'running'").await;
    assert_eq!(
        count_batches(&fixture.service, "state = 'gathered'").await,
        2
    );
    fixture.service.clock.advance(LONG_ADVANCE);
    fixture.simulator.advance(LONG_ADVANCE);
    advance_until(&mut fixture, 2, "state = 'ended'").await;
}

#[tokio::test]
async fn a_circuit_breaker_opens_for_a_failing_account() {
    let mut fixture = ProviderFixture::start().await;
    let pace = SimulatedPace {
        running_ms: 3_600_000,
        ..SimulatedPace::default()
    };
    fixture
        .simulator
        .set_pace(SimulatedProvider::OpenAi, PRIMARY_ACCOUNT, pace);
    for _ in 0..30 {
        fixture
            .load(SimulatedProvider::OpenAi, "text", CALLBACK_URL)
            .await;
    }
    fixture.service.run_until_idle().await;
    assert_eq!(
        count_batches(&fixture.service, "state = 'running'").await,
        3
    );
    let fault = SimulatedFault::new(FaultName::Poll500).times(1000);
    fixture
        .simulator
        .set_faults(SimulatedProvider::OpenAi, PRIMARY_ACCOUNT, vec![fault]);
    let mut claims = 0;
    for _ in 0..24 {
        let now = fixture.service.clock.advance(SHORT_ADVANCE);
        fixture.simulator.advance(SHORT_ADVANCE);
        let before = next_poll_times(&fixture).await;
        fixture.service.worker_sets[0]
            .collect
            .step(now)
            .await
            .unwrap();
        claims += usize::from(next_poll_times(&fixture).await != before);
    }
    // Three failures, then probes after 5, 10, 20, 40 and 80 seconds.
    assert!((3..=8).contains(&claims), "{claims}");
    fixture
        .simulator
        .clear_faults(SimulatedProvider::OpenAi, PRIMARY_ACCOUNT);
    let now = fixture.service.clock.advance(LONG_ADVANCE);
    fixture.simulator.advance(LONG_ADVANCE);
    fixture.service.worker_sets[0]
        .collect
        .step(now)
        .await
        .unwrap();
    // The probe was answered, so the other batches are polled at once.
    let due = "state = 'running' and next_poll_at <= '";
    let due = format!("{due}{now}'");
    assert_eq!(count_batches(&fixture.service, &due).await, 0);
}

/// When each job is polled next. It changes with every poll.
async fn next_poll_times(fixture: &ProviderFixture) -> Vec<chrono::DateTime<chrono::Utc>> {
    let times = "select next_poll_at from shard.batch order by id";
    let times = sqlx::query_scalar(times);
    times.fetch_all(&fixture.service.north.pool).await.unwrap()
}

#[tokio::test]
async fn a_job_that_was_created_after_its_claim_was_lost_is_cancelled() {
    let mut fixture = ProviderFixture::start().await;
    let slow = vec![SimulatedFault::new(FaultName::Stall).seconds(1)];
    fixture
        .simulator
        .set_faults(SimulatedProvider::Anthropic, PRIMARY_ACCOUNT, slow);
    fixture
        .load(SimulatedProvider::Anthropic, "late", CALLBACK_URL)
        .await;
    let now = fixture.service.now();
    fixture.service.worker_sets[0]
        .gather
        .step(now)
        .await
        .unwrap();
    advance_until(&mut fixture, 1, "sent_at is not null").await;
    let stolen = "update shard.batch set node = gen_random_uuid()";
    let stolen = sqlx::raw_sql(stolen).execute(&fixture.service.north.pool);
    stolen.await.unwrap();
    fixture
        .simulator
        .clear_faults(SimulatedProvider::Anthropic, PRIMARY_ACCOUNT);
    fixture.simulator.advance(SHORT_ADVANCE);
    let ended = fixture.service.worker_sets[0].dispatch.step(now).await;
    assert!(matches!(ended, Err(store::Error::Fenced)), "{ended:?}");
    let jobs = fixture
        .simulator
        .jobs(SimulatedProvider::Anthropic, PRIMARY_ACCOUNT);
    let states: Vec<_> = jobs.iter().map(|job| job.state.as_str()).collect();
    assert!(
        matches!(states[..], ["cancelling" | "cancelled"]),
        "{states:?}"
    );
}

async fn load_flood(service: &TestService, customer: &Customer, count: usize) {
    for number in 0..count {
        let text = format!("flood {number}");
        service.load(customer, &chat_request(&text, None)).await;
    }
}

#[tokio::test]
async fn a_lane_with_enough_batches_is_not_gathered_further() {
    let mut service = TestService::new().await;
    let (many, one) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    load_flood(&service, &many, 100).await;
    let now = service.now();
    while service.worker_sets[0].gather.step(now).await.unwrap() != StepResult::Idle {}
    // Two for each slot. The rest stays in the fair queue of organizations.
    assert_eq!(count_batches(&service, "state = 'gathered'").await, 8);
    let late = service.load(&one, &chat_request("late", None)).await;
    service.worker_sets[0].gather.step(now).await.unwrap();
    assert_eq!(service.status(&one, &late).await, "PENDING");
    service.worker_sets[0].dispatch.step(now).await.unwrap();
    service.worker_sets[0].gather.step(now).await.unwrap();
    assert_eq!(service.status(&one, &late).await, "BATCHED");
}

#[tokio::test]
async fn late_realtime_cargo_waits_for_two_batches_at_most() {
    let mut fixture = ProviderFixture::start().await;
    for _ in 0..100 {
        fixture
            .load(SimulatedProvider::Server, "flood", CALLBACK_URL)
            .await;
    }
    let now = fixture.service.now();
    while fixture.service.worker_sets[0]
        .gather
        .step(now)
        .await
        .unwrap()
        != StepResult::Idle
    {}
    fixture.service.worker_sets[0]
        .dispatch
        .step(now)
        .await
        .unwrap();
    // The running batches are not answered yet, so no more are gathered.
    assert_eq!(
        fixture.service.worker_sets[0]
            .gather
            .step(now)
            .await
            .unwrap(),
        StepResult::Idle
    );
    assert_eq!(
        count_batches(&fixture.service, "state = 'running'").await,
        2
    );
    let late = fixture.service.create_customer().await;
    let credit = domain::money::Money(1_000_000_000);
    fixture.service.add_credit(&late, credit).await;
    let body = provider_chat_request("server", "late", CALLBACK_URL);
    let cargo = fixture.service.load(&late, &body).await;
    let workers = &mut fixture.service.worker_sets[0];
    workers.stream.step(now).await.unwrap();
    workers.gather.step(now).await.unwrap();
    workers.dispatch.step(now).await.unwrap();
    workers.stream.step(now).await.unwrap();
    let record = fixture.service.track(&late, &cargo).await;
    assert_eq!(record["success"], true, "{record}");
}

/// Makes the database reject a successful outcome of this cargo.
async fn reject_success(service: &TestService, cargo: &str) {
    let cargo = cargo.parse::<domain::id::CargoId>().unwrap().uuid();
    let statement = format!(
        "create function shard.refuse() returns trigger language plpgsql as $$ begin
             if new.success and new.cargo = '{cargo}' then
                 raise exception 'refused' using errcode = '22023';
             end if;
             return new;
         end $$;
         create trigger refuse before insert on shard.outcome
         for each row execute function shard.refuse()"
    );
    let made = sqlx::raw_sql(sqlx::AssertSqlSafe(statement));
    made.execute(&service.north.pool).await.unwrap();
}

#[tokio::test]
async fn an_outcome_that_cannot_be_stored_fails_alone() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let mut cargo = Vec::new();
    for number in 0..10 {
        let body = chat_request(&number.to_string(), Some(receiver.url()));
        cargo.push(service.load(&customer, &body).await);
    }
    reject_success(&service, &cargo[6]).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let mut failed = Vec::new();
    for (number, cargo) in cargo.iter().enumerate() {
        let record = service.track(&customer, cargo).await;
        assert_eq!(record["status"], "callback_delivered", "{record}");
        if record["success"] == false {
            assert_eq!(record["error_code"], "result_not_stored");
            failed.push((number, record["error"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(failed, [(6, "the result could not be stored".to_owned())]);
    assert_eq!(receiver.callbacks().len(), 10);
}

/// How many cargo of a batch succeed after this many takeovers, and the errors of the others.
async fn process_after_takeovers(takeovers: i32) -> (usize, Vec<String>) {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut cargo = Vec::new();
    for number in 0..3 {
        cargo.push(
            service
                .load(&customer, &chat_request(&number.to_string(), None))
                .await,
        );
    }
    let now = service.clock.advance(MOCK_DELAY);
    service.worker_sets[0].gather.step(now).await.unwrap();
    service.worker_sets[0].dispatch.step(now).await.unwrap();
    let taken = format!("update shard.batch set takeovers = {takeovers}");
    let taken = sqlx::raw_sql(sqlx::AssertSqlSafe(taken)).execute(&service.north.pool);
    taken.await.unwrap();
    service.worker_sets[0].collect.step(now).await.unwrap();
    let (mut succeeded, mut errors) = (0, Vec::new());
    for cargo in &cargo {
        let record = service.track(&customer, cargo).await;
        match record["error"].as_str() {
            Some(error) => errors.push(error.to_owned()),
            None => succeeded += usize::from(record["success"] == true),
        }
    }
    errors.dedup();
    (succeeded, errors)
}

#[tokio::test]
async fn results_that_kill_workers_are_ingested_in_small_groups_and_then_failed() {
    for takeovers in [0, 5, 6, 7] {
        assert_eq!(
            process_after_takeovers(takeovers).await,
            (3, vec![]),
            "{takeovers}"
        );
    }
    let error = "processing the result was interrupted too often".to_owned();
    assert_eq!(process_after_takeovers(8).await, (0, vec![error]));
}
