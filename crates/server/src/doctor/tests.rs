//! Doctor: every finding as an operator reads it.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta};
use domain::bucket_marker::{Hold, HoldReason, Marker, Origin};
use domain::limit::{Limits, PlanLimits};
use domain::time::Timestamp;
use store::Error;
use store::doctor::{OpenTransaction, Server};
use store::migrate::SchemaState;
use store::shard::audit::{Fault, Identity};
use store::shard::bucket_marker::MarkerState;
use store::shard::partition::DaysReady;

use super::*;
use crate::licence::LicenceFailure;
use crate::settings::read;

fn noon() -> Timestamp {
    DateTime::from_timestamp(1_767_268_800, 0).unwrap()
}

fn healthy() -> Server {
    Server {
        version: 150_004,
        fsync: true,
        full_page_writes: true,
        synchronous_commit: "on".to_owned(),
        most_connections: 97,
        in_recovery: false,
        now: noon(),
    }
}

const fn days(today: bool, ahead: u64) -> DaysReady {
    DaysReady { today, ahead }
}

fn settings(more: &[(&str, &str)]) -> Settings {
    let given = [("SVC_DATABASE_URL", "postgres://localhost/longshore")];
    let given = given
        .iter()
        .chain(more)
        .map(|(name, value)| (name.into(), value.into()));
    read(given).settings().unwrap()
}

fn report(found: Findings) -> Report {
    let ok = found
        .list
        .iter()
        .all(|finding| finding.state != State::Wrong);
    Report {
        ok,
        findings: found.list,
    }
}

