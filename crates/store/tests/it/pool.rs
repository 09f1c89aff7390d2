//! The connection pool: connections are clean, have deadlines, and are closed when in doubt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnectOptions;
use store::pool::intercept::{InterceptAction, InterceptedStatement, Interceptor};
use store::{Pool, PoolOptions, WorkloadClass};
use test_support::database::TestDatabase;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

fn options(application: &str) -> PoolOptions {
    PoolOptions {
        connections: 1,
        application: application.to_owned(),
        interceptor: None,
    }
}

fn pool(database: &TestDatabase, class: WorkloadClass) -> Pool {
    Pool::new(&database.url(), class, options("test")).unwrap()
}

async fn number(pool: &Pool, statement: &str) -> i32 {
    let statement = AssertSqlSafe(statement.to_owned());
    sqlx::query_scalar(statement).fetch_one(pool).await.unwrap()
}

async fn text(pool: &Pool, statement: &str) -> String {
    let statement = AssertSqlSafe(statement.to_owned());
    sqlx::query_scalar(statement).fetch_one(pool).await.unwrap()
}

const SELECT_BACKEND_PID: &str = "select pg_backend_pid()";

/// How many sessions of the tested pool are inside a transaction.
async fn in_transaction(database: &TestDatabase) -> i64 {
    sqlx::query_scalar(
        "select count(*) from pg_stat_activity
         where application_name = 'test' and state like 'idle in transaction%'
             and datname = current_database()",
    )
    .fetch_one(&database.control.pool)
    .await
    .unwrap()
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_whole_answer() {
    let database = TestDatabase::new().await;
    let pool = pool(&database, WorkloadClass::Stage);
    let first = number(&pool, SELECT_BACKEND_PID).await;
    let tx = pool.begin().await.unwrap();
    tx.commit().await.unwrap();
    let tx = pool.begin().await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(number(&pool, SELECT_BACKEND_PID).await, first);
    let refused = sqlx::query("select 1 / 0").execute(&pool).await;
    assert!(refused.is_err());
    assert_eq!(number(&pool, SELECT_BACKEND_PID).await, first);
}

#[tokio::test]
async fn a_transaction_that_is_dropped_closes_its_connection() {
    let database = TestDatabase::new().await;
    let pool = pool(&database, WorkloadClass::Stage);
    let first = number(&pool, SELECT_BACKEND_PID).await;
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("create table left_over ()")
        .execute(&mut *tx)
        .await
        .unwrap();
    drop(tx);
    assert_ne!(number(&pool, SELECT_BACKEND_PID).await, first);
    assert_eq!(
        text(
            &pool,
            "select coalesce(to_regclass('left_over')::text, 'none')"
        )
        .await,
        "none"
    );
    assert_eq!(in_transaction(&database).await, 0);
}

#[tokio::test]
async fn a_begin_that_is_cancelled_leaves_no_transaction_behind() {
    let database = TestDatabase::new().await;
    let relay = HeldRelay::in_front_of(&database).await;
    let pool = Pool::new(&relay.url, WorkloadClass::Stage, options("test")).unwrap();
    relay.open.send_replace(true);
    let first = number(&pool, SELECT_BACKEND_PID).await;
    relay.open.send_replace(false);
    // BEGIN is sent, and its answer is not awaited.
    let mut beginning = Box::pin(pool.begin());
    assert!((&mut beginning).now_or_never().is_none());
    drop(beginning);
    relay.open.send_replace(true);
    assert_ne!(number(&pool, SELECT_BACKEND_PID).await, first);
    assert_eq!(in_transaction(&database).await, 0);
}

#[tokio::test]
async fn a_failed_transaction_is_never_committed() {
    let database = TestDatabase::new().await;
    let pool = pool(&database, WorkloadClass::Stage);
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("create table first_half ()")
        .execute(&mut *tx)
        .await
        .unwrap();
    assert!(sqlx::query("select 1 / 0").execute(&mut *tx).await.is_err());
    assert!(tx.commit().await.is_err());
    assert_eq!(
        text(
            &pool,
            "select coalesce(to_regclass('first_half')::text, 'none')"
        )
        .await,
        "none"
    );
}

#[tokio::test]
async fn limits_follow_the_class_of_work() {
    let database = TestDatabase::new().await;
    let stage = pool(&database, WorkloadClass::Stage);
    let (read, background) = (
        stage.with_class(WorkloadClass::Read),
        stage.with_class(WorkloadClass::Background),
    );
    let settings = "select concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout'),
        current_setting('idle_in_transaction_session_timeout'), current_setting('default_transaction_read_only'),
        current_setting('client_connection_check_interval'))";
    assert_eq!(text(&stage, settings).await, "8s 4s 2500ms off 2s");
    assert_eq!(text(&read, settings).await, "4s 1s 4s on 2s");
    assert_eq!(text(&background, settings).await, "30s 2s 8s off 2s");
    assert_eq!(text(&stage, settings).await, "8s 4s 2500ms off 2s");
    let written = sqlx::query("create table written ()").execute(&read).await;
    assert!(store::Error::from(written.unwrap_err()).is_unavailable());
}

