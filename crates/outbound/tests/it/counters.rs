//! The script on a real Redis: the same arithmetic as crate domain, and what a connection survives.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::bucket::{Bucket, Level};
use domain::id::{Berth, OrganizationId, ProjectId};
use domain::limit::{Backstop, MOST, Rate};
use domain::window::Windows;
use outbound::counters::{Asks, BucketAsk, Counters, Grants, Taken, WindowAsk};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::support::certificates::Authority;
use crate::support::redis::Redis;

const FREE: Rate = Rate {
    burst: 100,
    per_minute: 30,
};
const START: i64 = 1_767_225_600_000_000;

fn organization() -> OrganizationId {
    OrganizationId::new(domain::time::Timestamp::default(), berth(), rand::random())
}

fn project() -> ProjectId {
    ProjectId::new(domain::time::Timestamp::default(), berth(), rand::random())
}

fn berth() -> Berth {
    Berth::new(0).unwrap()
}

fn wanting(organization: OrganizationId, rate: Rate, wanted: u32) -> BucketAsk {
    BucketAsk {
        organization,
        rate,
        wanted,
        given_back: 0,
        owed: 0,
    }
}

async fn take(counters: &Counters, ask: BucketAsk, now: Option<i64>) -> Taken {
    let asks = Asks {
        now,
        buckets: vec![ask],
        windows: Vec::new(),
    };
    counters.ask(&asks).await.unwrap().buckets[0]
}

/// One call of a history: who asks is a number, how late it is follows from the waits.
#[derive(Debug, Clone)]
struct Call {
    wait: i64,
    buckets: Vec<(usize, [u32; 3])>,
    windows: Vec<(usize, u32)>,
}

fn call() -> impl Strategy<Value = Call> {
    let wait = prop_oneof![
        8 => 0..30_000_000_i64,
        1 => 0..10_000_000_000_i64,
        // A clock that is set back.
        1 => -5_000_000..0_i64,
    ];
    let amounts = (0..400_u32, 0..60_u32, 0..60_u32);
    let amounts = amounts.prop_map(|(wanted, given, owed)| [wanted, given / 4, owed / 8]);
    let buckets = prop::collection::vec((0..3_usize, amounts), 0..5);
    let windows = prop::collection::vec((0..2_usize, 0..40_u32), 0..3);
    (wait, buckets, windows).prop_map(|(wait, buckets, windows)| Call {
        wait,
        buckets,
        windows,
    })
}

fn rate() -> impl Strategy<Value = Rate> {
    let burst = prop_oneof![1..=300_u32, MOST - 300..=MOST];
    let per_minute = prop_oneof![1..=600_u32, 1..=4_000_000_000_u32];
    (burst, per_minute).prop_map(|(burst, per_minute)| Rate { burst, per_minute })
}

fn backstop() -> impl Strategy<Value = Backstop> {
    (1..100_u32, 1..300_u32).prop_map(|(per_minute, per_hour)| Backstop {
        per_minute,
        per_hour,
    })
}

/// What crate domain makes of a history that the script is given too.
struct Model {
    organizations: [OrganizationId; 3],
    projects: [ProjectId; 2],
    rates: [Rate; 3],
    backstop: Backstop,
    buckets: [Bucket; 3],
    windows: [Windows; 2],
    now: i64,
}

impl Model {
    fn new(rates: [Rate; 3], backstop: Backstop) -> Self {
        Self {
            organizations: [(); 3].map(|()| organization()),
            projects: [(); 2].map(|()| project()),
            rates,
            backstop,
            buckets: rates.map(|rate| Bucket::full(rate, START)),
            windows: <_>::default(),
            now: START,
        }
    }

    fn make(&mut self, call: &Call) -> (Asks, Grants) {
        self.now += call.wait;
        let mut asks = Asks {
            now: Some(self.now),
            ..Asks::default()
        };
        let (mut buckets, mut windows) = (Vec::new(), Vec::new());
        for &(who, [wanted, given_back, owed]) in &call.buckets {
            let (rate, bucket) = (self.rates[who], &mut self.buckets[who]);
            bucket.refill(rate, self.now);
            bucket.give_back(rate, given_back, 1);
            bucket.debit(owed);
            let granted = bucket.take(wanted, 1);
            let level = bucket.level;
            buckets.push(Taken { granted, level });
            asks.buckets.push(BucketAsk {
                organization: self.organizations[who],
                rate,
                wanted,
                given_back,
                owed,
            });
        }
        for &(who, wanted) in &call.windows {
            windows.push(self.windows[who].count(self.backstop, wanted, 1, self.now));
            asks.windows.push(WindowAsk {
                project: self.projects[who],
                backstop: self.backstop,
                wanted,
            });
        }
        (asks, Grants { buckets, windows })
    }
}

#[test]
fn the_script_and_the_domain_come_to_the_same_numbers() {
    let (redis, runtime) = (Redis::new(), Runtime::new().unwrap());
    let counters = Counters::new(&redis.url()).unwrap();
    let histories = (
        [rate(), rate(), rate()],
        backstop(),
        prop::collection::vec(call(), 1..60),
    );
    let mut runner = TestRunner::default();
    let compared = runner.run(&histories, |(rates, backstop, calls)| {
        let mut model = Model::new(rates, backstop);
        for call in calls {
            let (asks, expected) = model.make(&call);
            prop_assert_eq!(runtime.block_on(counters.ask(&asks)).unwrap(), expected);
        }
        Ok(())
    });
    compared.unwrap_or_else(|difference| panic!("{difference}\n{runner}"));
}

