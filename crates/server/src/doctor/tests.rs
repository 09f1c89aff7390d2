//! Doctor: every finding as the operator sees it.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta};
use domain::bucket_marker::{BucketMarker, DatabaseOrigin, RemovalHold, RemovalHoldReason};
use domain::time::Timestamp;
use store::Error;
use store::doctor::{DatabaseServerInfo, OpenTransaction};
use store::migrate::{OpenStep, SchemaState, SchemaStatus};
use store::shard::bucket_marker::BucketMarkerState;
use store::shard::ledger_audit::{LedgerFault, LedgerInvariant, LedgerProofState};
use store::shard::partition::DaysReady;
use store::shard::recovery::RecoveryPause;

use super::*;
use crate::settings::read_variables;

pub(super) fn noon() -> Timestamp {
    DateTime::from_timestamp(1_767_268_800, 0).unwrap()
}

fn healthy() -> DatabaseServerInfo {
    DatabaseServerInfo {
        version: 150_004,
        max_connections: 97,
        now: noon(),
    }
}

const fn days(today: bool, ahead: u64) -> DaysReady {
    DaysReady { today, ahead }
}

pub(super) fn settings(more: &[(&str, &str)]) -> Settings {
    let given = [("SVC_DATABASE_URL", "postgres://localhost/longshore")];
    let given = given
        .iter()
        .chain(more)
        .map(|(name, value)| (name.into(), value.into()));
    read_variables(given).settings().unwrap()
}

pub(super) fn report(found: DependencyFindings) -> DoctorReport {
    let ok = found
        .list
        .iter()
        .all(|finding| finding.state != FindingState::Wrong);
    DoctorReport {
        ok,
        findings: found.list,
    }
}

#[test]
fn a_healthy_database_has_no_problems() {
    let mut found = DependencyFindings::new("shard main");
    database::check_server_settings(&mut found, &healthy(), noon());
    database::check_transactions(&mut found, &[], noon());
    assert!(schema::check_state(&mut found, Ok(SchemaState::Current)));
    assert!(schema::check_state(
        &mut found,
        Ok(SchemaState::AheadSupported)
    ));
    database::check_partitions(&mut found, Ok(days(true, 30)));
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ok      version             PostgreSQL 15.4
      ok      clock               +0.000 s compared with this machine
      ok      transactions        none open for more than 5 minutes
      ok      schema              up to date
      ok      schema              newer than this program, and supports it: an upgrade is in progress
      ok      partitions          days ahead: 30

    no problems found
    ");
}

#[test]
fn a_server_that_is_not_usable_is_an_error_with_a_fix() {
    let mut found = DependencyFindings::new("shard main");
    let settings = settings(&[]);
    database::report_standby(&mut found, &settings.databases.control);
    let server = DatabaseServerInfo {
        version: 140_011,
        now: noon() + TimeDelta::milliseconds(1500),
        ..healthy()
    };
    database::check_server_settings(&mut found, &server, noon());
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ERROR   role                postgres://localhost/longshore: no host is a primary; a standby answers, and accepts no writes
              fix: wait for the end of a failover, promote a standby, or list the host of the primary in the address
              see docs/runbooks/shard-away.md
      ERROR   version             PostgreSQL 14.11
              fix: upgrade to PostgreSQL 15 or newer
      warning clock               +1.500 s compared with this machine; the server's time is used
              fix: run a time service (chrony, systemd-timesyncd) on both machines
              see docs/runbooks/clock-offset.md

    errors: 2; warnings: 1
    ");
}

#[test]
fn online_steps_that_are_not_finished_are_reported() {
    let mut found = DependencyFindings::new("shard main");
    let step = |name: &str, has_begun| OpenStep {
        name: name.to_owned(),
        has_begun,
        rows_done: 0,
    };
    for open_steps in [
        Vec::new(),
        vec![step("batch_job", true), step("cargo_names", false)],
    ] {
        let status = SchemaStatus {
            state: SchemaState::Current,
            applied: Some(13),
            pending: 0,
            open_steps,
        };
        schema::check_steps(&mut found, Ok(status));
    }
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ok      online steps        finished
      warning online steps        not finished: batch_job, cargo_names; some queries are slower until then
              fix: run `longshored migrate`, which continues them while processes serve
              see docs/runbooks/upgrade.md

    no errors; warnings: 1
    ");
}

