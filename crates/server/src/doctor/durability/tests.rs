//! Doctor: the durability of a server, as the operator sees it.

use super::*;
use crate::doctor::tests::report;
use crate::doctor::{DoctorFinding, render_text};

fn durable() -> DurabilityFacts {
    DurabilityFacts {
        fsync: true,
        full_page_writes: true,
        data_checksums: true,
        synchronous_commit: "on".to_owned(),
        synchronous_standby_names: "ANY 1 (db2, db3)".to_owned(),
        synchronous_standbys: Some(1),
    }
}

const fn production(policy: Option<DurabilityPolicy>) -> DurabilityRequirement {
    DurabilityRequirement {
        policy,
        is_production: true,
    }
}

#[test]
fn a_durable_server_has_no_problems() {
    let mut found = DependencyFindings::new("shard main");
    check_facts(&mut found, &durable(), production(None));
    check_replication_holds(&mut found, Ok(Vec::new()));
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ok      fsync               on
      ok      full_page_writes    on
      ok      synchronous_commit  on
      ok      standbys            commits wait for ANY 1 (db2, db3), and it streams
      ok      data_checksums      on
      ok      replication         no slot and no standby keeps dead rows

    no problems found
    ");
}

#[test]
fn what_loses_accepted_cargo_is_an_error_with_a_fix() {
    let facts = DurabilityFacts {
        fsync: false,
        full_page_writes: false,
        data_checksums: false,
        synchronous_commit: "off".to_owned(),
        synchronous_standby_names: String::new(),
        synchronous_standbys: Some(0),
    };
    let mut found = DependencyFindings::new("shard main");
    check_facts(&mut found, &facts, production(None));
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ERROR   fsync               off: a machine crash loses accepted cargo
              fix: alter system set fsync = on; select pg_reload_conf(); (and check that no role, database or start option turns it off)
              see docs/runbooks/not-durable.md
      ERROR   full_page_writes    off: a machine crash can corrupt pages
              fix: alter system set full_page_writes = on; select pg_reload_conf(); (and check that no role, database or start option turns it off)
              see docs/runbooks/not-durable.md
      ERROR   synchronous_commit  off: a server crash loses accepted cargo (answered with 202)
              fix: alter system set synchronous_commit = on; select pg_reload_conf(); (and check that no role, database or start option turns it off)
              see docs/runbooks/not-durable.md
      ERROR   standbys            synchronous_standby_names is empty: if this server is lost, so is what it accepted last
              fix: make a standby synchronous and set SVC_DURABILITY=replicated, or set it to one-server or managed if that is intended (see docs/failover.md)
              see docs/runbooks/not-durable.md
      warning data_checksums      off: pages that a disk has corrupted are read as if they were right
              fix: switch them on with pg_checksums while the server is stopped, or on a standby before a switchover
              see docs/runbooks/not-durable.md

    errors: 4; warnings: 1
    ");
}

#[test]
fn standbys_are_judged_by_what_the_operator_decided() {
    let alone = DurabilityFacts {
        synchronous_standby_names: String::new(),
        synchronous_standbys: Some(0),
        ..durable()
    };
    let with = |standbys| DurabilityFacts {
        synchronous_standbys: standbys,
        ..durable()
    };
    let mut found = DependencyFindings::new("shard main");
    for (facts, policy) in [
        (&alone, DurabilityPolicy::OneServer),
        (&alone, DurabilityPolicy::Managed),
        (&alone, DurabilityPolicy::Replicated),
        (&with(Some(0)), DurabilityPolicy::Replicated),
        (&with(None), DurabilityPolicy::Replicated),
    ] {
        let mut all = DependencyFindings::new("shard main");
        check_facts(&mut all, facts, production(Some(policy)));
        let is_about_standbys = |it: &DoctorFinding| it.check == SYNCHRONOUS_STANDBYS;
        found
            .list
            .extend(all.list.into_iter().filter(is_about_standbys));
    }
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      ok      standbys            none synchronous; SVC_DURABILITY is one-server
      ok      standbys            none synchronous; SVC_DURABILITY is managed
      ERROR   standbys            synchronous_standby_names is empty, but SVC_DURABILITY is replicated: commits wait for no standby
              fix: set synchronous_standby_names on the server, or set SVC_DURABILITY to one-server or managed (see docs/failover.md)
              see docs/runbooks/not-durable.md
      warning standbys            ANY 1 (db2, db3): no such standby streams, so commits wait for one
              fix: start the standby, or look for its name in pg_stat_replication
              see docs/runbooks/not-durable.md
      warning standbys            ANY 1 (db2, db3): this user may not see whether such a standby streams
              fix: grant pg_read_all_stats to the user of the address
              see docs/runbooks/not-durable.md

    errors: 1; warnings: 2
    ");
}

#[test]
fn a_slot_that_keeps_dead_rows_is_named() {
    let mut found = DependencyFindings::new("shard main");
    let hold = |name: &str, is_slot| ReplicationHold {
        name: name.to_owned(),
        is_slot,
        transactions: 250_000,
    };
    let holds = vec![hold("reports", true), hold("db2", false)];
    check_replication_holds(&mut found, Ok(holds));
    insta::assert_snapshot!(render_text(&report(found)), @r"
    shard main
      warning replication         slot reports keeps rows that 250000 later transactions changed: vacuum cannot remove them; such slots and standbys: 2
              fix: end the long query on the standby, start the consumer of the slot, or drop the slot of a consumer that is gone: select pg_drop_replication_slot('…');

    no errors; warnings: 1
    ");
}
