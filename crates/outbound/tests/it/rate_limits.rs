//! The script on a real Redis: the same arithmetic as crate domain, and lost connections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::fixed_window::FixedWindows;
use domain::id::{Berth, OrganizationId, ProjectId};
use domain::plan_limits::{Backstop, MAX_BURST, RateLimit};
use domain::token_bucket::{BucketLevel, TokenBucket};
use outbound::rate_limits::{
    BucketRequest, BucketResponse, RateLimitRequest, RateLimitResponse, RedisCertificates,
    RedisClientCertificate, RedisRateLimiter, WindowRequest,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use test_support::certificates::TestAuthority;
use test_support::redis::RedisServer;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

const FREE_PLAN_RATE: RateLimit = RateLimit {
    burst: 100,
    per_minute: 30,
};
const START_MICROS: i64 = 1_767_225_600_000_000;

fn organization() -> OrganizationId {
    OrganizationId::new(domain::time::Timestamp::default(), berth(), rand::random())
}

fn project() -> ProjectId {
    ProjectId::new(domain::time::Timestamp::default(), berth(), rand::random())
}

fn berth() -> Berth {
    Berth::new(0).unwrap()
}

fn bucket_request(organization: OrganizationId, rate: RateLimit, wanted: u32) -> BucketRequest {
    BucketRequest {
        organization,
        rate,
        requested: wanted,
        returned: 0,
        owed: 0,
    }
}

async fn take(counters: &RedisRateLimiter, ask: BucketRequest, now: Option<i64>) -> BucketResponse {
    let asks = RateLimitRequest {
        now,
        buckets: vec![ask],
        windows: Vec::new(),
    };
    counters.apply(&asks).await.unwrap().buckets[0]
}

/// One call of a history. A number names the organization or project; waits move the clock.
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

fn rate() -> impl Strategy<Value = RateLimit> {
    let burst = prop_oneof![1..=300_u32, MAX_BURST - 300..=MAX_BURST];
    let per_minute = prop_oneof![1..=600_u32, 1..=4_000_000_000_u32];
    (burst, per_minute).prop_map(|(burst, per_minute)| RateLimit { burst, per_minute })
}

fn backstop() -> impl Strategy<Value = Backstop> {
    (1..100_u32, 1..300_u32).prop_map(|(per_minute, per_hour)| Backstop {
        per_minute,
        per_hour,
    })
}

/// Applies a history with crate domain, to compare with the script.
struct RateLimitModel {
    organizations: [OrganizationId; 3],
    projects: [ProjectId; 2],
    rates: [RateLimit; 3],
    backstop: Backstop,
    buckets: [TokenBucket; 3],
    windows: [FixedWindows; 2],
    now: i64,
}

impl RateLimitModel {
    fn new(rates: [RateLimit; 3], backstop: Backstop) -> Self {
        Self {
            organizations: [(); 3].map(|()| organization()),
            projects: [(); 2].map(|()| project()),
            rates,
            backstop,
            buckets: rates.map(|rate| TokenBucket::full(rate, START_MICROS)),
            windows: <_>::default(),
            now: START_MICROS,
        }
    }

    fn make(&mut self, call: &Call) -> (RateLimitRequest, RateLimitResponse) {
        self.now += call.wait;
        let mut asks = RateLimitRequest {
            now: Some(self.now),
            ..RateLimitRequest::default()
        };
        let (mut buckets, mut windows) = (Vec::new(), Vec::new());
        for &(index, [wanted, given_back, owed]) in &call.buckets {
            let (rate, bucket) = (self.rates[index], &mut self.buckets[index]);
            bucket.refill(rate, self.now);
            bucket.refund(rate, given_back, 1);
            bucket.debit(owed);
            let granted = bucket.take(wanted, 1);
            let level = bucket.level;
            buckets.push(BucketResponse { granted, level });
            asks.buckets.push(BucketRequest {
                organization: self.organizations[index],
                rate,
                requested: wanted,
                returned: given_back,
                owed,
            });
        }
        for &(index, wanted) in &call.windows {
            windows.push(self.windows[index].admit(self.backstop, wanted, 1, self.now));
            asks.windows.push(WindowRequest {
                project: self.projects[index],
                backstop: self.backstop,
                requested: wanted,
            });
        }
        (asks, RateLimitResponse { buckets, windows })
    }
}

#[test]
fn the_script_and_the_domain_come_to_the_same_numbers() {
    let (redis, runtime) = (RedisServer::new(), Runtime::new().unwrap());
    let counters = RedisRateLimiter::new(&redis.url()).unwrap();
    let histories = (
        [rate(), rate(), rate()],
        backstop(),
        prop::collection::vec(call(), 1..60),
    );
    let mut runner = TestRunner::default();
    let compared = runner.run(&histories, |(rates, backstop, calls)| {
        let mut model = RateLimitModel::new(rates, backstop);
        for call in calls {
            let (asks, expected) = model.make(&call);
            prop_assert_eq!(runtime.block_on(counters.apply(&asks)).unwrap(), expected);
        }
        Ok(())
    });
    compared.unwrap_or_else(|difference| panic!("{difference}\n{runner}"));
}

#[tokio::test]
async fn redis_tells_the_time_when_the_request_does_not() {
    let redis = RedisServer::new();
    let counters = RedisRateLimiter::new(&redis.url()).unwrap();
    let (quick, started) = (organization(), Instant::now());
    // One token per millisecond, so that elapsed time is visible.
    let rate = RateLimit {
        burst: 1_000,
        per_minute: 60_000,
    };
    assert_eq!(
        take(&counters, bucket_request(quick, rate, 2_000), None)
            .await
            .granted,
        1_000
    );
    let mut regained = 0;
    while regained < 50 {
        regained += take(&counters, bucket_request(quick, rate, 2_000), None)
            .await
            .granted;
        assert!(started.elapsed() < Duration::from_mins(1));
    }
    assert!(u128::from(regained) <= started.elapsed().as_millis() + 1);
}

#[tokio::test]
async fn keys_expire_when_their_bucket_is_full() {
    let redis = RedisServer::new();
    let counters = RedisRateLimiter::new(&redis.url()).unwrap();
    let organization_id = organization();
    let taken = take(
        &counters,
        bucket_request(organization_id, FREE_PLAN_RATE, 50),
        None,
    )
    .await;
    assert_eq!(
        taken.level,
        BucketLevel::full(FREE_PLAN_RATE).min(BucketLevel(50 * 60_000_000))
    );
    let key = format!("b:{}", organization_id.uuid().simple());
    let lives = |key: &str| -> i64 {
        let answer = redis.command(&format!("PTTL {key}"));
        answer.trim().trim_start_matches(':').parse().unwrap()
    };
    // Fifty tokens at thirty a minute.
    assert!((90_000..=100_001).contains(&lives(&key)));
    let returned = BucketRequest {
        returned: 60,
        ..bucket_request(organization_id, FREE_PLAN_RATE, 0)
    };
    assert_eq!(
        take(&counters, returned, None).await.level,
        BucketLevel::full(FREE_PLAN_RATE)
    );
    assert_eq!(redis.command(&format!("EXISTS {key}")).trim(), ":0");
    // With a manual clock the key outlives the refill.
    take(
        &counters,
        bucket_request(organization_id, FREE_PLAN_RATE, 1),
        Some(START_MICROS),
    )
    .await;
    assert!(lives(&key) > 3_000_000);
}

#[tokio::test]
async fn the_counters_of_an_erased_project_are_deleted() {
    let redis = RedisServer::new();
    let counters = RedisRateLimiter::new(&redis.url()).unwrap();
    let (organization, project) = (organization(), project());
    let ask = bucket_request(organization, FREE_PLAN_RATE, 1);
    take(&counters, ask, Some(START_MICROS)).await;
    redis.command(&format!("SET w:{} 1", project.uuid().simple()));
    let forgotten = counters.forget(Some(organization), &[project]).await;
    forgotten.unwrap();
    assert_eq!(redis.command("DBSIZE").trim(), ":0");
}

#[tokio::test]
async fn a_lost_bucket_is_full_again_and_the_script_is_reloaded() {
    let mut redis = RedisServer::new();
    let counters = RedisRateLimiter::new(&redis.url()).unwrap();
    let ask = bucket_request(organization(), FREE_PLAN_RATE, 100);
    assert_eq!(take(&counters, ask, Some(START_MICROS)).await.granted, 100);
    assert_eq!(take(&counters, ask, Some(START_MICROS)).await.granted, 0);
    redis.command("FLUSHALL");
    redis.command("SCRIPT FLUSH");
    assert_eq!(take(&counters, ask, Some(START_MICROS)).await.granted, 100);
    redis.kill();
    let request = RateLimitRequest {
        buckets: vec![ask],
        ..RateLimitRequest::default()
    };
    let failure = counters.apply(&request).await.unwrap_err();
    assert!(!failure.is_refusal(), "{failure:?}");
    assert!(redis.start());
    // The client does not know yet that its connection is lost.
    assert_eq!(take(&counters, ask, Some(START_MICROS)).await.granted, 100);
}

#[tokio::test]
async fn a_call_that_timed_out_is_answered_when_redis_resumes() {
    let redis = RedisServer::new();
    let counters = Arc::new(RedisRateLimiter::new(&redis.url()).unwrap());
    counters.ping().await.unwrap();
    redis.freeze();
    let asks = RateLimitRequest {
        now: Some(START_MICROS),
        buckets: vec![bucket_request(organization(), FREE_PLAN_RATE, 7)],
        windows: Vec::new(),
    };
    let mut call = Box::pin(counters.apply(&asks));
    let waited = tokio::time::timeout(Duration::from_millis(50), &mut call).await;
    assert!(waited.is_err());
    counters.disconnect();
    redis.resume();
    counters.ping().await.unwrap();
    assert_eq!(call.await.unwrap().buckets[0].granted, 7);
}

#[tokio::test]
async fn a_password_is_needed_and_never_shown() {
    let redis = RedisServer::with_arguments(&["--requirepass", "p@ss"]);
    let at = |user: &str| format!("redis://{user}127.0.0.1:{}", redis.port());
    RedisRateLimiter::new(&at(":p%40ss@"))
        .unwrap()
        .ping()
        .await
        .unwrap();
    for wrong in ["", ":hunter2@", "someuser:hunter2@"] {
        let counters = RedisRateLimiter::new(&at(wrong)).unwrap();
        let failure = counters.ping().await.unwrap_err();
        assert!(failure.is_refusal(), "{failure:?}");
        assert!(!format!("{failure:?} {counters:?}").contains("hunter2"));
    }
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TestAuthority::generate().acceptor(&["127.0.0.1"]);
    let accepting = tokio::spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        acceptor.accept(tcp).await.is_ok()
    });
    let counters = RedisRateLimiter::new(&format!("rediss://127.0.0.1:{port}")).unwrap();
    let failure = counters.ping().await.unwrap_err();
    assert!(
        format!("{failure:?}").contains("UnknownIssuer"),
        "{failure:?}"
    );
    assert!(!accepting.await.unwrap());
}

