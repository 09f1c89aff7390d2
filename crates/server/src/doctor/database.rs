//! A PostgreSQL: can it be reached, does it keep what it says it keeps, is its schema ours?

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Pool;
use store::doctor::{OpenTransaction, Server, Trouble};
use store::migrate::{self, SchemaState};
use store::shard::audit::{self, Fault};
use store::shard::bucket_marker::{self, MarkerState};
use store::shard::partition::{self, DaysReady};
use store::{Error, Shard};

use crate::clock;
use crate::doctor::Findings;
use crate::doctor::berths;
use crate::failure;
use crate::settings::Settings;
use crate::settings::address::DatabaseUrl;
use crate::wiring::Stores;

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The oldest PostgreSQL that we are tested with.
const OLDEST: i32 = 150_000;
/// Clocks further apart than this confuse people who compare logs.
const APART: f64 = 1.0;
/// A transaction open for longer keeps dead rows in the queues.
const LONG: TimeDelta = TimeDelta::minutes(5);
/// How far back the ledger is looked at; `longshored work` does it all the time.
const LATELY: TimeDelta = TimeDelta::minutes(10);
/// Sweep makes thirty days ahead. Fewer than these, and it has failed for weeks.
const DAYS_AHEAD_WARNING: u64 = 5;
const DAYS_AHEAD_WRONG: u64 = 2;

/// The time of control's server; nothing when it did not answer. Its schema fits, or there is a finding.
pub(super) async fn control(
    found: &mut Findings,
    settings: &Settings,
    stores: &Stores,
) -> Option<Timestamp> {
    let now = server(
        found,
        settings,
        &settings.databases.control,
        &stores.control.pool,
    )
    .await?;
    if schema(found, migrate::control_state(&stores.control).await) {
        berths::examine(found, stores).await;
    }
    Some(now)
}

/// `control` is what came of asking control's server.
pub(super) async fn shard(
    found: &mut Findings,
    settings: &Settings,
    (shard, url): (&Shard, &DatabaseUrl),
    control: Option<Timestamp>,
) {
    let now = if *url == settings.databases.control {
        found.ok("server", "the same as control's");
        control
    } else {
        server(found, settings, url, &shard.pool).await
    };
    let Some(now) = now else { return };
    if schema(found, migrate::shard_state(shard).await) {
        partitions(found, partition::days_ready(shard, now).await);
        removal(found, bucket_marker::state(shard).await);
        ledger(found, audit::recent(shard, now - LATELY).await);
    }
}

/// What every server is asked; its time when it answered.
async fn server(
    found: &mut Findings,
    settings: &Settings,
    url: &DatabaseUrl,
    pool: &Pool,
) -> Option<Timestamp> {
    let began = Instant::now();
    match tokio::time::timeout(PATIENCE, store::doctor::knock(url.reveal())).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            unreachable(found, url, &error);
            return None;
        }
        Err(_) => {
            let text = format!("{url} did not answer within {} s", PATIENCE.as_secs());
            found.wrong(
                "reachable",
                &text,
                "look at the network and firewall between here and there",
            );
            return None;
        }
    }
    let connected = began.elapsed();
    let before = clock::host_now();
    let answer = match store::doctor::server(pool).await {
        Ok(answer) => answer,
        Err(error) => {
            unreachable(found, url, &error);
            return None;
        }
    };
    let middle = before + (clock::host_now() - before) / 2;
    let took = connected.as_secs_f64() * 1000.0;
    found.ok(
        "reachable",
        &format!("{url} answers; connecting takes {took:.1} ms"),
    );
    judge(found, &answer, middle);
    connections(found, settings, url, answer.most_connections);
    match store::doctor::open_transactions(pool, answer.now - LONG).await {
        Ok(open) => transactions(found, &open, answer.now),
        Err(error) => found.warning("transactions", &failure::chain(&error), "ask again"),
    }
    Some(answer.now)
}

