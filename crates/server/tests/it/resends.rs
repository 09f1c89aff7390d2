//! Callbacks that somebody asks for again: one, or all that failed at a host.

use std::time::Duration;

use domain::id::{Berth, CargoId, ResendId, floor};
use store::shard::resend::{self, Asked, Resent, State, Stopped};
use workers::stage::{Stage as _, Step};

use crate::support::http::chat;
use crate::support::receiver::Receiver;
use crate::support::{Customer, MOCK_DELAY, Service};
use crate::takeover::bury_the_first_crew;

/// The waits before each retry.
const WAITS: [u64; 5] = [30, 120, 600, 1800, 3600];
const ATTEMPTS: usize = 1 + WAITS.len();
const SECOND: Duration = Duration::from_secs(1);

struct World {
    service: Service,
    receiver: Receiver,
    customer: Customer,
}

impl World {
    async fn new() -> Self {
        let service = Service::new().await;
        let customer = service.customer().await;
        Self {
            service,
            receiver: Receiver::new().await,
            customer,
        }
    }

    async fn load(&mut self) -> String {
        let body = chat("Again.", Some(self.receiver.url()));
        self.service.load(&self.customer, &body).await
    }

    async fn complete(&mut self) {
        self.service.clock.advance(MOCK_DELAY);
        self.service.work().await;
    }

    /// What became due since the last look is found by the next.
    async fn look_again(&mut self) {
        self.service.clock.advance(SECOND);
        self.service.work().await;
    }

    /// Loads so many, whose callbacks are then given up.
    async fn give_up(&mut self, count: usize) -> Vec<String> {
        let mut cargo = Vec::new();
        for _ in 0..count {
            cargo.push(self.load().await);
        }
        self.receiver
            .answer(std::iter::repeat_n(500, count * ATTEMPTS));
        self.complete().await;
        for wait in WAITS {
            self.service.clock.advance(Duration::from_secs(wait));
            self.service.work().await;
        }
        assert_eq!(self.receiver.received().len(), count * ATTEMPTS);
        cargo
    }

    async fn resend(&self, cargo: &str) -> Resent {
        let id: CargoId = cargo.parse().unwrap();
        let project = self.customer.project;
        let now = self.service.now();
        resend::one(&self.service.north, project, id, now)
            .await
            .unwrap()
    }

    /// Status, attempts, the last status code, and whether it says when it was delivered.
    async fn told(&self, cargo: &str) -> String {
        let record = self.service.track(&self.customer, cargo).await;
        let callback = &record["callback"];
        let delivered = &callback["delivered_at"];
        let delivered = if delivered.is_null() { "not" } else { "then" };
        let (attempts, code) = (&callback["attempts"], &callback["last_status_code"]);
        let status = record["status"].as_str().unwrap();
        format!("{status} {attempts} {code} {delivered}")
    }

    async fn events(&mut self) -> Vec<String> {
        let now = self.service.clock.advance(SECOND);
        self.service.crews[0].sweep.step(now).await.unwrap();
        let sums = "select concat_ws(' ', event, sum(count)) from shard.usage
                    where event like '%e%d' and event not in ('loaded', 'succeeded')
                    group by event order by event";
        let sums = sqlx::query_scalar(sums).fetch_all(&self.service.north.pool);
        sums.await.unwrap()
    }

    async fn start(&self, per_second: u32) -> (ResendId, u64) {
        let now = self.service.now();
        let asked = Asked {
            id: ResendId::new(now, Berth::new(0).unwrap(), rand::random()),
            organization: self.customer.organization,
            project: self.customer.project,
            host: self.host(),
            first: uuid::Uuid::nil(),
            last: floor(now),
            per_second,
            by: "somebody".to_owned(),
        };
        let total = resend::start(&self.service.north, &asked, now).await;
        (asked.id, total.unwrap())
    }

    fn host(&self) -> String {
        let url: url::Url = self.receiver.url().parse().unwrap();
        format!("127.0.0.1:{}", url.port().unwrap())
    }

    /// How many callbacks failed and were not delivered since.
    async fn failed(&self, host: Option<&str>) -> u64 {
        let (first, last) = (uuid::Uuid::nil(), floor(self.service.now()));
        let project = self.customer.project;
        let failed = resend::count(&self.service.north, project, host, first, last);
        failed.await.unwrap()
    }