#[test]
fn a_healthy_database_is_well() {
    let mut found = Findings::of("shard main");
    database::judge(&mut found, &healthy(), noon());
    database::transactions(&mut found, &[], noon());
    assert!(database::schema(&mut found, Ok(SchemaState::Current)));
    assert!(database::schema(&mut found, Ok(SchemaState::AheadByOne)));
    database::partitions(&mut found, Ok(days(true, 30)));
    insta::assert_snapshot!(text(&report(found)), @r"
    shard main
      ok      version             PostgreSQL 15.4
      ok      fsync               on
      ok      full_page_writes    on
      ok      synchronous_commit  on
      ok      clock               +0.000 s beside this machine
      ok      transactions        none is open for longer than 5 minutes
      ok      schema              is this program's
      ok      schema              one ahead of this program: an upgrade is under way
      ok      partitions          days made ahead: 30

    all is well
    ");
}

#[test]
fn what_loses_work_is_wrong_and_says_how_to_mend_it() {
    let mut found = Findings::of("shard main");
    let server = Server {
        version: 140_011,
        fsync: false,
        full_page_writes: false,
        synchronous_commit: "off".to_owned(),
        in_recovery: true,
        now: noon() + TimeDelta::milliseconds(1500),
        ..healthy()
    };
    database::judge(&mut found, &server, noon());
    insta::assert_snapshot!(text(&report(found)), @r"
    shard main
      WRONG   version             PostgreSQL 14.11
              to mend it: upgrade to PostgreSQL 15 or newer
      WRONG   role                a standby: nothing can be written
              to mend it: name the primary in the settings, or promote this server
      WRONG   fsync               off: a crash of the machine loses accepted cargo
              to mend it: alter system set fsync = on; select pg_reload_conf(); (and see that no role, database or start option turns it off)
      WRONG   full_page_writes    off: a crash of the machine can leave torn pages
              to mend it: alter system set full_page_writes = on; select pg_reload_conf(); (and see that no role, database or start option turns it off)
      WRONG   synchronous_commit  off: a crash of the server loses cargo that was answered 202
              to mend it: alter system set synchronous_commit = on; select pg_reload_conf(); (and see that no role, database or start option turns it off)
      warning clock               +1.500 s beside this machine; its own time is used
              to mend it: run a time service (chrony, systemd-timesyncd) on both

    5 wrong; 1 more to look at
    ");
}

#[test]
fn days_that_are_missing_or_soon_will_be_are_told() {
    let mut found = Findings::of("shard main");
    for (today, ahead) in [(true, 5), (true, 4), (true, 1), (false, 30)] {
        database::partitions(&mut found, Ok(days(today, ahead)));
    }
    insta::assert_snapshot!(text(&report(found)), @r"
    shard main
      ok      partitions          days made ahead: 5
      warning partitions          days made ahead: 4
              to mend it: read the log of longshored work: sweep has failed to make days; until that is solved: longshored migrate
      WRONG   partitions          days made ahead: 1
              to mend it: run longshored work, which makes them, or make them now: longshored migrate
      WRONG   partitions          today has none: each load has to make it first
              to mend it: run longshored work, which makes them, or make them now: longshored migrate

    2 wrong; 1 more to look at
    ");
}

#[test]
fn removal_that_is_held_says_what_to_do() {
    let mut found = Findings::of("shard main");
    let state = |held| MarkerState {
        current: Origin::parse("1/00000002/5").unwrap(),
        origin: Origin::parse("1/00000001/5"),
        marker: Marker {
            generation: 7,
            nonce: uuid::Uuid::nil(),
        },
        written_at: Some(noon()),
        held,
    };
    database::removal(&mut found, Ok(state(None)));
    let hold = Hold {
        since: noon(),
        reason: HoldReason::NewTimeline.to_string(),
    };
    database::removal(&mut found, Ok(state(Some(hold))));
    insta::assert_snapshot!(text(&report(found)), @r"
    shard main
      ok      file removal        not held
      WRONG   file removal        held since 2026-01-01 12:00:00 UTC: PostgreSQL's timeline changed: a standby was promoted, or a backup was restored
              to mend it: see that this database is the right one, then run: longshored admin files confirm (docs/object-storage-and-scanner.md)

    1 wrong
    ");
}

#[test]
fn a_forgotten_transaction_is_named() {
    let mut found = Findings::of("shard main");
    let open = OpenTransaction {
        name: "process 4711".to_owned(),
        state: "idle in transaction".to_owned(),
        since: noon() - TimeDelta::minutes(90),
    };
    database::transactions(&mut found, &[open], noon());
    let prepared = OpenTransaction {
        name: "prepared transaction 'x'".to_owned(),
        state: "prepared".to_owned(),
        since: noon() - TimeDelta::minutes(6),
    };
    database::transactions(&mut found, &[prepared], noon());
    insta::assert_snapshot!(text(&report(found)), @r"
    shard main
      warning transactions        1 open for longer than 5 minutes; the oldest, process 4711 (idle in transaction), for 90 minutes: dead rows pile up behind it
              to mend it: end it where it comes from, or: select pg_terminate_backend(4711);
      warning transactions        1 open for longer than 5 minutes; the oldest, prepared transaction 'x' (prepared), for 6 minutes: dead rows pile up behind it
              to mend it: commit prepared or rollback prepared, whichever is true

    nothing is wrong; 2 to look at
    ");
}

#[test]
fn a_schema_of_another_release_is_wrong() {
    let mut found = Findings::of("shard main");
    for state in [
        SchemaState::Missing,
        SchemaState::Behind,
        SchemaState::TooNew,
    ] {
        assert!(!database::schema(&mut found, Ok(state)));
    }
    assert!(!database::schema(&mut found, Err(Error::Moved)));
    database::partitions(&mut found, Ok(days(true, 1)));
    insta::assert_snapshot!(text(&report(found)), @r"
    shard main
      WRONG   schema              there is none yet
              to mend it: run: longshored migrate
      WRONG   schema              older than this program
              to mend it: run: longshored migrate
      WRONG   schema              more than one ahead of this program
              to mend it: run the release of longshored that migrated it
      WRONG   schema              the row has moved on
              to mend it: grant this user the schemas control and shard
      WRONG   partitions          days made ahead: 1
              to mend it: run longshored work, which makes them, or make them now: longshored migrate

    5 wrong
    ");
}

#[test]
fn control_and_shards_of_one_server_share_its_connections() {
    let settings = settings(&[("SVC_DATABASE_CONNECTIONS", "40")]);
    let mut found = Findings::of("control");
    let url = &settings.databases.control;
    database::connections(&mut found, &settings, url, 97);
    database::connections(&mut found, &settings, url, 85);
    insta::assert_snapshot!(text(&report(found)), @r"
    control
      ok      connections         97 allowed, up to 86 taken by a process; processes that fit: 1
      WRONG   connections         85 allowed, up to 86 taken by a process; processes that fit: 0
              to mend it: raise max_connections there, or lower SVC_DATABASE_CONNECTIONS

    1 wrong
    ");
}

#[test]
fn the_map_of_berths_must_name_what_is_configured() {
    let map = ["north", "south"].map(str::to_owned);
    let mut found = Findings::of("control");
    berths::judge(&mut found, &map, &BTreeSet::from(["north", "south"]));
    berths::judge(&mut found, &map, &BTreeSet::from(["north", "west"]));
    insta::assert_snapshot!(text(&report(found)), @r"
    control
      ok      berths              2 on north, south
      WRONG   berths              some lie on shards that are not configured: south
              to mend it: name them in SVC_SHARD_DATABASE_URLS as the map does
      warning berths              no berth lies on west
              to mend it: no organization will be put there until berths are moved to it

    1 wrong; 1 more to look at
    ");
}

#[test]
fn the_licence_is_read_and_its_end_foreseen() {
    let defaults = Limits::default().enterprise;
    let in_force = || crate::licence::Licence {
        licensee: "Harbour Ltd".to_owned(),
        issued_at: noon(),
        expires_at: noon() + TimeDelta::days(30),
        limits: PlanLimits {
            monthly_tokens: Some(5),
            ..defaults
        },
    };
    let mut found = Findings::of("licence");
    licence::judge(&mut found, Ok(None), defaults, noon());
    licence::judge(&mut found, Ok(Some(in_force())), defaults, noon());
    let late = noon() + TimeDelta::hours(12);
    licence::judge(&mut found, Ok(Some(in_force())), defaults, late);
    let over = noon() + TimeDelta::days(30);
    licence::judge(&mut found, Ok(Some(in_force())), defaults, over);
    insta::assert_snapshot!(text(&report(found)), @r"
    licence
      ok      file                there is none: the enterprise plan has its defaults
      ok      enterprise          burst 10000, 60000 per minute, monthly tokens unlimited
      ok      file                in force for Harbour Ltd until 2026-01-31T12:00:00.000000Z
      ok      enterprise          burst 10000, 60000 per minute, monthly tokens 5
      warning file                in force for Harbour Ltd until 2026-01-31T12:00:00.000000Z: 29 days are left
              to mend it: ask for the next one, put it in its place and send SIGHUP
      ok      enterprise          burst 10000, 60000 per minute, monthly tokens 5
      WRONG   file                the licence expired at 2026-01-31T12:00:00.000000Z
              to mend it: ask for the next one, put it in its place and send SIGHUP
      ok      enterprise          burst 10000, 60000 per minute, monthly tokens unlimited

    1 wrong; 1 more to look at
    ");
}

#[test]
fn a_licence_that_is_not_in_force_is_wrong() {
    let examined = |more: &[(&str, &str)]| {
        let found = licence::examine(&settings(more).values, noon());
        text(&report(found))
    };
    let file = ("SVC_LICENCE_FILE", "/nowhere/licence.json");
    insta::assert_snapshot!(examined(&[file]), @r"
    licence
      WRONG   file                the licence /nowhere/licence.json cannot be read: No such file or directory (os error 2)
              to mend it: put the licence there and let this user read it, or correct SVC_LICENCE_FILE
      ok      enterprise          burst 10000, 60000 per minute, monthly tokens unlimited

    1 wrong
    ");
    insta::assert_snapshot!(examined(&[file, ("SVC_DEPLOYMENT", "cloud")]), @r"
    licence
      warning file                SVC_LICENCE_FILE is set, but on cloud no licence is read
              to mend it: unset it, or set SVC_DEPLOYMENT=self_hosted

    nothing is wrong; 1 to look at
    ");
    assert_eq!(examined(&[("SVC_DEPLOYMENT", "cloud")]), "\nall is well");
    let mut found = Findings::of("licence");
    let defaults = Limits::default().enterprise;
    for failure in [
        LicenceFailure::NotJson("expected value at line 1 column 1".to_owned()),
        LicenceFailure::KeyMissing,
        LicenceFailure::Signature,
    ] {
        licence::judge(&mut found, Err(failure), defaults, noon());
    }
    found.list.retain(|finding| finding.state == State::Wrong);
    insta::assert_snapshot!(text(&report(found)), @r"
    licence
      WRONG   file                the licence is not JSON with the texts `entitlements` and `signature`: expected value at line 1 column 1
              to mend it: ask for the licence once more: this file is damaged
      WRONG   file                SVC_LICENCE_PUBLIC_KEY is not set: the licence cannot be verified
              to mend it: set it to the public key that came with the licence
      WRONG   file                the licence's signature is wrong: the licence was changed, or signed with another key than SVC_LICENCE_PUBLIC_KEY belongs to
              to mend it: correct SVC_LICENCE_PUBLIC_KEY, or ask for the licence once more

    3 wrong
    ");
}

#[test]
fn this_machine_is_looked_at_too() {
    let settings = settings(&[
        ("SVC_CALLBACK_ALLOW_CIDRS", "10.0.0.0/8"),
        ("SVC_MODELS_FILE", "/nowhere/models.toml"),
    ]);
    let mut found = Findings::of("this machine");
    let limits = "Max open files            1024                 524288               files\n";
    host::open_files(&mut found, limits, &settings);
    host::catalogue(&mut found, &settings);
    host::callbacks(&mut found, &settings);
    insta::assert_snapshot!(text(&report(found)), @r"
    this machine
      warning open files          only 1024 may be open, 5152 may be wanted
              to mend it: raise the limit where longshored is started (ulimit -n 5152, or LimitNOFILE=5152 in its systemd unit), or lower SVC_DELIVERY_SLOTS
      WRONG   catalogue           the catalogue /nowhere/models.toml cannot be read: No such file or directory (os error 2)
              to mend it: correct the file SVC_MODELS_FILE
      warning callbacks           may also reach 10.0.0.0/8
              to mend it: any caller can make this server call there; unset SVC_CALLBACK_ALLOW_CIDRS unless that is wanted

    1 wrong; 2 more to look at
    ");
}

#[test]
fn a_ledger_that_is_not_in_order_is_wrong() {
    let fault = || Fault {
        identity: Identity::Held,
        organization: None,
        posting: None,
        cargo: None,
        expected: "5".to_owned(),
        found: "7".to_owned(),
    };
    let mut found = Findings::of("shard north");
    database::ledger(&mut found, Ok(Vec::new()));
    database::ledger(&mut found, Ok(vec![fault(), fault()]));
    database::ledger(&mut found, Err(Error::Moved));
    insta::assert_snapshot!(text(&report(found)), @r"
    shard north
      ok      ledger              what is open and new is in order
      WRONG   ledger              faults: 2; the first is held: expected 5, found 7; an account holds what its cargo under way hold
              to mend it: change nothing by hand; `longshored admin ledger check` shows all, and docs/credit-and-ledger.md what to do
      warning ledger              the row has moved on
              to mend it: ask again; `longshored admin ledger check` takes all the time it needs

    1 wrong; 1 more to look at
    ");
}
