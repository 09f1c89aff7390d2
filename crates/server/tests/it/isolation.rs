//! Neighbours: what hangs, floods or kills a worker delays no one else.

use std::time::Duration;

use simulator::{Fault, FaultName, Pace, Provider};
use workers::stage::{Stage as _, Step};

use crate::support::http::chat;
use crate::support::jobs::{ACCOUNT, Port, question};
use crate::support::receiver::Receiver;
use crate::support::{Customer, MOCK_DELAY, Service};

const HOOK: &str = "https://example.com/hook";
const LOOK: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_mins(5);

async fn count(service: &Service, what: &str) -> i64 {
    let count = format!("select count(*) from shard.batch where {what}");
    let count = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(count));
    count.fetch_one(&service.north.pool).await.unwrap()
}

/// The loop of the stages until so many batches are as wanted, or far too long.
async fn until(port: &mut Port, wanted: i64, what: &str) {
    let now = port.service.now();
    let looking = async {
        while count(&port.service, what).await < wanted {
            port.service.crews[0].dispatch.advance(now).await.unwrap();
            port.service.crews[0].collect.advance(now).await.unwrap();
            tokio::time::sleep(LOOK).await;
        }
    };
    let looked = tokio::time::timeout(LIMIT, looking).await;
    assert!(looked.is_ok(), "a neighbour hangs: not {wanted} are {what}");
}

#[tokio::test]
async fn an_account_that_never_answers_delays_no_other() {
    let mut port = Port::open().await;
    let hangs = vec![Fault::of(FaultName::Stall)];
    port.simulator.set_faults(Provider::OpenAi, ACCOUNT, hangs);
    for _ in 0..60 {
        port.load(Provider::OpenAi, "never", HOOK).await;
    }
    let now = port.service.now();
    while port.service.crews[0].gather.step(now).await.unwrap() != Step::Idle {}
    // All slots of the account that hangs are taken, and then others come.
    until(&mut port, 4, "state = 'submitting' and node is not null").await;
    port.load(Provider::Gemini, "soon", HOOK).await;
    port.load(Provider::Anthropic, "soon", HOOK).await;
    // Their lanes are new: the gatherer looks for such a little later.
    let now = port.service.clock.advance(SHORT);
    port.simulator.advance(SHORT);
    port.service.crews[0].gather.step(now).await.unwrap();
    until(&mut port, 2, "state = 'running'").await;
    assert_eq!(count(&port.service, "state = 'gathered'").await, 2);
    port.service.clock.advance(LONG);
    port.simulator.advance(LONG);
    until(&mut port, 2, "state = 'ended'").await;
}

#[tokio::test]
async fn an_account_that_keeps_failing_is_left_alone() {
    let mut port = Port::open().await;
    let pace = Pace {
        running_ms: 3_600_000,
        ..Pace::default()
    };
    port.simulator.set_pace(Provider::OpenAi, ACCOUNT, pace);
    for _ in 0..30 {
        port.load(Provider::OpenAi, "text", HOOK).await;
    }
    port.service.work().await;
    assert_eq!(count(&port.service, "state = 'running'").await, 3);
    let fault = Fault::of(FaultName::Poll500).times(1000);
    port.simulator
        .set_faults(Provider::OpenAi, ACCOUNT, vec![fault]);
    let mut claims = 0;
    for _ in 0..24 {
        let now = port.service.clock.advance(SHORT);
        port.simulator.advance(SHORT);
        let before = polled(&port).await;
        port.service.crews[0].collect.step(now).await.unwrap();
        claims += usize::from(polled(&port).await != before);
    }
    // Three failures, then probes after 5, 10, 20, 40 and 80 seconds.
    assert!((3..=8).contains(&claims), "{claims}");
    port.simulator.clear_faults(Provider::OpenAi, ACCOUNT);
    let now = port.service.clock.advance(LONG);
    port.simulator.advance(LONG);
    port.service.crews[0].collect.step(now).await.unwrap();
    // The probe was answered: the others are asked for at once.
    let due = "state = 'running' and next_poll_at <= '";
    let due = format!("{due}{now}'");
    assert_eq!(count(&port.service, &due).await, 0);
}

/// When each job is asked for next: changes with every poll.
async fn polled(port: &Port) -> Vec<chrono::DateTime<chrono::Utc>> {
    let times = "select next_poll_at from shard.batch order by id";
    let times = sqlx::query_scalar(times);
    times.fetch_all(&port.service.north.pool).await.unwrap()
}

