//! What tracking says of a cargo at each moment of its life: why it waits, and when it is expected.

use std::fmt::Write as _;
use std::time::Duration;

use domain::route::{Routes, Via};
use serde_json::{Value, json};
use simulator::{Fault, FaultName, Pace, Provider};
use store::shard::lane;
use workers::Share;
use workers::stage::Stage as _;

use crate::support::jobs::{ACCOUNT, Port, model, question, route, share};
use crate::support::receiver::Receiver;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const MODEL: &str = "openai";

/// One cargo, followed step by step.
struct Walk {
    port: Port,
    receiver: Receiver,
    cargo: String,
    told: String,
}

impl Walk {
    /// Its lane was measured by a cargo before, and another job is all that the account may have.
    async fn begin() -> Self {
        let narrow = Share {
            most_enqueued_tokens: 1,
            ..share()
        };
        let port = Port::sharing(narrow).await;
        let pace = Pace {
            running_ms: 600_000,
            ..Pace::default()
        };
        port.simulator.set_pace(Provider::OpenAi, ACCOUNT, pace);
        let mut walk = Self {
            port,
            receiver: Receiver::new().await,
            cargo: String::new(),
            told: String::new(),
        };
        walk.load(Value::Null).await;
        walk.gather().await;
        walk.dispatch().await;
        walk.pass(MINUTE * 11);
        walk.collect().await;
        walk.load(Value::Null).await;
        walk.gather().await;
        walk.dispatch().await;
        let callback = json!(walk.receiver.url());
        walk.cargo = walk.load(callback).await;
        walk
    }

    async fn load(&self, callback: Value) -> String {
        let mut body = question(MODEL, "one crate", "");
        body["callback_url"] = callback;
        self.port.service.load(&self.port.customer, &body).await
    }

    fn pass(&self, by: Duration) {
        self.port.service.clock.advance(by);
        self.port.simulator.advance(by);
    }

    async fn gather(&mut self) {
        let now = self.port.service.now();
        let crew = &mut self.port.service.crews[0];
        crew.gather.step(now).await.unwrap();
    }

    async fn dispatch(&mut self) {
        let now = self.port.service.now();
        let crew = &mut self.port.service.crews[0];
        crew.dispatch.step(now).await.unwrap();
    }

    async fn collect(&mut self) {
        let now = self.port.service.now();
        let crew = &mut self.port.service.crews[0];
        crew.collect.step(now).await.unwrap();
    }

    async fn stream(&mut self) {
        let now = self.port.service.now();
        let crew = &mut self.port.service.crews[0];
        crew.stream.step(now).await.unwrap();
    }

    fn fault(&self, faults: impl IntoIterator<Item = Fault>) {
        let faults = faults.into_iter().collect();
        self.port
            .simulator
            .set_faults(Provider::OpenAi, ACCOUNT, faults);
    }

    /// A worker takes the running batch in hand, or lets it go.
    async fn claim(&self, is_claimed: bool) {
        let statement = if is_claimed {
            "update shard.batch b set node = n.node, epoch = n.epoch
             from shard.node n where n.dead_at is null and b.state = 'running'"
        } else {
            "update shard.batch set node = null, epoch = null where state = 'running'"
        };
        let changed = sqlx::raw_sql(statement);
        let changed = changed.execute(&self.port.service.north.pool).await;
        assert_eq!(changed.unwrap().rows_affected(), 1, "{}", self.told);
    }

    /// An operator pauses the model's lane, or resumes it.
    async fn pause(&self, is_paused: bool) {
        let north = &self.port.service.north;
        let lanes = lane::all(north).await.unwrap();
        let (id, _) = lanes.iter().find(|(_, lane)| lane.model == MODEL).unwrap();
        let changed = if is_paused {
            let why = Some("a holiday");
            lane::pause(north, *id, "somebody", why, self.port.service.now()).await
        } else {
            lane::resume(north, *id).await
        };
        assert!(changed.unwrap());
    }

    async fn track(&self) -> Value {
        let Port {
            service, customer, ..
        } = &self.port;
        service.track(customer, &self.cargo).await
    }

    /// Writes down what is told now.
    async fn tell(&mut self, moment: &str) {
        let record = self.track().await;
        let time = |value: &Value| {
            value
                .as_str()
                .map_or("never", |text| &text[11..19])
                .to_owned()
        };
        let now = self.port.service.now().format("%T");
        let status = record["status"].as_str().unwrap();
        writeln!(self.told, "{now} {moment}: {status}{}", record["attempt"]).unwrap();
        let waiting = &record["waiting"];
        if let Some(reason) = waiting["reason"].as_str() {
            let (since, expected) = (time(&waiting["since"]), time(&waiting["expected_at"]));
            writeln!(
                self.told,
                "  {reason}\n  since {since}, expected {expected}"
            )
            .unwrap();
        } else {
            let next = time(&record["callback"]["next_attempt_at"]);
            writeln!(self.told, "  waits for nothing, callback again {next}").unwrap();
        }
    }
}

