//! Leases: a claim waits for fencing that is under way, and a lease ends at its deadline.

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::time::Timestamp;
use simulator::SimulatedProvider;
use sqlx::types::Uuid;
use store::pool::intercept::{InterceptAction, InterceptedStatement, Interceptor};
use store::{PoolOptions, Shard};
use test_support::callback_receiver::CallbackReceiver;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use workers::WorkerSet;
use workers::lease::Lease;
use workers::stage::Stage;

use crate::support::encryption::environment_master_keys;
use crate::support::http::chat_request;
use crate::support::simulated_providers::{PRIMARY_ACCOUNT, ProviderFixture};
use crate::support::{MOCK_DELAY, TestService};

const SHORT_LEASE: Duration = Duration::from_secs(1);
/// Long enough to gather and to claim, and shorter than a transaction may be idle.
const FROZEN_LEASE: Duration = Duration::from_secs(2);
const CALLBACK_URL: &str = "https://example.com/hook";

/// Takes a step of a stage while its node is being fenced. Its claim must wait for the end of that.
async fn step_during_fencing(shard: &Shard, stage: &mut impl Stage, now: Timestamp) {
    let name = stage.name();
    let mut fencing = shard.begin().await.unwrap();
    sqlx::raw_sql("select from shard.node for update")
        .execute(&mut *fencing)
        .await
        .unwrap();
    let mut step = pin!(stage.step(now));
    tokio::select! {
        ended = &mut step => panic!("{name} claimed while its node was fenced: {ended:?}"),
        () = wait_for_blocked_claim(shard) => {}
    }
    fencing.rollback().await.unwrap();
    step.await.unwrap();
}

async fn wait_for_blocked_claim(shard: &Shard) {
    let waits = "select exists (select from pg_stat_activity
                     where datname = current_database() and wait_event_type = 'Lock'
                         and query like 'with me as materialized%')";
    while !sqlx::query_scalar::<_, bool>(waits)
        .fetch_one(&shard.pool)
        .await
        .unwrap()
    {}
}

/// Collect has claimed the callbacks for its own process. Now another one can claim them.
async fn free_deliveries(shard: &Shard) {
    let free = "update shard.delivery set node = null, epoch = null";
    let freed = sqlx::raw_sql(free).execute(&shard.pool).await.unwrap();
    assert_eq!(freed.rows_affected(), 1);
}

#[tokio::test]
async fn every_claim_waits_for_fencing_that_is_under_way() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let request = chat_request("Wait for it.", Some(receiver.url()));
    let cargo = service.load(&customer, &request).await;
    let (north, now) = (service.north.clone(), service.now());
    step_during_fencing(&north, &mut service.worker_sets[0].gather, now).await;
    step_during_fencing(&north, &mut service.worker_sets[0].dispatch, now).await;
    let now = service.clock.advance(MOCK_DELAY);
    step_during_fencing(&north, &mut service.worker_sets[0].collect, now).await;
    free_deliveries(&north).await;
    let mut other = service.join_another_worker_set().await;
    step_during_fencing(&north, &mut other.deliver, now).await;
    other.deliver.run_until_idle(now).await.unwrap();
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
}

/// Withholds the answers to all statements until a lease has ended.
#[derive(Debug, Default)]
struct WithheldAnswers(OnceLock<CancellationToken>);

#[async_trait::async_trait]
impl Interceptor for WithheldAnswers {
    async fn before(&self, _: InterceptedStatement) -> InterceptAction {
        InterceptAction::Run
    }

    async fn after(&self, _: InterceptedStatement) {
        if let Some(ended) = self.0.get() {
            ended.cancelled().await;
        }
    }
}

