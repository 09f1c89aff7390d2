//! Sweep cancels the members of groups whose callers asked for it.

use std::time::Duration;

use domain::id::{CargoId, GroupId};
use serde_json::Value;
use simulator::SimulatedProvider;
use store::shard::cancel::{CancelCounts, GroupCancelStep, cancel_members};
use test_support::callback_receiver::CallbackReceiver;
use workers::stage::Stage as _;

use super::{
    MAX_STEPS, POLL_INTERVAL, STEP, assert_cancelled, assert_settled, dispatch, gather, job_sizes,
};
use crate::support::TestService;
use crate::support::simulated_providers::ProviderFixture;

/// Sweep cancels members once a second.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// A sealed group with this cargo, which its caller has asked to cancel.
#[expect(
    clippy::disallowed_methods,
    reason = "only this test runs these queries"
)]
async fn create_cancelled_group(fixture: &ProviderFixture, cargo: &[String]) -> GroupId {
    let (service, customer) = (&fixture.service, &fixture.customer);
    let now = service.now();
    let group = GroupId::new(now, customer.project.berth(), rand::random());
    let ids = cargo.iter().map(|id| id.parse::<CargoId>().unwrap().uuid());
    let ids: Vec<uuid::Uuid> = ids.collect();
    let insert = "insert into shard.cargo_group
            (id, organization, project, name, created_at, sealed_at, cancel_requested_at, total,
             next_position)
        values ($1, $2, $3, ($1::uuid)::text, $4, $4, $4, cardinality($5::uuid[]), cardinality($5::uuid[]))";
    let pool = &service.north.pool;
    let inserted = sqlx::query(insert)
        .bind(group.uuid())
        .bind(customer.organization.uuid())
        .bind(customer.project.uuid())
        .bind(now)
        .bind(&ids);
    inserted.execute(pool).await.unwrap();
    let members = "with members as (
            insert into shard.group_member
                (group_id, position, custom_id_digest, load_digest, cargo)
            select $1, place - 1, uuid_send(cargo), uuid_send(cargo), cargo
            from unnest($2::uuid[]) with ordinality as member (cargo, place)
            returning position, cargo
        )
        update shard.cargo set group_id = $1, group_position = position
        from members where id = cargo";
    let members = sqlx::query(members).bind(group.uuid()).bind(&ids);
    members.execute(pool).await.unwrap();
    group
}

async fn load(fixture: &ProviderFixture, texts: &[&str], url: &str) -> Vec<String> {
    let mut cargo = Vec::new();
    for text in texts {
        cargo.push(fixture.load(SimulatedProvider::OpenAi, text, url).await);
    }
    cargo
}

async fn sweep_after(fixture: &mut ProviderFixture, delay: Duration) {
    let now = fixture.service.clock.advance(delay);
    let workers = &mut fixture.service.worker_sets[0];
    workers.sweep.step(now).await.unwrap();
}

