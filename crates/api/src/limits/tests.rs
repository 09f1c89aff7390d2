//! The limiter in pieces: turns of a group, what is pending, and the desk without a Redis.

use std::sync::Arc;
use std::time::Duration;

use domain::bucket::{Level, REQUEST};
use domain::id::{Berth, OrganizationId};
use domain::limit::{Backstop, Rate};
use domain::time::Timestamp;
use outbound::counters::{Asks, BucketAsk, Grants, Taken};
use store::Control;
use store::control::node::Node;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ask::Group;
use super::pending::Pending;
use super::returns::Origin;
use super::*;

const FREE: Rate = Rate {
    burst: 100,
    per_minute: 30,
};
const BACKSTOP: Backstop = Backstop {
    per_minute: 10,
    per_hour: 10,
};

fn organization(number: u64) -> OrganizationId {
    OrganizationId::new(Timestamp::default(), Berth::new(0).unwrap(), number)
}

fn level(requests: u64) -> Level {
    Level(requests * REQUEST)
}

fn taken(granted: u32, left: u64) -> Taken {
    Taken {
        granted,
        level: level(left),
    }
}

#[test]
fn grants_go_to_who_came_first_and_each_hears_of_their_own_turn() {
    let (mut group, returns) = (Group::default(), Arc::new(Returns::default()));
    let mut answers = Vec::new();
    for turn in 0..6 {
        let (answer, answered) = oneshot::channel();
        group.push(Ask::Take {
            organization: organization(turn % 2),
            rate: FREE,
            answer,
        });
        answers.push(answered);
    }
    let asks = group.asks(None, BACKSTOP);
    let wanted: Vec<_> = asks.buckets.iter().map(|ask| ask.wanted).collect();
    assert_eq!(wanted, [3, 3]);
    let grants = Grants {
        buckets: vec![taken(2, 0), taken(3, 7)],
        windows: Vec::new(),
    };
    group.answer(&grants, Origin::Redis, 1, &returns);
    let told = |answered: &mut oneshot::Receiver<_>| match answered.try_recv().unwrap() {
        Ok::<Pass, Empty>(pass) => {
            let left = pass.standing().level.requests(1);
            pass.spend();
            Ok(left)
        }
        Err(Empty(standing)) => Err(standing.retry_after()),
    };
    let told: Vec<_> = answers.iter_mut().map(told).collect();
    assert_eq!(told, [Ok(1), Ok(9), Ok(0), Ok(8), Err(2), Ok(7)]);
    assert_eq!(returns.take(), []);
}

#[test]
fn a_pass_comes_back_unless_it_is_spent() {
    let (mut group, returns) = (Group::default(), Arc::new(Returns::default()));
    let mut answers = Vec::new();
    for _ in 0..3 {
        let (answer, answered) = oneshot::channel();
        group.push(Ask::Take {
            organization: organization(1),
            rate: FREE,
            answer,
        });
        answers.push(answered);
    }
    // One hangs up before the answer, one drops the pass, one spends it.
    drop(answers.pop());
    let grants = Grants {
        buckets: vec![taken(3, 97)],
        windows: Vec::new(),
    };
    group.answer(&grants, Origin::Here, 1, &returns);
    drop(answers.pop().unwrap().try_recv().unwrap().unwrap());
    let spent = answers.pop().unwrap().try_recv().unwrap().unwrap();
    spent.spend();
    let returned = returns.take();
    assert_eq!((returned[0].count, returned[0].origin), (2, Origin::Here));
    assert_eq!(returns.take(), []);
}

fn told(pending: &mut Pending, asks: &[BucketAsk]) -> Vec<(u32, u32)> {
    let mut asks = Asks {
        buckets: asks.to_vec(),
        ..Asks::default()
    };
    pending.tell(&mut asks);
    let told = asks.buckets.iter();
    told.map(|ask| (ask.given_back, ask.owed)).collect()
}

fn wanting(number: u64) -> BucketAsk {
    BucketAsk {
        organization: organization(number),
        rate: FREE,
        wanted: 1,
        given_back: 0,
        owed: 0,
    }
}

#[test]
fn what_is_pending_is_told_once() {
    let mut pending = Pending::default();
    pending.owe(organization(1), FREE, 5);
    pending.give_back(organization(1), FREE, 2);
    pending.owe(organization(2), FREE, 7);
    // Taken here and not spent: the second more than is owed, so the rest is given back.
    pending.spare(organization(1), FREE, 1);
    pending.spare(organization(2), FREE, 9);
    let asks = [wanting(1), wanting(3)];
    assert_eq!(told(&mut pending, &asks), [(2, 4), (0, 0), (2, 0)]);
    assert!(pending.is_empty());
    assert_eq!(told(&mut pending, &asks), [(0, 0), (0, 0)]);
}

#[test]
fn a_question_that_was_not_heard_is_pending_again_and_one_heard_late_grants_nothing() {
    let mut pending = Pending::default();
    let asks = Asks {
        buckets: vec![BucketAsk {
            given_back: 1,
            owed: 6,
            ..wanting(1)
        }],
        ..Asks::default()
    };
    pending.take_back(&asks);
    assert_eq!(told(&mut pending, &[wanting(1)]), [(1, 6)]);
    let grants = Grants {
        buckets: vec![taken(4, 90)],
        windows: Vec::new(),
    };
    pending.heard_late(&asks, &grants);
    assert_eq!(told(&mut pending, &[wanting(1)]), [(4, 0)]);
}

fn limiter() -> Limiter {
    let nowhere = Control::connect_lazily("postgres://127.0.0.1:1/nowhere", 1).unwrap();
    let node = Node {
        id: <_>::default(),
        name: "test".to_owned(),
    };
    let options = LimiterOptions {
        backstop: BACKSTOP,
        budget: Duration::from_millis(20),
        clock: None,
    };
    Limiter::new(None, Nodes::new(nowhere, node), options)
}

#[tokio::test]
async fn without_redis_and_control_one_node_has_the_whole_limit() {
    let (limiter, tracker, stop) = (limiter(), TaskTracker::new(), CancellationToken::new());
    limiter.spawn(&tracker, &stop);
    let mut passes = Vec::new();
    let empty = loop {
        match limiter.take(organization(1), FREE).await {
            Ok(pass) => passes.push(pass),
            Err(empty) => break empty,
        }
    };
    // However slow this machine is, what was refilled meanwhile is far less than a burst.
    assert!((100..120).contains(&passes.len()));
    assert!(matches!(empty.0.retry_after(), 1 | 2));
    passes.truncate(10);
    assert!(limiter.take(organization(1), FREE).await.is_ok());
    stop.cancel();
    tracker.close();
    tracker.wait().await;
    // Whoever asks at the very end is held up by nobody.
    assert!(limiter.take(organization(1), FREE).await.is_ok());
}