    /// A second of resending: how many callbacks it brought.
    async fn second(&mut self) -> usize {
        let before = self.receiver.received().len();
        let now = self.service.clock.advance(SECOND);
        let crew = &mut self.service.crews[0];
        while crew.resend.step(now).await.unwrap() != Step::Idle {}
        crew.deliver.settle(now).await.unwrap();
        self.receiver.received().len() - before
    }

    /// Of the newest: its state, how many were sent, and of how many.
    async fn standing(&self) -> (State, u64, u64) {
        let list = resend::list(&self.service.north, self.customer.project);
        let newest = list.await.unwrap().swap_remove(0);
        assert_eq!(newest.ended_at.is_none(), newest.state == State::Running);
        (newest.state, newest.sent, newest.total)
    }
}

#[tokio::test]
async fn a_callback_that_failed_is_sent_again_and_delivered() {
    let mut world = World::new().await;
    let cargo = world.give_up(1).await.swap_remove(0);
    assert_eq!(world.told(&cargo).await, "callback_failed 6 500 not");
    assert_eq!(world.failed(None).await, 1);

    // In vain at first: it is tried once, and not again by itself.
    world.receiver.answer([503]);
    assert_eq!(world.resend(&cargo).await, Resent::Queued);
    assert_eq!(world.resend(&cargo).await, Resent::AlreadyDue);
    assert_eq!(world.told(&cargo).await, "callback_failed 6 500 not");
    world.look_again().await;
    world.service.clock.advance(Duration::from_hours(2));
    world.service.work().await;
    assert_eq!(world.told(&cargo).await, "callback_failed 7 503 not");
    assert_eq!(world.failed(None).await, 1);

    assert_eq!(world.resend(&cargo).await, Resent::Queued);
    world.look_again().await;
    assert_eq!(world.told(&cargo).await, "callback_delivered 8 200 then");
    assert_eq!(world.failed(None).await, 0);
    let received = world.receiver.received();
    assert!(received.iter().all(|callback| *callback == received[0]));
    assert_eq!(world.events().await, ["callback_failed 1", "delivered 1"]);
}

#[tokio::test]
async fn a_delivered_callback_stays_delivered_whatever_comes_of_another() {
    let mut world = World::new().await;
    let cargo = world.load().await;
    assert_eq!(world.resend(&cargo).await, Resent::NothingToSend);
    world.complete().await;
    for (answer, told) in [(500, "2 500"), (200, "3 200")] {
        world.receiver.answer([answer]);
        assert_eq!(world.resend(&cargo).await, Resent::Queued);
        world.look_again().await;
        let told = format!("callback_delivered {told} then");
        assert_eq!(world.told(&cargo).await, told);
    }
    assert_eq!(world.failed(None).await, 0);
    assert_eq!(world.events().await, ["delivered 1"]);
}

#[tokio::test]
async fn what_is_still_being_tried_is_tried_now() {
    let mut world = World::new().await;
    let cargo = world.load().await;
    world.receiver.answer([500, 500]);
    world.complete().await;
    assert_eq!(world.told(&cargo).await, "COMPLETED 1 500 not");
    assert_eq!(world.resend(&cargo).await, Resent::AlreadyDue);
    world.look_again().await;
    assert_eq!(world.told(&cargo).await, "COMPLETED 2 500 not");
    // Its schedule goes on where it was: the third attempt follows after two minutes.
    world.service.clock.advance(Duration::from_secs(119));
    world.service.work().await;
    assert_eq!(world.told(&cargo).await, "COMPLETED 2 500 not");
    world.service.clock.advance(SECOND);
    world.service.work().await;
    assert_eq!(world.told(&cargo).await, "callback_delivered 3 200 then");
}

#[tokio::test]
async fn only_what_has_a_callback_and_is_ones_own_is_sent() {
    let mut world = World::new().await;
    let silent = world
        .service
        .load(&world.customer, &chat("Hush.", None))
        .await;
    let cargo = world.load().await;
    world.complete().await;
    assert_eq!(world.resend(&silent).await, Resent::NothingToSend);
    world.customer = world.service.sibling_of(&world.customer).await;
    assert_eq!(world.resend(&cargo).await, Resent::NotFound);
}

