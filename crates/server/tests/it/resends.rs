//! Resends: one callback, or all failed callbacks of a host.

use std::time::Duration;

use domain::id::{Berth, CargoId, ResendId, first_id_at};
use store::shard::resend::{self, NewResend, ResendResult, ResendState, ResendStop};
use test_support::callback_receiver::CallbackReceiver;
use workers::stage::{Stage as _, StepResult};

use crate::support::http::chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};
use crate::takeover::expire_first_lease;

/// The delay before each retry.
const RETRY_DELAY_SECONDS: [u64; 5] = [30, 120, 600, 1800, 3600];
const ATTEMPTS_PER_CALLBACK: usize = 1 + RETRY_DELAY_SECONDS.len();
const SECOND: Duration = Duration::from_secs(1);

struct ResendFixture {
    service: TestService,
    receiver: CallbackReceiver,
    customer: Customer,
}

impl ResendFixture {
    async fn new() -> Self {
        let service = TestService::new().await;
        let customer = service.create_customer().await;
        Self {
            service,
            receiver: CallbackReceiver::new().await,
            customer,
        }
    }

    async fn load(&mut self) -> String {
        let body = chat_request("Again.", Some(self.receiver.url()));
        self.service.load(&self.customer, &body).await
    }

    async fn complete(&mut self) {
        self.service.clock.advance(MOCK_DELAY);
        self.service.run_until_idle().await;
    }

    /// Advances the clock so that deliver discovers what became due.
    async fn deliver_due(&mut self) {
        self.service.clock.advance(SECOND);
        self.service.run_until_idle().await;
    }

    /// Loads this many cargo and fails their callbacks until the retries are exhausted.
    async fn exhaust_retries(&mut self, count: usize) -> Vec<String> {
        let mut cargo = Vec::new();
        for _ in 0..count {
            cargo.push(self.load().await);
        }
        self.receiver
            .queue_statuses(std::iter::repeat_n(500, count * ATTEMPTS_PER_CALLBACK));
        self.complete().await;
        for wait in RETRY_DELAY_SECONDS {
            self.service.clock.advance(Duration::from_secs(wait));
            self.service.run_until_idle().await;
        }
        assert_eq!(
            self.receiver.callbacks().len(),
            count * ATTEMPTS_PER_CALLBACK
        );
        cargo
    }

    async fn resend(&self, cargo: &str) -> ResendResult {
        let id: CargoId = cargo.parse().unwrap();
        let project = self.customer.project;
        let now = self.service.now();
        resend::queue_one(&self.service.north, project, id, now)
            .await
            .unwrap()
    }

    /// Status, attempts, the last status code, and whether the callback has a delivery time.
    async fn callback_summary(&self, cargo: &str) -> String {
        let record = self.service.track(&self.customer, cargo).await;
        let callback = &record["callback"];
        let delivered = &callback["delivered_at"];
        let delivered = if delivered.is_null() { "not" } else { "then" };
        let (attempts, code) = (&callback["attempts"], &callback["last_status_code"]);
        let status = record["status"].as_str().unwrap();
        format!("{status} {attempts} {code} {delivered}")
    }

    async fn callback_events(&mut self) -> Vec<String> {
        let now = self.service.clock.advance(SECOND);
        self.service.worker_sets[0].sweep.step(now).await.unwrap();
        let sums = "select concat_ws(' ', event, sum(count)) from shard.usage
                    where event like '%e%d' and event not in ('loaded', 'succeeded')
                    group by event order by event";
        let sums = sqlx::query_scalar(sums).fetch_all(&self.service.north.pool);
        sums.await.unwrap()
    }

    async fn start(&self, per_second: u32) -> (ResendId, u64) {
        let now = self.service.now();
        let new = NewResend {
            id: ResendId::new(now, Berth::new(0).unwrap(), rand::random()),
            organization: self.customer.organization,
            project: self.customer.project,
            host: self.host(),
            first: uuid::Uuid::nil(),
            last: first_id_at(now),
            per_second,
            started_by: "operator".to_owned(),
        };
        let total = resend::start(&self.service.north, &new, now).await;
        (new.id, total.unwrap())
    }

    fn host(&self) -> String {
        let url: url::Url = self.receiver.url().parse().unwrap();
        format!("127.0.0.1:{}", url.port().unwrap())
    }

    /// How many callbacks failed and are not delivered yet.
    async fn count_failed(&self, host: Option<&str>) -> u64 {
        let (first, last) = (uuid::Uuid::nil(), first_id_at(self.service.now()));
        let project = self.customer.project;
        let failed = resend::count_failed(&self.service.north, project, host, first, last);
        failed.await.unwrap()
    }

