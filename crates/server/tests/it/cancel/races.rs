//! A cancellation between the statements of gather and of dispatch.

use std::time::Duration;

use domain::id::{BatchId, CargoId};
use domain::lane::LaneId;
use domain::token_buckets::TokenBuckets;
use store::shard::batch_submission::{self, PackedRecord, PackedSubmission};
use store::shard::cancel::{CancelResult, cancel_one};
use store::shard::node::Claim;
use store::shard::outcome::{self, ExpectedCargoState, NewOutcome};
use store::shard::waiting;
use tokio::time::timeout;
use workers::stage::Stage as _;

use super::{answered, assert_cancelled, assert_settled, cancel};
use crate::support::claims::claim_gathered;
use crate::support::credit::{ONE_DOLLAR, model_chat_request};
use crate::support::{Customer, TestService};

const CLAIM: Claim = Claim {
    node: uuid::Uuid::nil(),
    epoch: 1,
};

async fn load_three() -> (TestService, Customer, Vec<String>) {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let mut cargo = Vec::new();
    for text in ["one", "two", "three"] {
        let body = model_chat_request("priced", text, 64);
        cargo.push(service.load(&customer, &body).await);
    }
    (service, customer, cargo)
}

fn parse(cargo: &[String]) -> Vec<CargoId> {
    cargo.iter().map(|id| id.parse().unwrap()).collect()
}

/// The lane of a waiting cargo.
async fn find_lane(service: &TestService, cargo: CargoId) -> LaneId {
    let lane = "select lane from shard.waiting where cargo = $1";
    let lane = sqlx::query_scalar::<_, i32>(lane).bind(cargo.uuid());
    LaneId(lane.fetch_one(&service.north.pool).await.unwrap())
}

#[tokio::test]
async fn gather_leaves_out_what_was_cancelled_after_it_was_picked() {
    let (service, customer, cargo) = load_three().await;
    let (ids, now) = (parse(&cargo), service.now());
    let lane = find_lane(&service, ids[0]).await;
    let picked: Vec<_> = ids.iter().map(|id| (customer.organization, *id)).collect();
    let mut tx = service.north.begin().await.unwrap();
    let answer = cancel(&service, &customer, &cargo[1]).await;
    assert_eq!(answer, answered("COMPLETED", "cancelled"));
    let batch = BatchId::new(now, ids[0].berth(), 1);
    let gathered = waiting::gather(&mut tx, lane, batch, &picked, now).await;
    assert_eq!(gathered.unwrap(), 2);
    tx.commit().await.unwrap();
    let stored = "select cargo from shard.batch where id = $1";
    let stored = sqlx::query_scalar::<_, Vec<uuid::Uuid>>(stored).bind(batch.uuid());
    let stored = stored.fetch_one(&service.north.pool).await.unwrap();
    assert_eq!(stored, [ids[0].uuid(), ids[2].uuid()]);
}

#[tokio::test]
async fn there_is_no_batch_if_everything_was_cancelled_after_it_was_picked() {
    let (service, customer, cargo) = load_three().await;
    let (ids, now) = (parse(&cargo), service.now());
    let lane = find_lane(&service, ids[0]).await;
    let picked: Vec<_> = ids.iter().map(|id| (customer.organization, *id)).collect();
    for one in &cargo {
        cancel(&service, &customer, one).await;
    }
    let mut tx = service.north.begin().await.unwrap();
    let batch = BatchId::new(now, ids[0].berth(), 1);
    let gathered = waiting::gather(&mut tx, lane, batch, &picked, now).await;
    assert_eq!(gathered.unwrap(), 0);
    tx.commit().await.unwrap();
    let batches = sqlx::query_scalar::<_, i64>("select count(*) from shard.batch");
    let batches = batches.fetch_one(&service.north.pool).await.unwrap();
    assert_eq!(batches, 0);
    assert_settled(&service, &customer).await;
}

#[tokio::test]
async fn a_cancellation_waits_for_gather_and_then_finds_the_batch() {
    let (service, customer, cargo) = load_three().await;
    let (ids, now) = (parse(&cargo), service.now());
    let lane = find_lane(&service, ids[0]).await;
    let picked: Vec<_> = ids.iter().map(|id| (customer.organization, *id)).collect();
    let mut tx = service.north.begin().await.unwrap();
    let batch = BatchId::new(now, ids[0].berth(), 1);
    let gathered = waiting::gather(&mut tx, lane, batch, &picked, now).await;
    assert_eq!(gathered.unwrap(), 3);
    let cancelling = cancel_one(&service.north, customer.project, ids[0], now);
    let committing = async {
        wait_for_locks(&service, 1).await;
        tx.commit().await.unwrap();
    };
    let (cancelled, ()) = tokio::join!(cancelling, committing);
    let cancelled = cancelled.unwrap().unwrap();
    assert_eq!(cancelled.result, CancelResult::Cancelled);
    assert_cancelled(&service.track(&customer, &cargo[0]).await);
    let place = "select batch from shard.cargo where id = $1";
    let place = sqlx::query_scalar::<_, Option<uuid::Uuid>>(place).bind(ids[0].uuid());
    let place = place.fetch_one(&service.north.pool).await.unwrap();
    assert_eq!(place, Some(batch.uuid()));
}