/// Ends TLS before a real Redis, as a Redis with a certificate does. Returns its port.
async fn start_tls_proxy(redis: &RedisServer, acceptor: tokio_rustls::TlsAcceptor) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, server) = (listener.local_addr().unwrap().port(), redis.port());
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that refuses the certificate ends the connection.
                let mut client = acceptor.accept(tcp).await.ok()?;
                let mut server = TcpStream::connect(("127.0.0.1", server)).await.ok()?;
                let copied = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                copied.ok()
            });
        }
    });
    port
}

#[tokio::test]
async fn h5_redis_is_reached_with_tls_and_a_client_certificate() {
    let redis = RedisServer::new();
    let authority = TestAuthority::generate();
    let port = start_tls_proxy(&redis, authority.strict_acceptor(&["localhost"])).await;
    let ping = async |host: &str, authority: &TestAuthority, client: Option<(String, String)>| {
        let certificates = RedisCertificates {
            authorities: Some(authority.pem().into_bytes()),
            client: client.map(|(certificate, key)| RedisClientCertificate {
                certificate: certificate.into_bytes(),
                key: key.into_bytes(),
            }),
        };
        let url = format!("rediss://{host}:{port}");
        let limiter = RedisRateLimiter::with_certificates(&url, certificates).unwrap();
        let pinged = limiter.ping().await;
        pinged.map_err(|failure| format!("{failure:?}"))
    };
    let client = || Some(authority.client_pem());
    assert_eq!(ping("localhost", &authority, client()).await, Ok(()));
    // Without a client certificate, with one of another authority, for another name, and from
    // another authority.
    let other = TestAuthority::generate();
    assert!(ping("localhost", &authority, None).await.is_err());
    let stranger = Some(other.client_pem());
    assert!(ping("localhost", &authority, stranger).await.is_err());
    let failure = ping("127.0.0.1", &authority, client()).await.unwrap_err();
    assert!(failure.contains("not valid for name"), "{failure}");
    let failure = ping("localhost", &other, client()).await.unwrap_err();
    assert!(failure.contains("invalid peer certificate"), "{failure}");
}

#[test]
fn h5_certificates_are_not_used_without_tls() {
    let certificates = RedisCertificates {
        authorities: Some(TestAuthority::generate().pem().into_bytes()),
        client: None,
    };
    let limiter = RedisRateLimiter::with_certificates("redis://127.0.0.1:1", certificates);
    assert!(limiter.is_err());
}
