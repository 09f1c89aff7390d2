//! Checks of a PostgreSQL server: reachable, durable, and with this program's schema.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::error_chain;
use domain::time::Timestamp;
use store::Pool;
use store::doctor::{ConnectionFailureKind, DatabaseServerInfo, OpenTransaction};
use store::migrate::{self, SchemaName};
use store::pool::ServerRole;
use store::shard::bucket_marker;
use store::shard::callback_settings;
use store::shard::ledger_audit;
use store::shard::partition::{self, DaysReady};
use store::shard::recovery::find_pause;
use store::{Error, Shard};

use crate::clock;
use crate::databases::{self, Stores};
use crate::doctor::DependencyFindings;
use crate::doctor::berths;
use crate::doctor::durability;
use crate::doctor::encryption;
use crate::doctor::ledger;
use crate::doctor::recovery;
use crate::doctor::schema;
use crate::settings::Settings;
use crate::settings::address::DatabaseUrl;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The oldest PostgreSQL that Longshore is tested with.
const MIN_SERVER_VERSION: i32 = 150_000;
/// Seconds. With a larger difference, logs of different machines are hard to compare.
const MAX_CLOCK_DIFFERENCE_SECONDS: f64 = 1.0;
/// An older transaction keeps dead rows in the queues.
const MAX_TRANSACTION_AGE: TimeDelta = TimeDelta::minutes(5);
/// Sweep creates partitions for thirty days ahead. With fewer than these, it has failed for weeks.
const DAYS_AHEAD_WARNING: u64 = 5;
const DAYS_AHEAD_ERROR: u64 = 2;

/// The time of control's server; none if it did not answer.
pub(super) async fn check_control(
    found: &mut DependencyFindings,
    settings: &Settings,
    stores: &Stores,
) -> Option<Timestamp> {
    let now = check_server(
        found,
        settings,
        &settings.databases.control,
        &stores.control.pool,
    )
    .await?;
    if schema::check_state(found, migrate::control_state(&stores.control).await) {
        schema::examine_steps(found, &stores.control.pool, SchemaName::Control).await;
        berths::examine(found, stores).await;
    }
    Some(now)
}

/// `control` is the time of control's server, if it answered.
pub(super) async fn check_shard(
    found: &mut DependencyFindings,
    settings: &Settings,
    shard: &Shard,
    url: &DatabaseUrl,
    control: Option<Timestamp>,
) {
    let now = if *url == settings.databases.control {
        found.ok("server", "same database as control");
        control
    } else {
        check_server(found, settings, url, &shard.pool).await
    };
    let Some(now) = now else { return };
    if schema::check_state(found, migrate::shard_state(shard).await) {
        schema::examine_steps(found, &shard.pool, SchemaName::Shard).await;
        check_partitions(found, partition::read_days_ready(shard, now).await);
        check_signing(
            found,
            settings,
            callback_settings::count_signed(shard).await,
        );
        recovery::check_pause(found, find_pause(shard).await);
        recovery::check_removal(found, bucket_marker::read_state(shard).await);
        ledger::check_ledger(found, ledger_audit::read_proof_state(shard).await, now);
    }
}

/// The checks of every server; returns its time if it answered.
async fn check_server(
    found: &mut DependencyFindings,
    settings: &Settings,
    url: &DatabaseUrl,
    pool: &Pool,
) -> Option<Timestamp> {
    encryption::check_database(found, url);
    let began = Instant::now();
    match tokio::time::timeout(CONNECT_TIMEOUT, store::doctor::try_connect(url.reveal())).await {
        Ok(Ok(ServerRole::Primary)) => {}
        Ok(Ok(ServerRole::Standby)) => {
            report_standby(found, url);
            return None;
        }
        Ok(Err(error)) => {
            report_unreachable(found, url, &error);
            return None;
        }
        Err(_) => {
            let text = format!(
                "{url} does not answer within {} s",
                CONNECT_TIMEOUT.as_secs()
            );
            found.wrong(
                "reachable",
                &text,
                "check the network and the firewall between this machine and the server",
            );
            return None;
        }
    }
    let connect_time = began.elapsed();
    let before = clock::host_now();
    let answer = match store::doctor::read_server_info(pool).await {
        Ok(answer) => answer,
        Err(error) => {
            report_unreachable(found, url, &error);
            return None;
        }
    };
    let middle = before + (clock::host_now() - before) / 2;
    let milliseconds = connect_time.as_secs_f64() * 1000.0;
    found.ok(
        "reachable",
        &format!("{url} answers; connecting takes {milliseconds:.1} ms"),
    );
    check_server_settings(found, &answer, middle);
    durability::check_server(found, &settings.values, pool).await;
    check_connections(found, settings, url, answer.max_connections);
    match store::doctor::list_open_transactions(pool, answer.now - MAX_TRANSACTION_AGE).await {
        Ok(open) => check_transactions(found, &open, answer.now),
        Err(error) => found.warning(
            "transactions",
            &error_chain::chain(&error),
            "run doctor again",
        ),
    }
    Some(answer.now)
}

pub(super) fn report_standby(found: &mut DependencyFindings, url: &DatabaseUrl) {
    let text = format!("{url}: no host is a primary; a standby answers, and accepts no writes");
    let fix = "wait for the end of a failover, promote a standby, or list the host of the primary \
               in the address";
    found.wrong("role", &text, fix);
}