#[tokio::test]
async fn a_lease_ends_at_its_deadline_while_a_renewal_waits_for_its_answer() {
    let service = TestService::new().await;
    let withheld = Arc::new(WithheldAnswers::default());
    let options = PoolOptions {
        connections: 4,
        application: "withheld".to_owned(),
        interceptor: Some(withheld.clone()),
    };
    let url = service.north_url();
    let shard = Shard::new("north", &url, &options, service.clock.clone()).unwrap();
    let name = "withheld".to_owned();
    let lease = Lease::join(Arc::new(shard), Uuid::from_u128(7), name, true, SHORT_LEASE);
    let lease = lease.await.unwrap();
    let (claim, lost) = lease.claim_and_token();
    withheld.0.set(lost.clone()).unwrap();
    let stop = CancellationToken::new();
    lease.spawn(&TaskTracker::new(), &stop);
    // The renewal has its answer only after this.
    lost.cancelled().await;
    // The work of the claim was aborted, so an answer that comes late does not keep the claim.
    while lease.claim_and_token().0 == claim {
        yield_now().await;
    }
    stop.cancel();
}

/// Freezes a worker when it has claimed a row, until its lease is over.
#[derive(Debug)]
struct FrozenAfterClaim {
    observer: Arc<Shard>,
    count_claimed: &'static str,
    until: OnceLock<Instant>,
}

#[async_trait::async_trait]
impl Interceptor for FrozenAfterClaim {
    async fn before(&self, _: InterceptedStatement) -> InterceptAction {
        InterceptAction::Run
    }

    async fn after(&self, _: InterceptedStatement) {
        let Some(until) = self.until.get() else {
            return;
        };
        let claimed = sqlx::query_scalar::<_, i64>(self.count_claimed);
        if claimed.fetch_one(&self.observer.pool).await.unwrap() > 0 {
            sleep_until(*until).await;
        }
    }
}

/// Joins a worker that freezes. It has no heartbeat: no timer tells it that its lease is over.
async fn join_frozen_worker(service: &TestService, count_claimed: &'static str) -> WorkerSet {
    let freezing = Arc::new(FrozenAfterClaim {
        observer: service.north.clone(),
        count_claimed,
        until: OnceLock::new(),
    });
    let options = PoolOptions {
        connections: 4,
        application: "frozen".to_owned(),
        interceptor: Some(freezing.clone()),
    };
    let url = service.north_url();
    let shard = Shard::new("north", &url, &options, service.clock.clone()).unwrap();
    let shard = Arc::new(shard.with_master_keys(environment_master_keys()));
    let joining = service.join_worker_set_with(|deps| {
        deps.shard = shard;
        deps.options.lease_duration = FROZEN_LEASE;
    });
    let workers = joining.await;
    freezing.until.set(Instant::now() + FROZEN_LEASE).unwrap();
    workers
}

#[tokio::test]
async fn a_worker_that_was_frozen_creates_no_job_after_its_deadline() {
    let fixture = ProviderFixture::start().await;
    let provider = SimulatedProvider::Anthropic;
    fixture.load(provider, "frozen", CALLBACK_URL).await;
    let claimed = "select count(*) from shard.batch where node is not null";
    let mut workers = join_frozen_worker(&fixture.service, claimed).await;
    let now = fixture.service.now();
    workers.gather.step(now).await.unwrap();
    let ended = workers.dispatch.step(now).await;
    assert!(matches!(ended, Err(store::Error::Fenced)), "{ended:?}");
    assert!(fixture.simulator.jobs(provider, PRIMARY_ACCOUNT).is_empty());
}

#[tokio::test]
async fn a_worker_that_was_frozen_sends_no_callback_after_its_deadline() {
    let mut service = TestService::new().await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let request = chat_request("Frozen.", Some(receiver.url()));
    service.load(&customer, &request).await;
    let now = service.clock.advance(MOCK_DELAY);
    let workers = &mut service.worker_sets[0];
    workers.gather.step(now).await.unwrap();
    workers.dispatch.step(now).await.unwrap();
    workers.collect.step(now).await.unwrap();
    free_deliveries(&service.north).await;
    let claimed = "select count(*) from shard.delivery where node is not null";
    let mut workers = join_frozen_worker(&service, claimed).await;
    workers.deliver.run_until_idle(now).await.unwrap();
    assert!(receiver.callbacks().is_empty());
    let count = sqlx::query_scalar::<_, i64>(claimed).fetch_one(&service.north.pool);
    assert_eq!(count.await.unwrap(), 1);
}