    /// Resends for a second. Returns how many callbacks the receiver got.
    async fn resend_for_a_second(&mut self) -> usize {
        let before = self.receiver.callbacks().len();
        let now = self.service.clock.advance(SECOND);
        let workers = &mut self.service.worker_sets[0];
        while workers.resend.step(now).await.unwrap() != StepResult::Idle {}
        workers.deliver.run_until_idle(now).await.unwrap();
        self.receiver.callbacks().len() - before
    }

    /// The state of the newest resend, how many callbacks it sent, and of how many.
    async fn newest_progress(&self) -> (ResendState, u64, u64) {
        let list = resend::list(&self.service.north, self.customer.project);
        let newest = list.await.unwrap().swap_remove(0);
        assert_eq!(
            newest.ended_at.is_none(),
            newest.state == ResendState::Running
        );
        (newest.state, newest.sent, newest.total)
    }
}

#[tokio::test]
async fn a_failed_callback_is_resent_and_delivered() {
    let mut fixture = ResendFixture::new().await;
    let cargo = fixture.exhaust_retries(1).await.swap_remove(0);
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "callback_failed 6 500 not"
    );
    assert_eq!(fixture.count_failed(None).await, 1);

    // The first resend fails: it is attempted once, without retries.
    fixture.receiver.queue_statuses([503]);
    assert_eq!(fixture.resend(&cargo).await, ResendResult::Queued);
    assert_eq!(fixture.resend(&cargo).await, ResendResult::AlreadyDue);
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "callback_failed 6 500 not"
    );
    fixture.deliver_due().await;
    fixture.service.clock.advance(Duration::from_hours(2));
    fixture.service.run_until_idle().await;
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "callback_failed 7 503 not"
    );
    assert_eq!(fixture.count_failed(None).await, 1);

    assert_eq!(fixture.resend(&cargo).await, ResendResult::Queued);
    fixture.deliver_due().await;
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "callback_delivered 8 200 then"
    );
    assert_eq!(fixture.count_failed(None).await, 0);
    let received = fixture.receiver.callbacks();
    assert!(received.iter().all(|callback| *callback == received[0]));
    assert_eq!(
        fixture.callback_events().await,
        ["callback_failed 1", "delivered 1"]
    );
}

#[tokio::test]
async fn a_delivered_callback_stays_delivered_if_a_resend_fails() {
    let mut fixture = ResendFixture::new().await;
    let cargo = fixture.load().await;
    assert_eq!(fixture.resend(&cargo).await, ResendResult::NothingToSend);
    fixture.complete().await;
    for (answer, summary) in [(500, "2 500"), (200, "3 200")] {
        fixture.receiver.queue_statuses([answer]);
        assert_eq!(fixture.resend(&cargo).await, ResendResult::Queued);
        fixture.deliver_due().await;
        let summary = format!("callback_delivered {summary} then");
        assert_eq!(fixture.callback_summary(&cargo).await, summary);
    }
    assert_eq!(fixture.count_failed(None).await, 0);
    assert_eq!(fixture.callback_events().await, ["delivered 1"]);
}

#[tokio::test]
async fn resending_a_pending_callback_attempts_it_now() {
    let mut fixture = ResendFixture::new().await;
    let cargo = fixture.load().await;
    fixture.receiver.queue_statuses([500, 500]);
    fixture.complete().await;
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "COMPLETED 1 500 not"
    );
    assert_eq!(fixture.resend(&cargo).await, ResendResult::AlreadyDue);
    fixture.deliver_due().await;
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "COMPLETED 2 500 not"
    );
    // The retry schedule continues: the third attempt follows after two minutes.
    fixture.service.clock.advance(Duration::from_secs(119));
    fixture.service.run_until_idle().await;
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "COMPLETED 2 500 not"
    );
    fixture.service.clock.advance(SECOND);
    fixture.service.run_until_idle().await;
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "callback_delivered 3 200 then"
    );
}

#[tokio::test]
async fn only_existing_callbacks_of_the_project_are_resent() {
    let mut fixture = ResendFixture::new().await;
    let without_callback = fixture
        .service
        .load(&fixture.customer, &chat_request("Hush.", None))
        .await;
    let cargo = fixture.load().await;
    fixture.complete().await;
    assert_eq!(
        fixture.resend(&without_callback).await,
        ResendResult::NothingToSend
    );
    fixture.customer = fixture
        .service
        .create_sibling_project(&fixture.customer)
        .await;
    assert_eq!(fixture.resend(&cargo).await, ResendResult::NotFound);
}

