//! Takeover: another worker continues the work of a dead one, whose late writes are fenced off.

use std::time::Duration;

use sqlx::types::Uuid;
use store::shard::node;
use test_support::callback_receiver::CallbackReceiver;
use tokio::runtime::Handle;
use tokio::task::yield_now;
use workers::lease::Lease;
use workers::stage::{Stage as _, StepResult};

use crate::support::http::chat_request;
use crate::support::{MOCK_DELAY, TestService};

/// Expires the lease of the workers on shard north, as ten seconds without a heartbeat would.
pub(crate) async fn expire_first_lease(service: &TestService) {
    let statement = "update shard.node set seen_until = clock_timestamp() - interval '1 second'
                     where dead_at is null";
    sqlx::raw_sql(statement)
        .execute(&service.north.pool)
        .await
        .unwrap();
    assert_eq!(
        node::fence_expired_nodes(&service.north).await.unwrap(),
        ["test"]
    );
}

#[tokio::test]
async fn a_batch_of_a_dead_worker_is_taken_over_and_delivered() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let cargo = service
        .load(
            &customer,
            &chat_request("Take me up.", Some(receiver.url())),
        )
        .await;
    let now = service.now();
    service.worker_sets[0].gather.step(now).await.unwrap();
    expire_first_lease(&service).await;

    let mut successor = service.join_another_worker_set().await;
    successor.dispatch.step(now).await.unwrap();
    let now = service.clock.advance(MOCK_DELAY);
    successor.collect.step(now).await.unwrap();
    successor.deliver.run_until_idle(now).await.unwrap();
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
    assert_eq!(receiver.callbacks().len(), 1);
}

/// A network that was silent delivers a statement after its worker has given up.
#[tokio::test]
async fn a_claim_that_the_database_makes_late_is_freed() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let now = service.now();
    let collect = &mut service.worker_sets[0].collect;
    assert_eq!(collect.step(now).await.unwrap(), StepResult::Idle);
    let cargo = service.load(&customer, &chat_request("Late.", None)).await;
    let workers = &mut service.worker_sets[0];
    workers.gather.step(now).await.unwrap();
    workers.dispatch.step(now).await.unwrap();
    service.clock.advance(MOCK_DELAY);
    // The statement that claims the batch fails, and runs afterwards.
    workers.collect.recover().await.unwrap();
    claim_without_an_answer(&service).await;

    let collect = &mut service.worker_sets[0].collect;
    let now = service.clock.advance(Duration::from_secs(4));
    assert_eq!(collect.step(now).await.unwrap(), StepResult::Idle);
    let now = service.clock.advance(Duration::from_secs(1));
    collect.step(now).await.unwrap();
    assert_eq!(service.status(&customer, &cargo).await, "COMPLETED");
}

/// Claims the only batch of shard north for its worker, which does not get the answer.
async fn claim_without_an_answer(service: &TestService) {
    let claim = "update shard.batch set node = node.node, epoch = node.epoch
                 from shard.node where node.dead_at is null";
    let claimed = sqlx::raw_sql(claim).execute(&service.north.pool).await;
    assert_eq!(claimed.unwrap().rows_affected(), 1);
}

async fn count_claimed(service: &TestService) -> i64 {
    let count = "select count(*) from shard.batch where node is not null";
    let counted = sqlx::query_scalar(count).fetch_one(&service.north.pool);
    counted.await.unwrap()
}

#[tokio::test]
async fn a_task_that_has_ended_does_not_own_a_later_claim() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let request = chat_request("[mock:delay=600s] Not yet.", None);
    service.load(&customer, &request).await;
    let now = service.now();
    let workers = &mut service.worker_sets[0];
    workers.gather.step(now).await.unwrap();
    workers.dispatch.step(now).await.unwrap();
    sqlx::raw_sql("update shard.batch set next_poll_at = '2000-01-01'")
        .execute(&service.north.pool)
        .await
        .unwrap();
    // A task polls the batch and releases it. The stage has not seen the end of the task.
    let collect = &mut service.worker_sets[0].collect;
    let tasks = Handle::current().metrics();
    let others = tasks.num_alive_tasks();
    collect.advance(now).await.unwrap();
    while count_claimed(&service).await > 0 || tasks.num_alive_tasks() > others {
        yield_now().await;
    }

    claim_without_an_answer(&service).await;
    let collect = &mut service.worker_sets[0].collect;
    collect.recover().await.unwrap();
    assert_eq!(count_claimed(&service).await, 0);
}

