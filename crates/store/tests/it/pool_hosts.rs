//! An address with several hosts: one that is silent, starting or refuses us never hides the
//! primary, and never takes longer than its part of the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sqlx::AssertSqlSafe;
use store::doctor;
use store::pool::ServerRole;
use store::{Error, Pool, PoolOptions, WorkloadClass};
use test_support::database::TestDatabase;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// More than all hosts of a list may take, and less than waiting for one without a limit.
const MAX_CONNECT_TIME: Duration = Duration::from_mins(1);

/// What a host answers.
#[derive(Debug, Clone, Copy)]
enum HostBehaviour {
    /// Nothing, like a frozen server: the kernel still accepts connections.
    Silent,
    /// That it speaks TLS, and nothing more.
    SilentTls,
    /// An error with this SQLSTATE.
    Refuses(&'static str),
}

struct FakeHost {
    address: String,
    accepted: Arc<AtomicUsize>,
}

impl FakeHost {
    async fn start(behaviour: HostBehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer(client, behaviour));
            }
        });
        Self { address, accepted }
    }
}

async fn answer(mut client: TcpStream, behaviour: HostBehaviour) {
    let mut request = [0; 8];
    client.read_exact(&mut request).await.unwrap();
    match behaviour {
        HostBehaviour::Silent => {}
        HostBehaviour::SilentTls => client.write_all(b"S").await.unwrap(),
        HostBehaviour::Refuses(code) => {
            // No TLS; then the startup message follows.
            client.write_all(b"N").await.unwrap();
            let length = client.read_i32().await.unwrap();
            let mut startup = vec![0; usize::try_from(length).unwrap() - 4];
            client.read_exact(&mut startup).await.unwrap();
            let fields = format!("SFATAL\0VFATAL\0C{code}\0Mrefused\0\0");
            let length = i32::try_from(fields.len()).unwrap() + 4;
            client.write_all(b"E").await.unwrap();
            client.write_i32(length).await.unwrap();
            client.write_all(fields.as_bytes()).await.unwrap();
        }
    }
    // Until the client gives up.
    let _ = client.read_to_end(&mut Vec::new()).await;
}

/// The address of the test's database, with these hosts before its own.
fn with_hosts(database: &TestDatabase, hosts: &[&FakeHost]) -> String {
    let url = database.url();
    let (scheme, rest) = url.split_once("://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let (user, host) = authority.split_once('@').unwrap_or(("postgres", authority));
    let mut all: Vec<String> = hosts.iter().map(|it| it.address.clone()).collect();
    all.push(host.to_owned());
    let all = all.join(",");
    format!("{scheme}://{user}@{all}/{path}")
}

fn pool(url: &str) -> Pool {
    let options = PoolOptions {
        connections: 1,
        application: "test".to_owned(),
        interceptor: None,
    };
    Pool::new(url, WorkloadClass::Stage, options).unwrap()
}

async fn backend(pool: &Pool) -> i32 {
    let statement = AssertSqlSafe("select pg_backend_pid()".to_owned());
    sqlx::query_scalar(statement).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn a_silent_host_is_given_up_and_not_asked_again_while_the_other_is_the_primary() {
    for behaviour in [HostBehaviour::Silent, HostBehaviour::SilentTls] {
        let database = TestDatabase::new().await;
        let silent = FakeHost::start(behaviour).await;
        let pool = pool(&with_hosts(&database, &[&silent]));
        let began = Instant::now();
        let first = backend(&pool).await;
        assert!(began.elapsed() < MAX_CONNECT_TIME, "{behaviour:?}");
        assert_eq!(silent.accepted.load(Ordering::SeqCst), 1, "{behaviour:?}");
        sqlx::query("select pg_terminate_backend($1, 5000)")
            .bind(first)
            .execute(&database.control.pool)
            .await
            .unwrap();
        // BEGIN is repeated on a new connection.
        pool.begin().await.unwrap().commit().await.unwrap();
        assert_ne!(backend(&pool).await, first);
        assert_eq!(silent.accepted.load(Ordering::SeqCst), 1, "{behaviour:?}");
    }
}

#[tokio::test]
async fn a_starting_server_is_away_and_the_next_host_is_tried() {
    // Starting, stopping, too many connections.
    for code in ["57P03", "57P01", "53300"] {
        let database = TestDatabase::new().await;
        let starting = FakeHost::start(HostBehaviour::Refuses(code)).await;
        let alone = pool(&format!("postgres://postgres@{}/any", starting.address));
        let refused = Error::from(alone.begin().await.unwrap_err());
        assert!(refused.is_unavailable(), "{code}: {refused:?}");
        let both = pool(&with_hosts(&database, &[&starting]));
        assert!(backend(&both).await > 0, "{code}");
    }
}

#[tokio::test]
async fn while_one_host_is_away_a_refusal_of_another_does_not_count() {
    let away = FakeHost::start(HostBehaviour::Refuses("57P03")).await;
    let refusing = FakeHost::start(HostBehaviour::Refuses("28000")).await;
    let url = |hosts: [&FakeHost; 2]| {
        let hosts = hosts.map(|it| it.address.as_str()).join(",");
        format!("postgres://postgres@{hosts}/any")
    };
    for hosts in [[&away, &refusing], [&refusing, &away]] {
        let failure = Error::from(pool(&url(hosts)).begin().await.unwrap_err());
        assert!(failure.is_unavailable(), "{failure:?}");
        let failure = doctor::try_connect(&url(hosts)).await.unwrap_err();
        assert!(failure.is_unavailable(), "{failure:?}");
    }
    let failure = Error::from(
        pool(&url([&refusing, &refusing]))
            .begin()
            .await
            .unwrap_err(),
    );
    assert!(!failure.is_unavailable(), "{failure:?}");
}

#[tokio::test]
async fn commands_find_the_primary_behind_a_silent_host() {
    let database = TestDatabase::new().await;
    let silent = FakeHost::start(HostBehaviour::Silent).await;
    let url = with_hosts(&database, &[&silent]);
    let began = Instant::now();
    assert_eq!(
        doctor::try_connect(&url).await.unwrap(),
        ServerRole::Primary
    );
    // `longshored migrate` connects outside the pool.
    let control = store::Control::connect_lazily(&url, 1).unwrap();
    store::migrate::control(&control).await.unwrap();
    assert!(began.elapsed() < MAX_CONNECT_TIME);
    let only_silent = format!("postgres://postgres@{}/any", silent.address);
    let failure = doctor::try_connect(&only_silent).await.unwrap_err();
    assert!(failure.is_unavailable(), "{failure:?}");
}
