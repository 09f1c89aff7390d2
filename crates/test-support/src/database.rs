//! A database per test: control and a shard, copied from a migrated template.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::time::Clock as _;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use store::migrate::SchemaName;
use store::{Control, Shard, migrate};

use crate::clock::ManualClock;
use crate::environment::required_variable;

/// `postgres://user@host:port/any`
const SERVER_VARIABLE: &str = "LONGSHORE_TEST_DATABASE_URL";
const CONNECTIONS: u32 = 4;
/// A copy with fewer partitions takes half the time. Loads and sweeps create those that they need.
const DROP_LATER_PARTITIONS: &str = "do $$ declare later regclass; begin
    for later in select inhrelid::regclass from (
        select inhrelid, row_number() over (partition by inhparent order by relname) as day
        from pg_inherits join pg_class on pg_class.oid = inhrelid where relkind = 'r'
    ) days where day > 5
    loop execute format('drop table %s', later); end loop;
end $$";

/// The database is dropped at the end of the test.
#[derive(Debug)]
pub struct TestDatabase {
    pub control: Control,
    pub shard: Arc<Shard>,
    pub clock: Arc<ManualClock>,
    name: String,
}

impl TestDatabase {
    pub async fn new() -> Self {
        let name = next_name();
        let template = template().await;
        run(
            &server_url("postgres"),
            &[
                &format!("drop database if exists {name} with (force)"),
                &format!("create database {name} template {template}"),
            ],
        )
        .await;
        Self::open(name)
    }

    /// A database without any schema.
    pub async fn empty() -> Self {
        let name = next_name();
        run(
            &server_url("postgres"),
            &[
                &format!("drop database if exists {name} with (force)"),
                &format!("create database {name}"),
            ],
        )
        .await;
        Self::open(name)
    }

    pub fn url(&self) -> String {
        server_url(&self.name)
    }

    fn open(name: String) -> Self {
        let clock = Arc::new(ManualClock::default());
        let url = server_url(&name);
        let its_clock = Arc::<ManualClock>::clone(&clock);
        let shard = Shard::connect_lazily("main", &url, CONNECTIONS, its_clock).unwrap();
        let control = Control::connect_lazily(&url, CONNECTIONS).unwrap();
        Self {
            control,
            shard: Arc::new(shard),
            clock,
            name,
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let statement = format!("drop database if exists {} with (force)", self.name);
        // The runtime of the test may be shutting down.
        let drop_it = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime
                .unwrap()
                .block_on(run(&server_url("postgres"), &[&statement]));
        };
        let _ = std::thread::spawn(drop_it).join();
    }
}

fn next_name() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::SeqCst);
    format!("longshore_test_{}_{number}", std::process::id())
}

/// The name of a database with all migrations. The first test creates it.
async fn template() -> String {
    let name = format!("longshore_template_{}", migrate::fingerprint());
    let mut server_connection = PgConnection::connect(&server_url("postgres"))
        .await
        .unwrap();
    // Each test may run in a separate process.
    server_connection
        .execute("select pg_advisory_lock(7766554433)")
        .await
        .unwrap();
    let found = format!("select 1 from pg_database where datname = '{name}'");
    let found = server_connection
        .fetch_optional(AssertSqlSafe(found))
        .await
        .unwrap();
    if found.is_none() {
        let unfinished = format!("{name}_unfinished");
        run(
            &server_url("postgres"),
            &[
                &format!("drop database if exists {unfinished} with (force)"),
                &format!("create database {unfinished}"),
            ],
        )
        .await;
        let made = TestDatabase::open(unfinished.clone());
        migrate::control(&made.control).await.unwrap();
        migrate::shard(&made.shard, made.clock.now()).await.unwrap();
        for (pool, schema) in [
            (&made.control.pool, SchemaName::Control),
            (&made.shard.pool, SchemaName::Shard),
        ] {
            migrate::finish_steps(pool, schema, &|_| ()).await.unwrap();
        }
        // Copies keep the planner statistics of the template.
        run(&made.url(), &[DROP_LATER_PARTITIONS, "analyze"]).await;
        made.control.pool.close();
        made.shard.pool.close();
        run(
            &server_url("postgres"),
            &[&format!("alter database {unfinished} rename to {name}")],
        )
        .await;
    }
    server_connection.close().await.unwrap();
    name
}

async fn run(url: &str, statements: &[&str]) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    for statement in statements {
        connection
            .execute(AssertSqlSafe((*statement).to_owned()))
            .await
            .unwrap();
    }
    connection.close().await.unwrap();
}

pub fn server_url(database: &str) -> String {
    let url = required_variable(SERVER_VARIABLE);
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{database}")
}