#[tokio::test]
async fn a_lane_of_a_dead_worker_is_gathered_by_another() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    service.load(&customer, &chat_request("first", None)).await;
    let now = service.now();
    assert_eq!(
        service.worker_sets[0].gather.step(now).await.unwrap(),
        StepResult::Processed(1)
    );
    service.load(&customer, &chat_request("second", None)).await;

    let mut successor = service.join_another_worker_set().await;
    assert_eq!(successor.gather.step(now).await.unwrap(), StepResult::Idle);
    let statement = "update shard.node set seen_until = clock_timestamp() - interval '1 second'
                     where node in (select node from shard.lane)";
    sqlx::raw_sql(statement)
        .execute(&service.north.pool)
        .await
        .unwrap();
    node::fence_expired_nodes(&service.north).await.unwrap();
    let later = service.clock.advance(Duration::from_secs(1));
    assert_eq!(
        successor.gather.step(later).await.unwrap(),
        StepResult::Processed(1)
    );

    // The fenced worker finds that it lost its lane, and writes nothing.
    service.load(&customer, &chat_request("third", None)).await;
    let zombie = service.worker_sets[0].gather.step(later).await;
    assert!(matches!(zombie, Err(store::Error::Fenced)), "{zombie:?}");
}

#[tokio::test]
async fn an_attempt_that_was_never_recorded_is_repeated_under_its_number() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let cargo = service
        .load(&customer, &chat_request("Again.", Some(receiver.url())))
        .await;
    let now = service.clock.advance(MOCK_DELAY);
    let workers = &mut service.worker_sets[0];
    workers.gather.step(now).await.unwrap();
    workers.dispatch.step(now).await.unwrap();
    workers.collect.step(now).await.unwrap();
    // The first worker claims the delivery and dies during its POST.
    expire_first_lease(&service).await;
    let mut successor = service.join_another_worker_set().await;
    successor.deliver.run_until_idle(now).await.unwrap();
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "callback_delivered");
    assert_eq!(record["callback"]["attempts"], 1);

    // The receiver gets a duplicate from the dead worker, but no attempt is recorded.
    service.worker_sets[0]
        .deliver
        .run_until_idle(now)
        .await
        .unwrap();
    assert_eq!(receiver.callbacks().len(), 2);
    assert_eq!(
        service.track(&customer, &cargo).await["callback"]["attempts"],
        1
    );
}

#[tokio::test]
async fn the_claims_of_a_lease_that_expired_in_an_outage_are_freed_and_count_no_takeover() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let request = chat_request("Keep me.", Some("http://192.0.2.1/callback"));
    service.load(&customer, &request).await;
    let now = service.clock.advance(MOCK_DELAY);
    let workers = &mut service.worker_sets[0];
    workers.gather.step(now).await.unwrap();
    workers.dispatch.step(now).await.unwrap();
    workers.collect.step(now).await.unwrap();

    // Its lease has expired by its own clock. No peer was there to declare it dead.
    let (node, shard) = (Uuid::from_u128(7), service.north.clone());
    let lease = Lease::join(shard, node, "late".to_owned(), true, Duration::ZERO);
    let lease = lease.await.unwrap();
    let give = "update shard.delivery set node = n.node, epoch = n.epoch
                from shard.node n where n.name = 'late'";
    let given = sqlx::raw_sql(give).execute(&service.north.pool).await;
    assert_eq!(given.unwrap().rows_affected(), 1);

    lease.renew().await.unwrap();
    lease.free_orphaned_claims().await.unwrap();
    let freed = "select count(*) from shard.delivery where node is null and takeovers = 0";
    let freed = sqlx::query_scalar::<_, i64>(freed).fetch_one(&service.north.pool);
    assert_eq!(freed.await.unwrap(), 1);
}

#[tokio::test]
async fn a_batch_that_kills_its_workers_is_split() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    for number in 0..4 {
        service
            .load(&customer, &chat_request(&number.to_string(), None))
            .await;
    }
    let now = service.now();
    service.worker_sets[0].gather.step(now).await.unwrap();
    let poison = "update shard.batch set takeovers = 5";
    sqlx::raw_sql(poison)
        .execute(&service.north.pool)
        .await
        .unwrap();
    service.worker_sets[0].dispatch.step(now).await.unwrap();
    let halves = "select cardinality(cargo) from shard.batch where state = 'running' order by id";
    let halves = sqlx::query_scalar::<_, i32>(halves).fetch_all(&service.north.pool);
    assert_eq!(halves.await.unwrap(), [2, 2]);
}