fn report_unreachable(found: &mut DependencyFindings, url: &DatabaseUrl, error: &Error) {
    let text = format!("{url}: {}", error_chain::chain(error));
    let fix = match store::doctor::classify_connection_failure(error) {
        ConnectionFailureKind::Unreachable => {
            "start PostgreSQL there, or correct the address in the settings"
        }
        ConnectionFailureKind::Credentials => {
            "correct the user or password in the settings, or pg_hba.conf on the server"
        }
        ConnectionFailureKind::NoDatabase => {
            "create the database (createdb), or correct its name in the settings"
        }
        ConnectionFailureKind::TooManyConnections => {
            "raise max_connections on the server, or lower SVC_DATABASE_CONNECTIONS"
        }
        ConnectionFailureKind::Other => {
            "correct the address in the settings; `longshored config` shows them"
        }
    };
    found.wrong("reachable", &text, fix);
}

/// Checks the server's own settings, and its clock against this host's.
pub(super) fn check_server_settings(
    found: &mut DependencyFindings,
    server: &DatabaseServerInfo,
    host: Timestamp,
) {
    let (major, minor) = (server.version / 10_000, server.version % 10_000);
    let version = format!("PostgreSQL {major}.{minor}");
    if server.version >= MIN_SERVER_VERSION {
        found.ok("version", &version);
    } else {
        found.wrong("version", &version, "upgrade to PostgreSQL 15 or newer");
    }
    let difference = (server.now - host).as_seconds_f64();
    if difference.abs() <= MAX_CLOCK_DIFFERENCE_SECONDS {
        found.ok(
            "clock",
            &format!("{difference:+.3} s compared with this machine"),
        );
    } else {
        let text =
            format!("{difference:+.3} s compared with this machine; the server's time is used");
        found.warning(
            "clock",
            &text,
            "run a time service (chrony, systemd-timesyncd) on both machines",
        );
    }
}

/// Control and shards on the same server share its connections.
pub(super) fn check_connections(
    found: &mut DependencyFindings,
    settings: &Settings,
    url: &DatabaseUrl,
    max: i32,
) {
    let check = "connections";
    let databases = &settings.databases;
    let is_here = |other: &DatabaseUrl| other.server() == url.server();
    let shards = databases.shards.iter().filter(|it| is_here(&it.url));
    let shards = u32::try_from(shards.count()).unwrap_or(u32::MAX);
    let pool = settings.values.database_connections;
    let extra = u32::try_from(store::EXTRA_CONNECTIONS).unwrap_or(u32::MAX);
    let control = if is_here(&databases.control) {
        pool.saturating_add(databases::DASHBOARD_CONNECTIONS)
    } else {
        0
    };
    let per_process = shards
        .saturating_mul(pool.saturating_add(extra))
        .saturating_add(control);
    let max = u32::try_from(max).unwrap_or_default();
    let processes = max / per_process.max(1);
    let text = format!(
        "the server allows {max}; each process uses up to {per_process}; \
         processes that fit: {processes}"
    );
    if processes == 0 {
        let fix = "raise max_connections on the server, or lower SVC_DATABASE_CONNECTIONS";
        found.wrong(check, &text, fix);
    } else {
        found.ok(check, &text);
    }
}

pub(super) fn check_transactions(
    found: &mut DependencyFindings,
    open: &[OpenTransaction],
    now: Timestamp,
) {
    let check = "transactions";
    let Some(oldest) = open.first() else {
        return found.ok(check, "none open for more than 5 minutes");
    };
    let minutes = (now - oldest.since).num_minutes();
    let text = format!(
        "{} open for more than 5 minutes; the oldest is {} ({}), open for {minutes} minutes: \
         vacuum cannot remove dead rows meanwhile",
        open.len(),
        oldest.name,
        oldest.state
    );
    let fix = match oldest.name.strip_prefix("process ") {
        Some(pid) => format!("end it in its client, or run: select pg_terminate_backend({pid});"),
        None => "finish it with COMMIT PREPARED or ROLLBACK PREPARED".to_owned(),
    };
    found.warning(check, &text, &fix);
}

/// Without the root, signed callbacks are not sent.
fn check_signing(found: &mut DependencyFindings, settings: &Settings, signed: Result<i64, Error>) {
    match signed {
        Ok(count) if count > 0 && settings.values.signing_root.is_none() => {
            let text = format!("SVC_SIGNING_ROOT is not set, projects with signing on: {count}");
            let fix = "set SVC_SIGNING_ROOT to the value from which their secrets were derived";
            found.wrong("signing", &text, fix);
        }
        Ok(_) => {}
        Err(error) => found.warning("signing", &error_chain::chain(&error), "run doctor again"),
    }
}

pub(super) fn check_partitions(found: &mut DependencyFindings, days: Result<DaysReady, Error>) {
    let check = "partitions";
    let fix = "run `longshored work`, which creates them, \
               or `longshored migrate` to create them now";
    let days = match days {
        Ok(days) => days,
        Err(error) => return found.wrong(check, &error_chain::chain(&error), fix),
    };
    if !days.today {
        let text = "today has no partitions: the next load has to create them";
        return found.wrong(check, text, fix);
    }
    let text = format!("days ahead: {}", days.ahead);
    let log = "sweep fails to create partitions: read the log of `longshored work`; \
               meanwhile run `longshored migrate`";
    match days.ahead {
        0..DAYS_AHEAD_ERROR => found.wrong(check, &text, fix),
        DAYS_AHEAD_ERROR..DAYS_AHEAD_WARNING => found.warning(check, &text, log),
        _ => found.ok(check, &text),
    }
}