#[tokio::test]
async fn redis_tells_the_time_when_nobody_else_does() {
    let redis = Redis::new();
    let counters = Counters::new(&redis.url()).unwrap();
    let (quick, asked) = (organization(), Instant::now());
    // A token every millisecond, so that time shows.
    let rate = Rate {
        burst: 1_000,
        per_minute: 60_000,
    };
    assert_eq!(
        take(&counters, wanting(quick, rate, 2_000), None)
            .await
            .granted,
        1_000
    );
    let mut regained = 0;
    while regained < 50 {
        regained += take(&counters, wanting(quick, rate, 2_000), None)
            .await
            .granted;
        assert!(asked.elapsed() < Duration::from_secs(10));
    }
    assert!(u128::from(regained) <= asked.elapsed().as_millis() + 1);
}

#[tokio::test]
async fn keys_go_when_they_say_nothing_any_more() {
    let redis = Redis::new();
    let counters = Counters::new(&redis.url()).unwrap();
    let someone = organization();
    let taken = take(&counters, wanting(someone, FREE, 50), None).await;
    assert_eq!(taken.level, Level::full(FREE).min(Level(50 * 60_000_000)));
    let key = format!("b:{}", someone.uuid().simple());
    let lives = |key: &str| -> i64 {
        let answer = redis.say(&format!("PTTL {key}"));
        answer.trim().trim_start_matches(':').parse().unwrap()
    };
    // Fifty at thirty a minute.
    assert!((90_000..=100_001).contains(&lives(&key)));
    let returned = BucketAsk {
        given_back: 60,
        ..wanting(someone, FREE, 0)
    };
    assert_eq!(
        take(&counters, returned, None).await.level,
        Level::full(FREE)
    );
    assert_eq!(redis.say(&format!("EXISTS {key}")).trim(), ":0");
    // By a clock that stands still the bucket is not full a while later.
    take(&counters, wanting(someone, FREE, 1), Some(START)).await;
    assert!(lives(&key) > 3_000_000);
}

#[tokio::test]
async fn what_redis_forgets_is_full_again_and_the_script_comes_back_by_itself() {
    let mut redis = Redis::new();
    let counters = Counters::new(&redis.url()).unwrap();
    let ask = wanting(organization(), FREE, 100);
    assert_eq!(take(&counters, ask, Some(START)).await.granted, 100);
    assert_eq!(take(&counters, ask, Some(START)).await.granted, 0);
    redis.say("FLUSHALL");
    redis.say("SCRIPT FLUSH");
    assert_eq!(take(&counters, ask, Some(START)).await.granted, 100);
    redis.kill();
    let away = Asks {
        buckets: vec![ask],
        ..Asks::default()
    };
    let failure = counters.ask(&away).await.unwrap_err();
    assert!(!failure.is_refusal(), "{failure:?}");
    assert!(redis.start());
    // Nobody told the client that its connection is gone.
    assert_eq!(take(&counters, ask, Some(START)).await.granted, 100);
}

#[tokio::test]
async fn a_call_that_was_given_up_is_answered_when_redis_goes_on() {
    let redis = Redis::new();
    let counters = Arc::new(Counters::new(&redis.url()).unwrap());
    counters.ping().await.unwrap();
    redis.freeze();
    let asks = Asks {
        now: Some(START),
        buckets: vec![wanting(organization(), FREE, 7)],
        windows: Vec::new(),
    };
    let mut call = Box::pin(counters.ask(&asks));
    let waited = tokio::time::timeout(Duration::from_millis(50), &mut call).await;
    assert!(waited.is_err());
    counters.disconnect();
    redis.thaw();
    counters.ping().await.unwrap();
    assert_eq!(call.await.unwrap().buckets[0].granted, 7);
}

#[tokio::test]
async fn a_password_is_needed_and_never_told() {
    let redis = Redis::with(&["--requirepass", "p@ss"]);
    let at = |user: &str| format!("redis://{user}127.0.0.1:{}", redis.port());
    Counters::new(&at(":p%40ss@"))
        .unwrap()
        .ping()
        .await
        .unwrap();
    for wrong in ["", ":hunter2@", "somebody:hunter2@"] {
        let counters = Counters::new(&at(wrong)).unwrap();
        let failure = counters.ping().await.unwrap_err();
        assert!(failure.is_refusal(), "{failure:?}");
        assert!(!format!("{failure:?} {counters:?}").contains("hunter2"));
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_not_believed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = Authority::new().acceptor(&["127.0.0.1"]);
    let accepting = tokio::spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        acceptor.accept(tcp).await.is_ok()
    });
    let counters = Counters::new(&format!("rediss://127.0.0.1:{port}")).unwrap();
    let failure = counters.ping().await.unwrap_err();
    assert!(
        format!("{failure:?}").contains("UnknownIssuer"),
        "{failure:?}"
    );
    assert!(!accepting.await.unwrap());
}