fn unreachable(found: &mut Findings, url: &DatabaseUrl, error: &Error) {
    let text = format!("{url}: {}", failure::chain(error));
    let mend = match store::doctor::trouble(error) {
        Trouble::Unreachable => "start PostgreSQL there, or correct the address in the settings",
        Trouble::Credentials => {
            "correct the user or password in the settings, or pg_hba.conf there"
        }
        Trouble::NoDatabase => {
            "create the database (createdb), or correct its name in the settings"
        }
        Trouble::Full => "raise max_connections there, or lower SVC_DATABASE_CONNECTIONS",
        Trouble::Other => "correct the address in the settings; see: longshored config",
    };
    found.wrong("reachable", &text, mend);
}

/// What the server says about itself, beside this host's time of that moment.
pub(super) fn judge(found: &mut Findings, server: &Server, host: Timestamp) {
    let (major, minor) = (server.version / 10_000, server.version % 10_000);
    let version = format!("PostgreSQL {major}.{minor}");
    if server.version >= OLDEST {
        found.ok("version", &version);
    } else {
        found.wrong("version", &version, "upgrade to PostgreSQL 15 or newer");
    }
    if server.in_recovery {
        let mend = "name the primary in the settings, or promote this server";
        found.wrong("role", "a standby: nothing can be written", mend);
    }
    durable(
        found,
        "fsync",
        server.fsync,
        "a crash of the machine loses accepted cargo",
    );
    let torn = "a crash of the machine can leave torn pages";
    durable(found, "full_page_writes", server.full_page_writes, torn);
    let synchronous = server.synchronous_commit != "off";
    let lost = "a crash of the server loses cargo that was answered 202";
    durable(found, "synchronous_commit", synchronous, lost);
    let apart = (server.now - host).as_seconds_f64();
    if apart.abs() <= APART {
        found.ok("clock", &format!("{apart:+.3} s beside this machine"));
    } else {
        let text = format!("{apart:+.3} s beside this machine; its own time is used");
        found.warning(
            "clock",
            &text,
            "run a time service (chrony, systemd-timesyncd) on both",
        );
    }
}

fn durable(found: &mut Findings, setting: &'static str, on: bool, danger: &str) {
    if on {
        return found.ok(setting, "on");
    }
    let mend = format!(
        "alter system set {setting} = on; select pg_reload_conf(); \
         (and see that no role, database or start option turns it off)"
    );
    found.wrong(setting, &format!("off: {danger}"), &mend);
}

/// Control and shards that share a server share its connections.
pub(super) fn connections(found: &mut Findings, settings: &Settings, url: &DatabaseUrl, most: i32) {
    let check = "connections";
    let databases = &settings.databases;
    let is_here = |other: &DatabaseUrl| other.server() == url.server();
    let shards = databases.shards.iter().filter(|it| is_here(&it.url));
    let shards = u32::try_from(shards.count()).unwrap_or(u32::MAX);
    let pool = settings.values.database_connections;
    let extra = u32::try_from(store::EXTRA_CONNECTIONS).unwrap_or(u32::MAX);
    let control = if is_here(&databases.control) { pool } else { 0 };
    let wanted = shards
        .saturating_mul(pool.saturating_add(extra))
        .saturating_add(control);
    let most = u32::try_from(most).unwrap_or_default();
    let processes = most / wanted.max(1);
    let text = format!(
        "{most} allowed, up to {wanted} taken by a process; processes that fit: {processes}"
    );
    if processes == 0 {
        let mend = "raise max_connections there, or lower SVC_DATABASE_CONNECTIONS";
        found.wrong(check, &text, mend);
    } else {
        found.ok(check, &text);
    }
}