async fn before_the_provider(walk: &mut Walk) {
    walk.tell("loaded").await;
    walk.pass(MINUTE);
    walk.tell("in the queue").await;
    walk.pause(true).await;
    walk.tell("its lane is paused").await;
    walk.pause(false).await;
    walk.gather().await;
    walk.tell("gathered").await;
    walk.dispatch().await;
    walk.tell("the account is full").await;

    walk.pass(MINUTE * 11);
    walk.collect().await;
    walk.fault([Fault::once(FaultName::Create429)]);
    walk.dispatch().await;
    walk.tell("the provider is busy").await;
    walk.fault([Fault::of(FaultName::Unauthorized)]);
    walk.pass(MINUTE * 2);
    walk.dispatch().await;
    walk.tell("the credential is refused").await;
}

async fn at_the_provider(walk: &mut Walk) {
    walk.fault([
        Fault::once(FaultName::CreateDropAfter),
        Fault::once(FaultName::ListLag).seconds(50),
        Fault::of(FaultName::Stuck),
    ]);
    walk.pass(MINUTE * 6);
    walk.dispatch().await;
    walk.tell("the answer was lost").await;
    walk.pass(SECOND * 20);
    walk.dispatch().await;
    walk.tell("not found yet").await;
    walk.pass(MINUTE);
    walk.dispatch().await;
    walk.tell("found").await;
    walk.claim(true).await;
    walk.tell("asked for").await;
    walk.claim(false).await;
    walk.pass(MINUTE * 12);
    walk.collect().await;
    walk.tell("overdue").await;
}

async fn on_another_route(walk: &mut Walk) {
    let mut sold = model(MODEL, route(MODEL, Via::Batch));
    let server = route("server", Via::Realtime);
    sold.routes = Routes::new(sold.routes.preferred("north").clone(), vec![server]);
    walk.port.service.sell(sold);
    walk.pass(MINUTE * 60 * 20);
    let now = walk.port.service.now();
    walk.port.service.crews[0].sweep.step(now).await.unwrap();
    walk.tell("short of time").await;
    walk.collect().await;
    walk.pass(MINUTE * 2);
    walk.collect().await;
    walk.tell("on another route").await;

    let dead = vec![Fault::of(FaultName::Dead)];
    walk.port
        .simulator
        .set_faults(Provider::Server, ACCOUNT, dead);
    walk.gather().await;
    walk.dispatch().await;
    walk.tell("with the server").await;
    walk.stream().await;
    walk.tell("the server is dead").await;
    walk.port.simulator.clear_faults(Provider::Server, ACCOUNT);
    walk.pass(SECOND * 10);
    walk.receiver.answer([500]);
    walk.stream().await;
    let now = walk.port.service.now();
    let crew = &mut walk.port.service.crews[0];
    crew.deliver.settle(now).await.unwrap();
    walk.tell("the receiver failed").await;
}

#[tokio::test]
async fn a_cargo_says_at_each_moment_why_it_waits() {
    let mut walk = Walk::begin().await;
    before_the_provider(&mut walk).await;
    at_the_provider(&mut walk).await;
    on_another_route(&mut walk).await;
    insta::assert_snapshot!(walk.told, @"
    00:11:00 loaded: PENDING1
      waiting to be gathered into a batch
      since 00:11:00, expected 00:22:00
    00:12:00 in the queue: PENDING1
      waiting to be gathered into a batch
      since 00:11:00, expected 00:23:00
    00:12:00 its lane is paused: PENDING1
      paused by the operator: a holiday
      since 00:12:00, expected never
    00:12:00 gathered: BATCHED1
      its batch is waiting to be submitted
      since 00:12:00, expected 00:23:00
    00:12:00 the account is full: BATCHED1
      the provider's account is full: its batch follows when there is room
      since 00:12:00, expected 00:23:30
    00:23:00 the provider is busy: BATCHED1
      the provider takes nothing right now: its batch is tried again soon
      since 00:12:00, expected 00:34:23
    00:25:00 the credential is refused: BATCHED1
      its provider is paused: the credential is not accepted; the operator can mend it
      since 00:25:00, expected never
    00:31:00 the answer was lost: BATCHED1
      whether its batch reached the provider is being looked into
      since 00:31:00, expected 00:42:18
    00:31:20 not found yet: BATCHED1
      whether its batch reached the provider is being looked into
      since 00:31:00, expected 00:42:18
    00:32:20 found: PROCESSING1
      the provider is working on its batch
      since 00:32:20, expected 00:43:38
    00:32:20 asked for: PROCESSING1
      the results of its batch are being asked for and stored
      since 00:32:20, expected 00:43:38
    00:44:20 overdue: PROCESSING1
      the provider is working on its batch, longer than it took lately
      since 00:32:20, expected 00:45:00
    20:44:20 short of time: PROCESSING1
      its batch took too long and is being cancelled: it then takes another way
      since 20:44:20, expected never
    20:46:20 on another route: PENDING2
      its batch ended without an answer to it: waiting to be gathered into another
      since 20:46:20, expected never
    20:46:20 with the server: PROCESSING2
      the model's server is working on it
      since 20:46:20, expected never
    20:46:20 the server is dead: PROCESSING2
      the model's server does not answer right now: it is asked again soon
      since 20:46:20, expected 20:46:25
    20:46:30 the receiver failed: COMPLETED2
      waits for nothing, callback again 20:47:00
    ");
}