#[test]
fn missing_partitions_are_reported() {
    let mut found = DependencyFindings::new("shard main");
    for (today, ahead) in [(true, 5), (true, 4), (true, 1), (false, 30)] {
        database::check_partitions(&mut found, Ok(days(today, ahead)));
    }
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ok      partitions          days ahead: 5
      warning partitions          days ahead: 4
              fix: sweep fails to create partitions: read the log of `longshored work`; meanwhile run `longshored migrate`
              see docs/runbooks/partitions-low.md
      ERROR   partitions          days ahead: 1
              fix: run `longshored work`, which creates them, or `longshored migrate` to create them now
              see docs/runbooks/partitions-low.md
      ERROR   partitions          today has no partitions: the next load has to create them
              fix: run `longshored work`, which creates them, or `longshored migrate` to create them now
              see docs/runbooks/partitions-low.md

    errors: 2; warnings: 1
    ");
}

#[test]
fn removal_that_is_held_says_what_to_do() {
    let mut found = DependencyFindings::new("shard main");
    let state = |held| BucketMarkerState {
        current: DatabaseOrigin::parse("1/00000002/5").unwrap(),
        origin: DatabaseOrigin::parse("1/00000001/5"),
        marker: BucketMarker {
            generation: 7,
            nonce: uuid::Uuid::nil(),
        },
        written_at: Some(noon()),
        held,
    };
    recovery::check_removal(&mut found, Ok(state(None)));
    let hold = RemovalHold {
        since: noon(),
        reason: RemovalHoldReason::NewTimeline.to_string(),
    };
    recovery::check_removal(&mut found, Ok(state(Some(hold))));
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ok      file removal        not held
      ERROR   file removal        held since 2026-01-01 12:00:00 UTC: PostgreSQL's timeline changed: a standby was promoted, or a backup was restored
              fix: check that this is the right database, then run `longshored admin files confirm` (see docs/object-storage-and-scanner.md)
              see docs/runbooks/object-removal-held.md

    errors: 1
    ");
}

#[test]
fn a_paused_shard_is_an_error_with_its_runbook() {
    let mut found = DependencyFindings::new("shard main");
    recovery::check_pause(&mut found, Ok(None));
    let pause = RecoveryPause {
        since: noon(),
        reason: RemovalHoldReason::BucketIsNewer.to_string(),
    };
    recovery::check_pause(&mut found, Ok(Some(pause)));
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ok      recovery            not paused
      ERROR   recovery            paused since 2026-01-01 12:00:00 UTC: the bucket's marker is newer than the rows: the database is from an earlier moment
              fix: read the runbook, then run `longshored admin recovery status`, `report` and `accept`
              see docs/runbooks/recovery-pause.md

    errors: 1
    ");
}

#[test]
fn a_forgotten_transaction_is_named() {
    let mut found = DependencyFindings::new("shard main");
    let open = OpenTransaction {
        name: "process 4711".to_owned(),
        state: "idle in transaction".to_owned(),
        since: noon() - TimeDelta::minutes(90),
    };
    database::check_transactions(&mut found, &[open], noon());
    let prepared = OpenTransaction {
        name: "prepared transaction 'x'".to_owned(),
        state: "prepared".to_owned(),
        since: noon() - TimeDelta::minutes(6),
    };
    database::check_transactions(&mut found, &[prepared], noon());
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      warning transactions        1 open for more than 5 minutes; the oldest is process 4711 (idle in transaction), open for 90 minutes: vacuum cannot remove dead rows meanwhile
              fix: end it in its client, or run: select pg_terminate_backend(4711);
      warning transactions        1 open for more than 5 minutes; the oldest is prepared transaction 'x' (prepared), open for 6 minutes: vacuum cannot remove dead rows meanwhile
              fix: finish it with COMMIT PREPARED or ROLLBACK PREPARED

    no errors; warnings: 2
    ");
}

#[test]
fn a_schema_of_another_release_is_wrong() {
    let mut found = DependencyFindings::new("shard main");
    for state in [
        SchemaState::Missing,
        SchemaState::Behind,
        SchemaState::TooNew,
    ] {
        assert!(!schema::check_state(&mut found, Ok(state)));
    }
    assert!(!schema::check_state(&mut found, Err(Error::Fenced)));
    database::check_partitions(&mut found, Ok(days(true, 1)));
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ERROR   schema              does not exist yet
              fix: run `longshored migrate`
              see docs/runbooks/upgrade.md
      ERROR   schema              older than this program
              fix: run `longshored migrate`
              see docs/runbooks/upgrade.md
      ERROR   schema              newer than this program, and does not support it
              fix: run the longshored release that migrated it
              see docs/runbooks/upgrade.md
      ERROR   schema              the claim was lost or the row has changed
              fix: grant this user the schemas control and shard
              see docs/runbooks/upgrade.md
      ERROR   partitions          days ahead: 1
              fix: run `longshored work`, which creates them, or `longshored migrate` to create them now
              see docs/runbooks/partitions-low.md

    errors: 5
    ");
}