/// Makes the database reject the outcome of this cargo.
async fn reject_outcome(service: &TestService, cargo: &str) {
    let cargo = cargo.parse::<CargoId>().unwrap().uuid();
    let statement = format!(
        "create function shard.refuse() returns trigger language plpgsql as $$ begin
             if new.cargo = '{cargo}' then
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
async fn waiting_and_gathered_members_are_cancelled_and_sent_ones_are_answered() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let url = receiver.url();
    let mut cargo = load(&fixture, &["sent"], url).await;
    gather(&mut fixture).await;
    dispatch(&mut fixture).await;
    cargo.extend(load(&fixture, &["gathered", "gathered too"], url).await);
    gather(&mut fixture).await;
    cargo.extend(load(&fixture, &["waiting", "waiting too"], url).await);
    let other = load(&fixture, &["of no group"], url).await;
    create_cancelled_group(&fixture, &cargo).await;
    let now = fixture.service.now();
    let workers = &mut fixture.service.worker_sets[0];
    workers.sweep.step(now).await.unwrap();
    let customer = fixture.customer.clone();
    for member in &cargo[1..] {
        assert_cancelled(&fixture.service.track(&customer, member).await);
    }
    let sent = fixture.service.track(&customer, &cargo[0]).await;
    assert_eq!(sent["status"], "PROCESSING");
    assert!(sent["cancel_requested_at"].is_string(), "{sent}");
    cargo.extend(other);
    fixture.wait_for_callbacks(&cargo, STEP, MAX_STEPS).await;
    for answered in [&cargo[0], &cargo[5]] {
        let record = fixture.service.track(&customer, answered).await;
        assert_eq!(record["success"], true, "{record}");
    }
    let untouched = fixture.service.track(&customer, &cargo[5]).await;
    assert_eq!(untouched["cancel_requested_at"], Value::Null);
    assert_eq!(job_sizes(&fixture), [1, 1]);
    assert_eq!(receiver.callbacks().len(), cargo.len());
    assert_settled(&fixture.service, &customer).await;
}

#[tokio::test]
async fn members_are_cancelled_in_steps_and_only_once() {
    let fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let cargo = load(&fixture, &["one", "two", "three"], receiver.url()).await;
    let group = create_cancelled_group(&fixture, &cargo).await;
    let (shard, now) = (&fixture.service.north, fixture.service.now());
    let step = |cancelled, last_position| GroupCancelStep {
        counts: CancelCounts {
            cancelled,
            too_late: 0,
        },
        skipped: 0,
        last_position,
    };
    let cancel = |after| cancel_members(shard, group, after, 2, now);
    assert_eq!(cancel(-1).await.unwrap(), step(2, Some(1)));
    assert_eq!(cancel(1).await.unwrap(), step(1, Some(2)));
    assert_eq!(cancel(2).await.unwrap(), step(0, None));
    assert_eq!(cancel(-1).await.unwrap(), step(0, Some(1)));
    assert_settled(&fixture.service, &fixture.customer).await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn a_member_that_another_transaction_moves_is_skipped() {
    let fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let cargo = load(&fixture, &["one", "two"], receiver.url()).await;
    let group = create_cancelled_group(&fixture, &cargo).await;
    let (shard, now) = (&fixture.service.north, fixture.service.now());
    let mut mover = shard.begin().await.unwrap();
    let id: CargoId = cargo[0].parse().unwrap();
    let locked = sqlx::query("select from shard.waiting where cargo = $1 for update");
    let locked = locked.bind(id.uuid()).execute(&mut *mover).await;
    locked.unwrap();
    let step = cancel_members(shard, group, -1, 10, now).await.unwrap();
    assert_eq!((step.counts.cancelled, step.skipped), (1, 1));
    mover.rollback().await.unwrap();
    let step = cancel_members(shard, group, -1, 10, now).await.unwrap();
    assert_eq!((step.counts.cancelled, step.skipped), (1, 0));
    assert_settled(&fixture.service, &fixture.customer).await;
}

#[tokio::test]
async fn a_group_that_cannot_be_cancelled_stops_no_other_and_is_tried_again_after_a_minute() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let rejected = load(&fixture, &["rejected"], receiver.url()).await;
    create_cancelled_group(&fixture, &rejected).await;
    fixture.service.clock.advance(POLL_INTERVAL);
    let other = load(&fixture, &["other"], receiver.url()).await;
    create_cancelled_group(&fixture, &other).await;
    reject_outcome(&fixture.service, &rejected[0]).await;
    sweep_after(&mut fixture, SWEEP_INTERVAL).await;
    let customer = fixture.customer.clone();
    assert_cancelled(&fixture.service.track(&customer, &other[0]).await);
    let status = fixture.service.status(&customer, &rejected[0]).await;
    assert_eq!(status, "PENDING");

    let accept = sqlx::raw_sql("drop trigger refuse on shard.outcome");
    accept.execute(&fixture.service.north.pool).await.unwrap();
    sweep_after(&mut fixture, Duration::from_secs(59)).await;
    let status = fixture.service.status(&customer, &rejected[0]).await;
    assert_eq!(status, "PENDING");
    sweep_after(&mut fixture, SWEEP_INTERVAL).await;
    assert_cancelled(&fixture.service.track(&customer, &rejected[0]).await);
    assert_settled(&fixture.service, &customer).await;
}

#[tokio::test]
async fn older_groups_do_not_keep_a_newer_one_waiting() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let mut newest = Vec::new();
    // A sweep takes ten steps.
    for _ in 0..11 {
        newest = load(&fixture, &["one"], receiver.url()).await;
        create_cancelled_group(&fixture, &newest).await;
        fixture.service.clock.advance(POLL_INTERVAL);
    }
    // Groups that are not sealed are not completed, so each takes a second step.
    let open = sqlx::raw_sql("update shard.cargo_group set sealed_at = null");
    open.execute(&fixture.service.north.pool).await.unwrap();
    let customer = fixture.customer.clone();
    sweep_after(&mut fixture, SWEEP_INTERVAL).await;
    let status = fixture.service.status(&customer, &newest[0]).await;
    assert_eq!(status, "PENDING");
    sweep_after(&mut fixture, SWEEP_INTERVAL).await;
    assert_cancelled(&fixture.service.track(&customer, &newest[0]).await);
}

#[tokio::test]
async fn a_member_that_came_back_after_an_earlier_request_is_cancelled() {
    let fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let cargo = load(&fixture, &["one"], receiver.url()).await;
    let group = create_cancelled_group(&fixture, &cargo).await;
    let (shard, now) = (&fixture.service.north, fixture.service.now());
    let request = sqlx::raw_sql("update shard.cargo set cancel_requested_at = now()");
    request.execute(&shard.pool).await.unwrap();
    let step = cancel_members(shard, group, -1, 10, now).await.unwrap();
    assert_eq!((step.counts.cancelled, step.skipped), (1, 0));
    let customer = &fixture.customer;
    assert_cancelled(&fixture.service.track(customer, &cargo[0]).await);
    assert_settled(&fixture.service, customer).await;
}