#[tokio::test]
async fn a_job_that_was_created_after_its_claim_was_lost_is_cancelled() {
    let mut port = Port::open().await;
    let slow = vec![Fault::of(FaultName::Stall).seconds(1)];
    port.simulator
        .set_faults(Provider::Anthropic, ACCOUNT, slow);
    port.load(Provider::Anthropic, "late", HOOK).await;
    let now = port.service.now();
    port.service.crews[0].gather.step(now).await.unwrap();
    until(&mut port, 1, "sent_at is not null").await;
    let stolen = "update shard.batch set node = gen_random_uuid()";
    let stolen = sqlx::raw_sql(stolen).execute(&port.service.north.pool);
    stolen.await.unwrap();
    port.simulator.clear_faults(Provider::Anthropic, ACCOUNT);
    port.simulator.advance(SHORT);
    let ended = port.service.crews[0].dispatch.step(now).await;
    assert!(matches!(ended, Err(store::Error::Moved)), "{ended:?}");
    let jobs = port.simulator.jobs(Provider::Anthropic, ACCOUNT);
    let states: Vec<_> = jobs.iter().map(|job| job.state.as_str()).collect();
    assert!(
        matches!(states[..], ["cancelling" | "cancelled"]),
        "{states:?}"
    );
}

async fn flood(service: &Service, customer: &Customer, count: usize) {
    for number in 0..count {
        let text = format!("flood {number}");
        service.load(customer, &chat(&text, None)).await;
    }
}

#[tokio::test]
async fn a_lane_with_enough_batches_is_not_gathered_further() {
    let mut service = Service::new().await;
    let (many, one) = (service.customer().await, service.customer().await);
    flood(&service, &many, 100).await;
    let now = service.now();
    while service.crews[0].gather.step(now).await.unwrap() != Step::Idle {}
    // Two for each slot; the rest waits where organizations take turns.
    assert_eq!(count(&service, "state = 'gathered'").await, 8);
    let late = service.load(&one, &chat("late", None)).await;
    service.crews[0].gather.step(now).await.unwrap();
    assert_eq!(service.status(&one, &late).await, "PENDING");
    service.crews[0].dispatch.step(now).await.unwrap();
    service.crews[0].gather.step(now).await.unwrap();
    assert_eq!(service.status(&one, &late).await, "BATCHED");
}

#[tokio::test]
async fn who_comes_late_to_a_server_waits_for_two_batches_at_most() {
    let mut port = Port::open().await;
    for _ in 0..100 {
        port.load(Provider::Server, "flood", HOOK).await;
    }
    let now = port.service.now();
    while port.service.crews[0].gather.step(now).await.unwrap() != Step::Idle {}
    port.service.crews[0].dispatch.step(now).await.unwrap();
    // Running, but not served: no more are gathered.
    assert_eq!(
        port.service.crews[0].gather.step(now).await.unwrap(),
        Step::Idle
    );
    assert_eq!(count(&port.service, "state = 'running'").await, 2);
    let late = port.service.customer().await;
    let credit = domain::money::Money(1_000_000_000);
    port.service.add_credit(&late, credit).await;
    let body = question("server", "late", HOOK);
    let cargo = port.service.load(&late, &body).await;
    let crew = &mut port.service.crews[0];
    crew.stream.step(now).await.unwrap();
    crew.gather.step(now).await.unwrap();
    crew.dispatch.step(now).await.unwrap();
    crew.stream.step(now).await.unwrap();
    let record = port.service.track(&late, &cargo).await;
    assert_eq!(record["success"], true, "{record}");
}

/// Makes the database refuse the success of one cargo.
async fn refuse(service: &Service, cargo: &str) {
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
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let mut cargo = Vec::new();
    for number in 0..10 {
        let body = chat(&number.to_string(), Some(receiver.url()));
        cargo.push(service.load(&customer, &body).await);
    }
    refuse(&service, &cargo[6]).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    let mut failed = Vec::new();
    for (number, cargo) in cargo.iter().enumerate() {
        let record = service.track(&customer, cargo).await;
        assert_eq!(record["status"], "callback_delivered", "{record}");
        if record["success"] == false {
            failed.push((number, record["error"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(failed, [(6, "the result could not be stored".to_owned())]);
    assert_eq!(receiver.received().len(), 10);
}

/// How many of a batch succeed after so many takeovers.
async fn processed_after(takeovers: i32) -> (usize, Vec<String>) {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    let mut cargo = Vec::new();
    for number in 0..3 {
        cargo.push(
            service
                .load(&customer, &chat(&number.to_string(), None))
                .await,
        );
    }
    let now = service.clock.advance(MOCK_DELAY);
    service.crews[0].gather.step(now).await.unwrap();
    service.crews[0].dispatch.step(now).await.unwrap();
    let taken = format!("update shard.batch set takeovers = {takeovers}");
    let taken = sqlx::raw_sql(sqlx::AssertSqlSafe(taken)).execute(&service.north.pool);
    taken.await.unwrap();
    service.crews[0].collect.step(now).await.unwrap();
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
async fn results_that_kill_workers_are_processed_with_care_and_then_set_aside() {
    for takeovers in [0, 5, 6, 7] {
        assert_eq!(processed_after(takeovers).await, (3, vec![]), "{takeovers}");
    }
    let error = "processing the result was interrupted too often".to_owned();
    assert_eq!(processed_after(8).await, (0, vec![error]));
}
