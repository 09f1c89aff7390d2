//! The waiting status in tracking: why a cargo waits, and when its outcome is expected.

use std::fmt::Write as _;
use std::time::Duration;

use domain::route::{InferenceMode, Routes};
use serde_json::{Value, json};
use simulator::{FaultName, SimulatedFault, SimulatedPace, SimulatedProvider};
use store::shard::lane;
use test_support::callback_receiver::CallbackReceiver;
use workers::AccountShare;
use workers::stage::Stage as _;

use crate::support::simulated_providers::{
    PRIMARY_ACCOUNT, ProviderFixture, default_share, provider_chat_request, route, routed_model,
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const MODEL: &str = "openai";

/// One cargo, with a log of what tracking says at each step.
struct CargoTimeline {
    fixture: ProviderFixture,
    receiver: CallbackReceiver,
    cargo: String,
    log: String,
}

impl CargoTimeline {
    /// An earlier cargo has measured the lane, and another job fills the account.
    async fn start() -> Self {
        let narrow = AccountShare {
            max_enqueued_tokens: 1,
            ..default_share()
        };
        let fixture = ProviderFixture::start_with_share(narrow).await;
        let pace = SimulatedPace {
            running_ms: 600_000,
            ..SimulatedPace::default()
        };
        fixture
            .simulator
            .set_pace(SimulatedProvider::OpenAi, PRIMARY_ACCOUNT, pace);
        let mut timeline = Self {
            fixture,
            receiver: CallbackReceiver::new().await,
            cargo: String::new(),
            log: String::new(),
        };
        timeline.load(Value::Null).await;
        timeline.gather().await;
        timeline.dispatch().await;
        timeline.advance(MINUTE * 11);
        timeline.collect().await;
        timeline.load(Value::Null).await;
        timeline.gather().await;
        timeline.dispatch().await;
        let callback = json!(timeline.receiver.url());
        timeline.cargo = timeline.load(callback).await;
        timeline
    }

    async fn load(&self, callback: Value) -> String {
        let mut body = provider_chat_request(MODEL, "one crate", "");
        body["callback_url"] = callback;
        self.fixture
            .service
            .load(&self.fixture.customer, &body)
            .await
    }

    fn advance(&self, by: Duration) {
        self.fixture.service.clock.advance(by);
        self.fixture.simulator.advance(by);
    }

    async fn gather(&mut self) {
        let now = self.fixture.service.now();
        let workers = &mut self.fixture.service.worker_sets[0];
        workers.gather.step(now).await.unwrap();
    }

    async fn dispatch(&mut self) {
        let now = self.fixture.service.now();
        let workers = &mut self.fixture.service.worker_sets[0];
        workers.dispatch.step(now).await.unwrap();
    }

    async fn collect(&mut self) {
        let now = self.fixture.service.now();
        let workers = &mut self.fixture.service.worker_sets[0];
        workers.collect.step(now).await.unwrap();
    }

    async fn stream(&mut self) {
        let now = self.fixture.service.now();
        let workers = &mut self.fixture.service.worker_sets[0];
        workers.stream.step(now).await.unwrap();
    }

    fn set_faults(&self, faults: impl IntoIterator<Item = SimulatedFault>) {
        let faults = faults.into_iter().collect();
        self.fixture
            .simulator
            .set_faults(SimulatedProvider::OpenAi, PRIMARY_ACCOUNT, faults);
    }

    /// Claims the running batch for a worker, or releases it.
    async fn set_claimed(&self, is_claimed: bool) {
        let statement = if is_claimed {
            "update shard.batch b set node = n.node, epoch = n.epoch
             from shard.node n where n.dead_at is null and b.state = 'running'"
        } else {
            "update shard.batch set node = null, epoch = null where state = 'running'"
        };
        let changed = sqlx::raw_sql(statement);
        let changed = changed.execute(&self.fixture.service.north.pool).await;
        assert_eq!(changed.unwrap().rows_affected(), 1, "{}", self.log);
    }

    /// Pauses the model's lane as an operator, or resumes it.
    async fn set_paused(&self, is_paused: bool) {
        let north = &self.fixture.service.north;
        let lanes = lane::list(north).await.unwrap();
        let (id, _) = lanes.iter().find(|(_, lane)| lane.model == MODEL).unwrap();
        let changed = if is_paused {
            let why = Some("a holiday");
            lane::pause(north, *id, "operator", why, self.fixture.service.now()).await
        } else {
            lane::resume(north, *id).await
        };
        assert!(changed.unwrap());
    }

    async fn track(&self) -> Value {
        let ProviderFixture {
            service, customer, ..
        } = &self.fixture;
        service.track(customer, &self.cargo).await
    }

    /// Adds the current waiting status to the log.
    async fn record(&mut self, moment: &str) {
        let record = self.track().await;
        let time = |value: &Value| {
            value
                .as_str()
                .map_or("never", |text| &text[11..19])
                .to_owned()
        };
        let now = self.fixture.service.now().format("%T");
        let status = record["status"].as_str().unwrap();
        writeln!(self.log, "{now} {moment}: {status}{}", record["attempt"]).unwrap();
        let waiting = &record["waiting"];
        if let (Some(code), Some(reason)) = (waiting["code"].as_str(), waiting["reason"].as_str()) {
            let (since, expected) = (time(&waiting["since"]), time(&waiting["expected_at"]));
            writeln!(self.log, "  {code}: {reason}").unwrap();
            writeln!(self.log, "  since {since}, expected {expected}").unwrap();
        } else {
            let next = time(&record["callback"]["next_attempt_at"]);
            writeln!(self.log, "  waits for nothing, callback again {next}").unwrap();
        }
    }
}

async fn run_before_provider(timeline: &mut CargoTimeline) {
    timeline.record("loaded").await;
    timeline.advance(MINUTE);
    timeline.record("in the queue").await;
    timeline.set_paused(true).await;
    timeline.record("its lane is paused").await;
    timeline.set_paused(false).await;
    timeline.gather().await;
    timeline.record("gathered").await;
    timeline.dispatch().await;
    timeline.record("the account is full").await;

    timeline.advance(MINUTE * 11);
    timeline.collect().await;
    timeline.set_faults([SimulatedFault::once(FaultName::Create429)]);
    timeline.dispatch().await;
    timeline.record("the provider is busy").await;
    timeline.set_faults([SimulatedFault::new(FaultName::Unauthorized)]);
    timeline.advance(MINUTE * 2);
    timeline.dispatch().await;
    timeline.record("the credential is refused").await;
}

async fn run_at_provider(timeline: &mut CargoTimeline) {
    timeline.set_faults([
        SimulatedFault::once(FaultName::CreateDropAfter),
        SimulatedFault::once(FaultName::ListLag).seconds(50),
        SimulatedFault::new(FaultName::Stuck),
    ]);
    timeline.advance(MINUTE * 6);
    timeline.dispatch().await;
    timeline.record("the answer was lost").await;
    timeline.advance(SECOND * 20);
    timeline.dispatch().await;
    timeline.record("not found yet").await;
    timeline.advance(MINUTE);
    timeline.dispatch().await;
    timeline.record("found").await;
    timeline.set_claimed(true).await;
    timeline.record("polled").await;
    timeline.set_claimed(false).await;
    timeline.advance(MINUTE * 12);
    timeline.collect().await;
    timeline.record("overdue").await;
}

async fn run_on_fallback_route(timeline: &mut CargoTimeline) {
    let mut sold = routed_model(MODEL, route(MODEL, InferenceMode::Batch));
    let server = route("server", InferenceMode::Realtime);
    sold.routes = Routes::new(sold.routes.preferred("north").clone(), vec![server]);
    timeline.fixture.service.add_model(sold);
    timeline.advance(MINUTE * 60 * 20);
    let now = timeline.fixture.service.now();
    timeline.fixture.service.worker_sets[0]
        .sweep
        .step(now)
        .await
        .unwrap();
    timeline.record("short of time").await;
    timeline.collect().await;
    timeline.advance(MINUTE * 2);
    timeline.collect().await;
    timeline.record("on another route").await;

    let dead = vec![SimulatedFault::new(FaultName::Dead)];
    timeline
        .fixture
        .simulator
        .set_faults(SimulatedProvider::Server, PRIMARY_ACCOUNT, dead);
    timeline.gather().await;
    timeline.dispatch().await;
    timeline.record("with the server").await;
    timeline.stream().await;
    timeline.record("the server is dead").await;
    timeline
        .fixture
        .simulator
        .clear_faults(SimulatedProvider::Server, PRIMARY_ACCOUNT);
    timeline.advance(SECOND * 10);
    timeline.receiver.queue_statuses([500]);
    timeline.stream().await;
    let now = timeline.fixture.service.now();
    let workers = &mut timeline.fixture.service.worker_sets[0];
    workers.deliver.run_until_idle(now).await.unwrap();
    timeline.record("the receiver failed").await;
}

#[tokio::test]
async fn tracking_says_why_a_cargo_waits() {
    let mut timeline = CargoTimeline::start().await;
    run_before_provider(&mut timeline).await;
    run_at_provider(&mut timeline).await;
    run_on_fallback_route(&mut timeline).await;
    insta::assert_snapshot!(timeline.log, @"
    00:11:00 loaded: PENDING1
      waiting_for_batch: waiting to be gathered into a batch
      since 00:11:00, expected 00:22:00
    00:12:00 in the queue: PENDING1
      waiting_for_batch: waiting to be gathered into a batch
      since 00:11:00, expected 00:23:00
    00:12:00 its lane is paused: PENDING1
      paused_by_operator: paused by the operator: a holiday
      since 00:12:00, expected never
    00:12:00 gathered: BATCHED1
      waiting_for_submission: its batch is waiting to be submitted
      since 00:12:00, expected 00:23:00
    00:12:00 the account is full: BATCHED1
      account_full: the provider account is full; its batch is submitted when there is room
      since 00:12:00, expected 00:23:30
    00:23:00 the provider is busy: BATCHED1
      provider_unavailable: the provider accepts no batches right now; retrying soon
      since 00:12:00, expected 00:34:23
    00:25:00 the credential is refused: BATCHED1
      provider_paused: the provider is paused: the provider rejected the credential; the operator can resolve this
      since 00:25:00, expected never
    00:31:00 the answer was lost: BATCHED1
      submission_unconfirmed: checking whether the provider received its batch
      since 00:31:00, expected 00:42:18
    00:31:20 not found yet: BATCHED1
      submission_unconfirmed: checking whether the provider received its batch
      since 00:31:00, expected 00:42:18
    00:32:20 found: PROCESSING1
      provider_processing: the provider is working on its batch
      since 00:32:20, expected 00:43:38
    00:32:20 polled: PROCESSING1
      storing_results: the results of its batch are being fetched and stored
      since 00:32:20, expected 00:43:38
    00:44:20 overdue: PROCESSING1
      provider_slow: the provider is working on its batch, longer than usual
      since 00:32:20, expected 00:45:00
    20:44:20 short of time: PROCESSING1
      batch_cancelling: its batch took too long and is being cancelled; it is then sent by another route
      since 20:44:20, expected never
    20:46:20 on another route: PENDING2
      requeued: its batch ended without an answer; waiting to be gathered into another batch
      since 20:46:20, expected never
    20:46:20 with the server: PROCESSING2
      server_processing: the model's server is working on it
      since 20:46:20, expected never
    20:46:20 the server is dead: PROCESSING2
      server_unavailable: the model's server does not answer right now; retrying soon
      since 20:46:20, expected 20:46:25
    20:46:30 the receiver failed: COMPLETED2
      waits for nothing, callback again 20:47:00
    ");
}