#[tokio::test]
async fn a_resend_speeds_up_until_it_is_stopped() {
    let mut fixture = ResendFixture::new().await;
    fixture.exhaust_retries(50).await;
    let host = fixture.host();
    assert_eq!(fixture.count_failed(Some(&host)).await, 50);
    assert_eq!(fixture.count_failed(Some("other-host:80")).await, 0);
    let (id, total) = fixture.start(6).await;
    assert_eq!(total, 50);
    let mut per_second = Vec::new();
    for _ in 0..5 {
        per_second.push(fixture.resend_for_a_second().await);
    }
    assert_eq!(per_second, [1, 2, 4, 6, 6]);
    let (project, now) = (fixture.customer.project, fixture.service.now());
    for stopped in [ResendStop::Stopped, ResendStop::AlreadyEnded] {
        let result = resend::stop(&fixture.service.north, project, id, now).await;
        assert_eq!(result.unwrap(), stopped);
    }
    assert_eq!(fixture.resend_for_a_second().await, 0);
    assert_eq!(
        fixture.newest_progress().await,
        (ResendState::Stopped, 19, 50)
    );

    // Another resend sends the rest.
    assert_eq!(fixture.start(1000).await.1, 31);
    let mut per_second = Vec::new();
    while fixture.newest_progress().await.0 == ResendState::Running {
        per_second.push(fixture.resend_for_a_second().await);
    }
    assert_eq!(per_second, [1, 2, 4, 8, 16, 0]);
    assert_eq!(fixture.newest_progress().await, (ResendState::Done, 31, 31));
    assert_eq!(fixture.count_failed(None).await, 0);
}

#[tokio::test]
async fn a_double_click_starts_one_resend() {
    let mut fixture = ResendFixture::new().await;
    fixture.exhaust_retries(3).await;
    let (one, another) = tokio::join!(fixture.start(1), fixture.start(1));
    assert_eq!((one.1, another.1), (3, 3));
    let list = resend::list(&fixture.service.north, fixture.customer.project);
    assert_eq!(list.await.unwrap().len(), 1);
}

/// The second of two resends is queued while the attempt of the first is being recorded. It
/// cannot know the number of that attempt.
#[tokio::test]
async fn a_resend_during_the_recording_of_an_attempt_gets_the_next_number() {
    let mut fixture = ResendFixture::new().await;
    let cargo = fixture.exhaust_retries(1).await.swap_remove(0);
    assert_eq!(fixture.resend(&cargo).await, ResendResult::Queued);
    let id: CargoId = cargo.parse().unwrap();
    let mut recording = fixture.service.north.begin().await.unwrap();
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
        let pool = &fixture.service.north.pool;
        while !sqlx::query_scalar::<_, bool>(waits)
            .fetch_one(pool)
            .await
            .unwrap()
        {}
        recording.commit().await.unwrap();
    };
    let (again, ()) = tokio::join!(fixture.resend(&cargo), commit);
    assert_eq!(again, ResendResult::Queued);
    fixture.deliver_due().await;
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "callback_delivered 8 200 then"
    );
}

#[tokio::test]
async fn two_worker_sets_take_a_step_once() {
    let mut fixture = ResendFixture::new().await;
    fixture.exhaust_retries(3).await;
    fixture.start(1).await;
    let mut other = fixture.service.join_another_worker_set().await;
    let now = fixture.service.now();
    let workers = &mut fixture.service.worker_sets[0];
    let (one, another) = tokio::join!(workers.resend.step(now), other.resend.step(now));
    let mut steps = [one.unwrap(), another.unwrap()];
    steps.sort_by_key(|step| *step == StepResult::Idle);
    assert_eq!(steps, [StepResult::Processed(1), StepResult::Idle]);
}

#[tokio::test]
async fn a_resend_of_a_dead_worker_is_repeated_under_its_number() {
    let mut fixture = ResendFixture::new().await;
    let cargo = fixture.exhaust_retries(1).await.swap_remove(0);
    assert_eq!(fixture.resend(&cargo).await, ResendResult::Queued);
    // The first worker dies during its POST.
    let now = fixture.service.clock.advance(SECOND);
    let began = fixture.service.worker_sets[0]
        .deliver
        .step(now)
        .await
        .unwrap();
    assert_eq!(began, StepResult::Processed(1));
    expire_first_lease(&fixture.service).await;
    let mut successor = fixture.service.join_another_worker_set().await;
    successor.deliver.run_until_idle(now).await.unwrap();
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "callback_delivered 7 200 then"
    );

    fixture.service.worker_sets[0]
        .deliver
        .run_until_idle(now)
        .await
        .unwrap();
    assert_eq!(
        fixture.receiver.callbacks().len(),
        ATTEMPTS_PER_CALLBACK + 2
    );
    assert_eq!(
        fixture.callback_summary(&cargo).await,
        "callback_delivered 7 200 then"
    );
}