#[test]
fn control_and_shards_of_one_server_share_its_connections() {
    let settings = settings(&[("SVC_DATABASE_CONNECTIONS", "40")]);
    let mut found = DependencyFindings::new("control");
    let url = &settings.databases.control;
    database::check_connections(&mut found, &settings, url, 97);
    database::check_connections(&mut found, &settings, url, 85);
    insta::assert_snapshot!(render_text(&report(found)), @r"
    control
      ok      connections         the server allows 97; each process uses up to 90; processes that fit: 1
      ERROR   connections         the server allows 85; each process uses up to 90; processes that fit: 0
              fix: raise max_connections on the server, or lower SVC_DATABASE_CONNECTIONS

    errors: 1
    ");
}

#[test]
fn the_map_of_berths_must_name_what_is_configured() {
    let map = ["north", "south"].map(str::to_owned);
    let mut found = DependencyFindings::new("control");
    berths::check_map(&mut found, &map, &BTreeSet::from(["north", "south"]));
    berths::check_map(&mut found, &map, &BTreeSet::from(["north", "west"]));
    insta::assert_snapshot!(render_text(&report(found)), @r"
    control
      ok      berths              2 on north, south
      ERROR   berths              the berth map names shards that are not configured: south
              fix: add these shards with the same names to SVC_SHARD_DATABASE_URLS
      warning berths              no berth is assigned to west
              fix: new organizations never use such a shard; move berths to it, or remove it from the settings

    errors: 1; warnings: 1
    ");
}

#[test]
fn this_machine_is_looked_at_too() {
    let settings = settings(&[
        ("SVC_CALLBACK_ALLOW_CIDRS", "10.0.0.0/8"),
        ("SVC_MODELS_FILE", "/nowhere/models.toml"),
    ]);
    let mut found = DependencyFindings::new("this machine");
    let limits = "Max open files            1024                 524288               files\n";
    host::check_open_files(&mut found, limits, &settings);
    host::check_catalogue(&mut found, &settings, noon());
    host::check_callbacks(&mut found, &settings);
    insta::assert_snapshot!(render_text(&report(found)), @r"
    this machine
      warning open files          the limit is only 1024; up to 5152 are needed
              fix: raise the limit where longshored is started (ulimit -n 5152, or LimitNOFILE=5152 in its systemd unit), or lower SVC_DELIVERY_SLOTS
      ERROR   catalogue           the model catalogue /nowhere/models.toml cannot be read: No such file or directory (os error 2)
              fix: correct the file SVC_MODELS_FILE
      warning callbacks           may also reach 10.0.0.0/8
              fix: any caller can make this server send requests to these ranges; unset SVC_CALLBACK_ALLOW_CIDRS unless you want that

    errors: 1; warnings: 2
    ");
}

#[test]
fn a_ledger_that_is_not_in_order_is_wrong() {
    let fault = || LedgerFault {
        invariant: LedgerInvariant::Held,
        organization: None,
        posting: None,
        cargo: None,
        expected: "5".to_owned(),
        found: "7".to_owned(),
    };
    let proven = |minutes, hours, faults| LedgerProofState {
        proven_at: Some(noon() - TimeDelta::minutes(minutes)),
        read_since: Some(noon() - TimeDelta::hours(hours)),
        faults,
    };
    let mut found = DependencyFindings::new("shard north");
    for state in [
        Ok(proven(1, 3, Vec::new())),
        Ok(proven(1, 3, vec![fault(), fault()])),
        Ok(proven(16, 3, Vec::new())),
        Ok(proven(1, 27, Vec::new())),
        Ok(LedgerProofState::default()),
        Err(Error::Fenced),
    ] {
        ledger::check_ledger(&mut found, state, noon());
    }
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard north
      ok      ledger              changes were proven 1 min ago, and all rows within the last 4 h
      ERROR   ledger              faults: 2; the first is held: expected 5, found 7; an account's held amount is the sum of the holds of its open cargo
              fix: change nothing by hand; `longshored admin ledger check` lists all faults, and docs/credit-and-ledger.md says what to do
              see docs/runbooks/ledger-fault.md
      warning ledger              changes were proven 16 min ago, and all rows within the last 4 h
              fix: see why workers do not audit; meanwhile run `longshored admin ledger check`
              see docs/runbooks/ledger-unchecked.md
      warning ledger              changes were proven 1 min ago, and all rows within the last 28 h
              fix: see why workers do not audit; meanwhile run `longshored admin ledger check`
              see docs/runbooks/ledger-unchecked.md
      warning ledger              the audit has not read all rows yet
              fix: start a worker; then wait until it has read all rows once
              see docs/runbooks/ledger-unchecked.md
      warning ledger              the claim was lost or the row has changed
              fix: run doctor again, or `longshored admin ledger check`, which has no time limit
              see docs/runbooks/ledger-unchecked.md

    errors: 1; warnings: 4
    ");
}