#[tokio::test]
async fn a_silent_server_is_abandoned_at_the_deadline() {
    let database = TestDatabase::new().await;
    let lease = pool(&database, WorkloadClass::Lease);
    let mut session = lease.acquire().await.unwrap();
    // Otherwise the server's timeout would come first.
    sqlx::query("set statement_timeout = 0")
        .execute(&mut session)
        .await
        .unwrap();
    let began = std::time::Instant::now();
    let silent = sqlx::query("select pg_sleep(30)")
        .execute(&mut session)
        .await;
    assert!(store::Error::from(silent.unwrap_err()).is_unavailable());
    // The server would answer after 30 s.
    assert!(began.elapsed() < Duration::from_secs(20));
    drop(session);
    assert!(number(&lease, SELECT_BACKEND_PID).await > 0);
}

#[tokio::test]
async fn a_session_that_was_ended_is_replaced() {
    let database = TestDatabase::new().await;
    let pool = pool(&database, WorkloadClass::Stage);
    let first = number(&pool, SELECT_BACKEND_PID).await;
    sqlx::query("select pg_terminate_backend($1, 5000)")
        .bind(first)
        .execute(&database.control.pool)
        .await
        .unwrap();
    // BEGIN changes nothing, so the pool repeats it on another connection.
    let tx = pool.begin().await.unwrap();
    tx.commit().await.unwrap();
    assert_ne!(number(&pool, SELECT_BACKEND_PID).await, first);
}

#[tokio::test]
async fn the_second_host_serves_when_the_first_is_unreachable() {
    let database = TestDatabase::new().await;
    let url = database.url();
    let (scheme, rest) = url.split_once("://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let (user, host) = authority.split_once('@').unwrap_or(("postgres", authority));
    let both = format!("{scheme}://{user}@127.0.0.1:1,{host}/{path}");
    let pool = Pool::new(&both, WorkloadClass::Stage, options("test")).unwrap();
    assert!(number(&pool, SELECT_BACKEND_PID).await > 0);
}

/// Forwards everything to the server, and its answers only while it is open.
struct HeldRelay {
    url: String,
    accepted: watch::Receiver<usize>,
    open: watch::Sender<bool>,
}

impl HeldRelay {
    async fn in_front_of(database: &TestDatabase) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = database.url();
        let port = url.parse::<PgConnectOptions>().unwrap().get_port();
        let (before, path) = url.rsplit_once(&format!(":{port}/")).unwrap();
        let own_port = listener.local_addr().unwrap().port();
        let url = format!("{before}:{own_port}/{path}");
        let (open, is_open) = watch::channel(false);
        let (count, accepted) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                count.send_modify(|accepted| *accepted += 1);
                let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                tokio::spawn(forward(client, server, is_open.clone()));
            }
        });
        Self {
            url,
            accepted,
            open,
        }
    }

    async fn wait_for_connections(&mut self, count: usize) {
        self.accepted.wait_for(|it| *it == count).await.unwrap();
    }
}

async fn forward(mut client: TcpStream, mut server: TcpStream, mut open: watch::Receiver<bool>) {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let answers = async {
        let mut chunk = vec![0; 8192];
        while let Ok(length @ 1..) = from_server.read(&mut chunk).await {
            open.wait_for(|open| *open).await.unwrap();
            to_client.write_all(&chunk[..length]).await.unwrap();
        }
    };
    tokio::select! {
        _ = copy(&mut from_client, &mut to_server) => {}
        () = answers => {}
    }
}

#[tokio::test]
async fn a_connection_that_comes_too_late_serves_the_next_caller() {
    let database = TestDatabase::new().await;
    let mut relay = HeldRelay::in_front_of(&database).await;
    let pool = Pool::new(&relay.url, WorkloadClass::Stage, options("test")).unwrap();
    tokio::select! {
        _ = pool.acquire() => panic!("connected through a closed relay"),
        () = relay.wait_for_connections(1) => {}
    }
    relay.open.send_replace(true);
    assert!(number(&pool, SELECT_BACKEND_PID).await > 0);
    assert_eq!(*relay.accepted.borrow(), 1);
}

#[tokio::test]
async fn connections_to_a_distant_server_are_opened_at_the_same_time() {
    let database = TestDatabase::new().await;
    let mut relay = HeldRelay::in_front_of(&database).await;
    let options = PoolOptions {
        connections: 2,
        ..options("test")
    };
    let pool = Pool::new(&relay.url, WorkloadClass::Stage, options).unwrap();
    let both = async { tokio::join!(pool.acquire(), pool.acquire()) };
    let opening = async {
        relay.wait_for_connections(2).await;
        relay.open.send_replace(true);
    };
    let ((first, second), ()) = tokio::join!(both, opening);
    assert!(first.is_ok() && second.is_ok());
}

/// Loses the answer of the next COMMIT.
#[derive(Debug, Default)]
struct LostCommit(AtomicBool);

#[async_trait::async_trait]
impl Interceptor for LostCommit {
    async fn before(&self, statement: InterceptedStatement) -> InterceptAction {
        if statement == InterceptedStatement::Commit && self.0.swap(false, Ordering::SeqCst) {
            return InterceptAction::LoseAnswer;
        }
        InterceptAction::Run
    }
}

#[tokio::test]
async fn a_lost_answer_is_an_error_and_the_statement_has_run() {
    let database = TestDatabase::new().await;
    let lost = Arc::new(LostCommit::default());
    let options = PoolOptions {
        interceptor: Some(lost.clone()),
        ..options("test")
    };
    let pool = Pool::new(&database.url(), WorkloadClass::Stage, options).unwrap();
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("create table committed ()")
        .execute(&mut *tx)
        .await
        .unwrap();
    lost.0.store(true, Ordering::SeqCst);
    assert!(tx.commit().await.is_err());
    assert_eq!(
        text(&pool, "select to_regclass('committed')::text").await,
        "committed"
    );
}
