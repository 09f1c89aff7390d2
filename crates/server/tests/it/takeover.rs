//! A worker that dies: its work is taken up, and what it still does is refused.

use store::shard::node;
use workers::stage::{Stage as _, Step};

use crate::support::http::chat;
use crate::support::receiver::Receiver;
use crate::support::{MOCK_DELAY, Service};

/// Takes the north crew's lease away, as ten silent seconds would.
pub(crate) async fn bury_the_first_crew(service: &Service) {
    let statement = "update shard.node set seen_until = clock_timestamp() - interval '1 second'
                     where dead_at is null";
    sqlx::raw_sql(statement)
        .execute(&service.north.pool)
        .await
        .unwrap();
    assert_eq!(node::bury_dead(&service.north).await.unwrap(), ["test"]);
}

#[tokio::test]
async fn a_batch_of_the_dead_is_taken_up_and_delivered() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let cargo = service
        .load(&customer, &chat("Take me up.", Some(receiver.url())))
        .await;
    let now = service.now();
    service.crews[0].gather.step(now).await.unwrap();
    bury_the_first_crew(&service).await;

    let mut heir = service.another_crew().await;
    heir.dispatch.step(now).await.unwrap();
    let now = service.clock.advance(MOCK_DELAY);
    heir.collect.step(now).await.unwrap();
    heir.deliver.settle(now).await.unwrap();
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_lane_of_the_dead_is_gathered_by_another() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    service.load(&customer, &chat("first", None)).await;
    let now = service.now();
    assert_eq!(
        service.crews[0].gather.step(now).await.unwrap(),
        Step::Did(1)
    );
    service.load(&customer, &chat("second", None)).await;

    let mut heir = service.another_crew().await;
    assert_eq!(heir.gather.step(now).await.unwrap(), Step::Idle);
    let statement = "update shard.node set seen_until = clock_timestamp() - interval '1 second'
                     where node in (select node from shard.lane)";
    sqlx::raw_sql(statement)
        .execute(&service.north.pool)
        .await
        .unwrap();
    node::bury_dead(&service.north).await.unwrap();
    let later = service.clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(heir.gather.step(later).await.unwrap(), Step::Did(1));

    // The one that was taken for dead finds its lane gone, and writes nothing.
    service.load(&customer, &chat("third", None)).await;
    let zombie = service.crews[0].gather.step(later).await;
    assert!(matches!(zombie, Err(store::Error::Moved)), "{zombie:?}");
}

#[tokio::test]
async fn an_attempt_that_was_never_recorded_is_repeated_under_its_number() {
    let mut service = Service::new().await;
    let receiver = Receiver::new().await;
    let customer = service.customer().await;
    let cargo = service
        .load(&customer, &chat("Again.", Some(receiver.url())))
        .await;
    let now = service.clock.advance(MOCK_DELAY);
    let crew = &mut service.crews[0];
    crew.gather.step(now).await.unwrap();
    crew.dispatch.step(now).await.unwrap();
    crew.collect.step(now).await.unwrap();
    // The delivery is claimed by the first crew, which dies with the POST under way.
    bury_the_first_crew(&service).await;
    let mut heir = service.another_crew().await;
    heir.deliver.settle(now).await.unwrap();
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "callback_delivered");
    assert_eq!(record["callback"]["attempts"], 1);

    // What the dead one still sends counts as a duplicate for the receiver, and for nobody else.
    service.crews[0].deliver.settle(now).await.unwrap();
    assert_eq!(receiver.received().len(), 2);
    assert_eq!(
        service.track(&customer, &cargo).await["callback"]["attempts"],
        1
    );
}

#[tokio::test]
async fn a_batch_that_kills_its_workers_is_halved() {
    let mut service = Service::new().await;
    let customer = service.customer().await;
    for number in 0..4 {
        service
            .load(&customer, &chat(&number.to_string(), None))
            .await;
    }
    let now = service.now();
    service.crews[0].gather.step(now).await.unwrap();
    let poison = "update shard.batch set takeovers = 5";
    sqlx::raw_sql(poison)
        .execute(&service.north.pool)
        .await
        .unwrap();
    service.crews[0].dispatch.step(now).await.unwrap();
    let halves = "select cardinality(cargo) from shard.batch where state = 'running' order by id";
    let halves = sqlx::query_scalar::<_, i32>(halves).fetch_all(&service.north.pool);
    assert_eq!(halves.await.unwrap(), [2, 2]);
}