#[tokio::test]
async fn many_are_sent_faster_and_faster_until_they_are_stopped() {
    let mut world = World::new().await;
    world.give_up(50).await;
    let host = world.host();
    assert_eq!(world.failed(Some(&host)).await, 50);
    assert_eq!(world.failed(Some("elsewhere:80")).await, 0);
    let (id, total) = world.start(6).await;
    assert_eq!(total, 50);
    let mut brought = Vec::new();
    for _ in 0..5 {
        brought.push(world.second().await);
    }
    assert_eq!(brought, [1, 2, 4, 6, 6]);
    let (project, now) = (world.customer.project, world.service.now());
    for stopped in [Stopped::Now, Stopped::Before] {
        let told = resend::stop(&world.service.north, project, id, now).await;
        assert_eq!(told.unwrap(), stopped);
    }
    assert_eq!(world.second().await, 0);
    assert_eq!(world.standing().await, (State::Stopped, 19, 50));

    // What is left goes with another.
    assert_eq!(world.start(1000).await.1, 31);
    let mut brought = Vec::new();
    while world.standing().await.0 == State::Running {
        brought.push(world.second().await);
    }
    assert_eq!(brought, [1, 2, 4, 8, 16, 0]);
    assert_eq!(world.standing().await, (State::Done, 31, 31));
    assert_eq!(world.failed(None).await, 0);
}

#[tokio::test]
async fn a_double_click_starts_one_resend() {
    let mut world = World::new().await;
    world.give_up(3).await;
    let (one, another) = tokio::join!(world.start(1), world.start(1));
    assert_eq!((one.1, another.1), (3, 3));
    let list = resend::list(&world.service.north, world.customer.project);
    assert_eq!(list.await.unwrap().len(), 1);
}

/// The second of two resends is queued while the attempt of the first is being recorded: it
/// cannot know that attempt's number.
#[tokio::test]
async fn a_resend_beside_an_attempt_that_is_being_recorded_gets_a_number_of_its_own() {
    let mut world = World::new().await;
    let cargo = world.give_up(1).await.swap_remove(0);
    assert_eq!(world.resend(&cargo).await, Resent::Queued);
    let id: CargoId = cargo.parse().unwrap();
    let mut recording = world.service.north.begin().await.unwrap();
    let recorded = format!(
        "delete from shard.delivery where cargo = '{0}';
         insert into shard.attempt (cargo, number, started_at, ended_at, status)
         values ('{0}', 7, now(), now(), 500)",
        id.uuid()
    );
    let recorded = sqlx::raw_sql(sqlx::AssertSqlSafe(recorded));
    recorded.execute(&mut *recording).await.unwrap();
    let waits = "select exists (select from pg_stat_activity
                     where datname = current_database() and wait_event_type = 'Lock')";
    let commit = async {
        let pool = &world.service.north.pool;
        while !sqlx::query_scalar::<_, bool>(waits)
            .fetch_one(pool)
            .await
            .unwrap()
        {}
        recording.commit().await.unwrap();
    };
    let (again, ()) = tokio::join!(world.resend(&cargo), commit);
    assert_eq!(again, Resent::Queued);
    world.look_again().await;
    assert_eq!(world.told(&cargo).await, "callback_delivered 8 200 then");
}

#[tokio::test]
async fn two_crews_take_a_step_once() {
    let mut world = World::new().await;
    world.give_up(3).await;
    world.start(1).await;
    let mut other = world.service.another_crew().await;
    let now = world.service.now();
    let crew = &mut world.service.crews[0];
    let (one, another) = tokio::join!(crew.resend.step(now), other.resend.step(now));
    let mut steps = [one.unwrap(), another.unwrap()];
    steps.sort_by_key(|step| *step == Step::Idle);
    assert_eq!(steps, [Step::Did(1), Step::Idle]);
}

#[tokio::test]
async fn a_resend_of_the_dead_is_repeated_under_its_number() {
    let mut world = World::new().await;
    let cargo = world.give_up(1).await.swap_remove(0);
    assert_eq!(world.resend(&cargo).await, Resent::Queued);
    // The first crew dies with the POST under way.
    let now = world.service.clock.advance(SECOND);
    let began = world.service.crews[0].deliver.step(now).await.unwrap();
    assert_eq!(began, Step::Did(1));
    bury_the_first_crew(&world.service).await;
    let mut heir = world.service.another_crew().await;
    heir.deliver.settle(now).await.unwrap();
    assert_eq!(world.told(&cargo).await, "callback_delivered 7 200 then");

    world.service.crews[0].deliver.settle(now).await.unwrap();
    assert_eq!(world.receiver.received().len(), ATTEMPTS + 2);
    assert_eq!(world.told(&cargo).await, "callback_delivered 7 200 then");
}