/// Waits until so many sessions wait for the locks of others.
async fn wait_for_locks(service: &TestService, count: i64) {
    let waiting = "select count(*) from pg_stat_activity
                   where datname = current_database() and wait_event_type = 'Lock'";
    loop {
        let waiting = sqlx::query_scalar::<_, i64>(waiting);
        if waiting.fetch_one(&service.north.pool).await.unwrap() >= count {
            return;
        }
        tokio::time::sleep(super::POLL_INTERVAL).await;
    }
}

#[tokio::test]
async fn cancellations_that_wait_for_gather_keep_no_outcome_waiting() {
    let (service, customer, cargo) = load_three().await;
    let (ids, now) = (parse(&cargo), service.now());
    let lane = find_lane(&service, ids[0]).await;
    let picked: Vec<_> = ids[..2]
        .iter()
        .map(|id| (customer.organization, *id))
        .collect();
    let mut tx = service.north.begin().await.unwrap();
    let batch = BatchId::new(now, ids[0].berth(), 1);
    let gathered = waiting::gather(&mut tx, lane, batch, &picked, now).await;
    assert_eq!(gathered.unwrap(), 2);
    let failed = NewOutcome {
        cargo: ids[2],
        project: customer.project,
        attempt: 1,
        success: false,
        failure_code: None,
        body: store::body::pack(b"storm"),
        usage: TokenBuckets::default(),
        cost: None,
        served: None,
        realtime: None,
        claim_delivery: false,
    };
    let recording = async {
        wait_for_locks(&service, 2).await;
        let expected = ExpectedCargoState::Waiting;
        let stored = outcome::record(&service.north, expected, CLAIM, vec![failed], now);
        // Shorter than a transaction may be idle.
        let stored = timeout(Duration::from_secs(2), stored).await;
        tx.commit().await.unwrap();
        stored
    };
    let cancelling = |id| cancel_one(&service.north, customer.project, id, now);
    let (first, second, stored) = tokio::join!(cancelling(ids[0]), cancelling(ids[1]), recording);
    assert_eq!(stored.unwrap().unwrap(), [ids[2]]);
    for cancelled in [first, second] {
        let result = cancelled.unwrap().unwrap().result;
        assert_eq!(result, CancelResult::Cancelled);
    }
}

#[tokio::test]
async fn the_journal_refuses_cargo_that_was_cancelled_while_it_was_packed() {
    let (mut service, customer, cargo) = load_three().await;
    let (ids, now) = (parse(&cargo), service.now());
    service.worker_sets[0].gather.step(now).await.unwrap();
    let claimed = claim_gathered(&service.north, CLAIM, 1, now).await.unwrap();
    let batch = claimed[0].id;
    let packed = PackedSubmission {
        encoder: 1,
        digest: vec![7],
        tokens: 10,
    };
    // A claimed batch of which nothing is recorded can still lose cargo.
    let answer = cancel(&service, &customer, &cargo[1]).await;
    assert_eq!(answer, answered("COMPLETED", "cancelled"));
    let shard = &service.north;
    let order = claimed[0].cargo.as_slice();
    let recorded = batch_submission::record_packed(shard, batch, CLAIM, order, &packed).await;
    assert_eq!(recorded.unwrap(), PackedRecord::CargoCancelled);
    // Now it is closed, so that one caller cannot delay the others of its batch.
    let answer = cancel(&service, &customer, &cargo[2]).await;
    assert_eq!(answer, answered("BATCHED", "too_late"));
    let order = [ids[0], ids[2]];
    let recorded = batch_submission::record_packed(shard, batch, CLAIM, &order, &packed).await;
    assert_eq!(recorded.unwrap(), PackedRecord::Recorded);
    let record = batch_submission::read(shard, batch).await.unwrap();
    assert_eq!(record.packed, Some(packed));
}

#[tokio::test]
async fn two_cancellations_at_once_complete_it_once() {
    let (service, customer, cargo) = load_three().await;
    let (ids, now) = (parse(&cargo), service.now());
    let cancelling = || cancel_one(&service.north, customer.project, ids[0], now);
    let (first, second) = tokio::join!(cancelling(), cancelling());
    let answers = [first.unwrap().unwrap(), second.unwrap().unwrap()];
    assert!(
        answers
            .iter()
            .all(|it| it.result == CancelResult::Cancelled)
    );
    assert_eq!(answers.iter().filter(|it| it.is_new).count(), 1);
    let outcomes = sqlx::query_scalar::<_, i64>("select count(*) from shard.outcome");
    let outcomes = outcomes.fetch_one(&service.north.pool).await.unwrap();
    assert_eq!(outcomes, 1);
}