pub(super) fn transactions(found: &mut Findings, open: &[OpenTransaction], now: Timestamp) {
    let check = "transactions";
    let Some(oldest) = open.first() else {
        return found.ok(check, "none is open for longer than 5 minutes");
    };
    let minutes = (now - oldest.since).num_minutes();
    let text = format!(
        "{} open for longer than 5 minutes; the oldest, {} ({}), for {minutes} minutes: \
         dead rows pile up behind it",
        open.len(),
        oldest.name,
        oldest.state
    );
    let mend = match oldest.name.strip_prefix("process ") {
        Some(pid) => format!("end it where it comes from, or: select pg_terminate_backend({pid});"),
        None => "commit prepared or rollback prepared, whichever is true".to_owned(),
    };
    found.warning(check, &text, &mend);
}

/// Whether its rows may be asked for more.
pub(super) fn schema(found: &mut Findings, state: Result<SchemaState, Error>) -> bool {
    let check = "schema";
    let migrate = "run: longshored migrate";
    match state {
        Ok(SchemaState::Current) => found.ok(check, "is this program's"),
        Ok(SchemaState::AheadByOne) => {
            found.ok(check, "one ahead of this program: an upgrade is under way");
        }
        Ok(SchemaState::Missing) => found.wrong(check, "there is none yet", migrate),
        Ok(SchemaState::Behind) => found.wrong(check, "older than this program", migrate),
        Ok(SchemaState::TooNew) => {
            let text = "more than one ahead of this program";
            found.wrong(
                check,
                text,
                "run the release of longshored that migrated it",
            );
        }
        Err(ref error) => {
            let mend = "grant this user the schemas control and shard";
            found.wrong(check, &failure::chain(error), mend);
        }
    }
    state.is_ok_and(SchemaState::serves)
}

pub(super) fn partitions(found: &mut Findings, days: Result<DaysReady, Error>) {
    let check = "partitions";
    let mend = "run longshored work, which makes them, or make them now: longshored migrate";
    let days = match days {
        Ok(days) => days,
        Err(error) => return found.wrong(check, &failure::chain(&error), mend),
    };
    if !days.today {
        let text = "today has none: each load has to make it first";
        return found.wrong(check, text, mend);
    }
    let text = format!("days made ahead: {}", days.ahead);
    let log = "read the log of longshored work: sweep has failed to make days; \
               until that is solved: longshored migrate";
    match days.ahead {
        0..DAYS_AHEAD_WRONG => found.wrong(check, &text, mend),
        DAYS_AHEAD_WRONG..DAYS_AHEAD_WARNING => found.warning(check, &text, log),
        _ => found.ok(check, &text),
    }
}

/// Whether bytes are removed from the bucket.
pub(super) fn removal(found: &mut Findings, state: Result<MarkerState, Error>) {
    let check = "file removal";
    match state {
        Ok(MarkerState {
            held: Some(hold), ..
        }) => {
            let text = format!(
                "held since {}: {}",
                hold.since.format("%Y-%m-%d %H:%M:%S UTC"),
                hold.reason
            );
            let mend = "see that this database is the right one, then run: \
                        longshored admin files confirm (docs/object-storage-and-scanner.md)";
            found.wrong(check, &text, mend);
        }
        Ok(_) => found.ok(check, "not held"),
        Err(error) => found.wrong(
            check,
            &failure::chain(&error),
            "let this user call pg_control_system(), pg_walfile_name() and pg_current_wal_lsn()",
        ),
    }
}

pub(super) fn ledger(found: &mut Findings, faults: Result<Vec<Fault>, Error>) {
    let check = "ledger";
    let faults = match faults {
        Ok(faults) => faults,
        Err(error) => {
            let mend = "ask again; `longshored admin ledger check` takes all the time it needs";
            return found.warning(check, &failure::chain(&error), mend);
        }
    };
    let Some(first) = faults.first() else {
        return found.ok(check, "what is open and new is in order");
    };
    let text = format!("faults: {}; the first is {first}", faults.len());
    let mend = "change nothing by hand; `longshored admin ledger check` shows all, and \
                docs/credit-and-ledger.md what to do";
    found.wrong(check, &text, mend);
}
