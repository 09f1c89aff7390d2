//! The ledger under live traffic, and the commands of its administration.

use std::process::{Command, Output};
use std::sync::Arc;

use domain::money::Money;
use futures::future::join;
use serde_json::Value;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};
use store::Shard;
use store::shard::ledger_audit;
use test_support::ledger_proof;
use workers::stage::Stage as _;

use crate::support::credit::model_chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};

/// Ten dollars.
const INITIAL_CREDIT: Money = Money(10_000_000_000);

/// `longshored admin`, with the databases of this service.
fn run_admin(service: &TestService, line: &str) -> Output {
    let url = |pool: &store::Pool| pool.connect_options().to_url_lossy().to_string();
    let shard = |shard: &Arc<Shard>| format!("{}={}", shard.name, url(&shard.pool));
    let shards: Vec<_> = service.shards().iter().map(shard).collect();
    Command::new(env!("CARGO_BIN_EXE_longshored"))
        .arg("admin")
        .args(line.split(' '))
        .env("SVC_CONTROL_DATABASE_URL", url(&service.control.pool))
        .env("SVC_SHARD_DATABASE_URLS", shards.join(","))
        .output()
        .unwrap()
}

pub(crate) fn admin_output(service: &TestService, line: &str) -> String {
    let output = run_admin(service, line);
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn admin_json(service: &TestService, line: &str) -> Value {
    serde_json::from_str(&admin_output(service, &format!("{line} --json"))).unwrap()
}

/// The error output of a command that exits with 1.
fn admin_error(service: &TestService, line: &str) -> String {
    let output = run_admin(service, line);
    assert_eq!(output.status.code(), Some(1), "{line}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

async fn customer_with_credit(service: &TestService) -> Customer {
    let customer = service.create_customer().await;
    service.add_credit(&customer, INITIAL_CREDIT).await;
    customer
}

/// Runs statements that triggers and constraints would reject.
async fn corrupt(shard: &Shard, statements: &str) {
    let mut connection = shard.pool.acquire().await.unwrap();
    let spoiled = format!(
        "set session_replication_role = replica; {statements}; reset session_replication_role"
    );
    connection.execute(AssertSqlSafe(spoiled)).await.unwrap();
}

#[tokio::test]
async fn the_ledger_is_clean_at_every_moment_of_live_traffic() {
    let service = TestService::with_prices().await;
    let mut workers = service.join_another_worker_set().await;
    let customers = [
        customer_with_credit(&service).await,
        customer_with_credit(&service).await,
    ];
    let traffic = async {
        for round in 0..60 {
            for customer in &customers {
                for model in ["priced", "priced-failing", "svc-mock", "vision"] {
                    service
                        .load(customer, &model_chat_request(model, "To and fro.", 16))
                        .await;
                }
            }
            let now = service.clock.advance(MOCK_DELAY / 20);
            for _ in 0..2 {
                workers.gather.step(now).await.unwrap();
                workers.dispatch.step(now).await.unwrap();
                workers.collect.step(now).await.unwrap();
            }
            if round % 20 == 0 {
                service.add_credit(&customers[0], Money(1)).await;
            }
        }
        0
    };
    let checking = async {
        for check in 0.. {
            let whole = ledger_audit::check_all(&service.north).await.unwrap();
            assert_eq!(whole.faults, [], "{check}");
            let changed = ledger_proof::audit(&service.north, service.now()).await;
            assert_eq!(changed.unwrap(), [], "{check}");
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        rounds = traffic => assert_eq!(rounds, 0),
        () = checking => {}
    }
    let report = ledger_audit::check_all(&service.north).await.unwrap();
    assert_eq!(report.faults, []);
    assert!(report.counts.outcomes > 100, "{report:?}");
}

#[tokio::test]
async fn the_audit_reports_a_fault_every_minute_until_it_is_fixed() {
    let mut service = TestService::with_prices().await;
    let customer = customer_with_credit(&service).await;
    service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    let minute = std::time::Duration::from_mins(1);
    let now = service.now();
    let audit = &mut service.worker_sets[0].audit;
    audit.step(now).await.unwrap();
    assert_eq!(audit.faults(), []);

    corrupt(&service.north, "update shard.account set held = held + 1").await;
    // Not yet: the audit runs once a minute.
    audit.step(now).await.unwrap();
    assert_eq!(audit.faults(), []);
    for _ in 0..2 {
        let now = service.clock.advance(minute);
        audit.step(now).await.unwrap();
        let [fault] = audit.faults() else {
            unreachable!("{:?}", audit.faults())
        };
        assert_eq!(fault.invariant.as_str(), "held");
        assert_eq!(fault.organization, Some(customer.organization));
        assert_eq!((&*fault.expected, &*fault.found), ("28200", "28201"));
    }
    corrupt(&service.north, "update shard.account set held = held - 1").await;
    let now = service.clock.advance(minute);
    audit.step(now).await.unwrap();
    assert_eq!(audit.faults(), []);
}

#[tokio::test]
async fn one_node_of_a_shard_audits_and_another_takes_over() {
    let mut service = TestService::with_prices().await;
    customer_with_credit(&service).await;
    let mut other = service.join_another_worker_set().await;
    corrupt(
        &service.north,
        "update shard.account set posted = posted + 1",
    )
    .await;
    let now = service.now();
    let first = &mut service.worker_sets[0].audit;
    let (one, two) = join(first.step(now), other.audit.step(now)).await;
    one.unwrap();
    two.unwrap();
    let found = [first.faults().len(), other.audit.faults().len()];
    assert!(found == [1, 0] || found == [0, 1], "{found:?}");

    let first = service.worker_sets.remove(0);
    let now = service.clock.advance(std::time::Duration::from_mins(1));
    let mut remaining = if found == [1, 0] {
        first.leave().await.unwrap();
        other
    } else {
        other.leave().await.unwrap();
        first
    };
    remaining.audit.step(now).await.unwrap();
    assert_eq!(remaining.audit.faults().len(), 1);
}

#[tokio::test]
async fn a_failed_audit_is_repeated_after_a_minute() {
    let mut service = TestService::with_prices().await;
    customer_with_credit(&service).await;
    corrupt(&service.north, "alter table shard.posting rename to hidden").await;
    let now = service.now();
    let audit = &mut service.worker_sets[0].audit;
    audit.step(now).await.unwrap_err();
    // Not at once: the stage waits a minute before it retries.
    audit.step(now).await.unwrap();
    corrupt(&service.north, "alter table shard.hidden rename to posting").await;
    let now = service.clock.advance(std::time::Duration::from_mins(1));
    audit.step(now).await.unwrap();
    assert_eq!(audit.faults(), []);
}

#[tokio::test]
async fn credit_is_added_once_for_each_reference() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let id = customer.organization;
    let paid = admin_json(
        &service,
        &format!("credit add {id} 250.5 --reference invoice-7"),
    );
    assert_eq!(paid["organization_id"], id.to_string());
    assert_eq!(
        (&paid["posting"], &paid["repeated"]),
        (&1.into(), &false.into())
    );
    assert_eq!(
        (&paid["amount"], &paid["scale"]),
        (&250_500_000_000_i64.into(), &9.into())
    );
    assert_eq!(paid["balance"], 250_500_000_000_i64);

    let again = admin_json(
        &service,
        &format!("credit add {id} 250.5 --reference invoice-7"),
    );
    assert_eq!(
        (&again["posting"], &again["repeated"]),
        (&1.into(), &true.into())
    );
    let error = admin_error(
        &service,
        &format!("credit add {id} 250 --reference invoice-7"),
    );
    assert!(error.contains("invoice-7 belongs to posting 1"), "{error}");

    let error = admin_error(&service, &format!("credit withdraw {id} 250.500000001"));
    assert!(
        error.contains("only 250.50 dollars can be withdrawn"),
        "{error}"
    );
    let paid = admin_json(&service, &format!("credit withdraw {id} 50.5"));
    assert_eq!(
        (&paid["kind"], &paid["balance"]),
        (&"withdrawal".into(), &200_000_000_000_i64.into())
    );
    let unknown = format!("org_{}", "0".repeat(32));
    let error = admin_error(&service, &format!("credit add {unknown} 1"));
    assert!(error.contains("there is no organization"), "{error}");
    insta::assert_snapshot!(service.describe_account(&customer).await, @"posted 200.00 held 0.00 postings 2 | 1970-01-01 used 0 reserved 0");
}

#[tokio::test]
async fn a_quota_is_set_shown_and_reset_to_the_plan() {
    let service = TestService::with_prices().await;
    let customer = customer_with_credit(&service).await;
    let id = customer.organization;
    service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    let shown = admin_json(&service, &format!("organization set-quota {id} 89"));
    assert_eq!(shown["monthly_tokens"]["quota"], 89);
    assert_eq!(shown["credit"]["held"], 28_200);
    assert_eq!(shown["credit"]["available"], 9_999_971_800_i64);
    let shown = admin_json(&service, &format!("organization set-quota {id} unlimited"));
    assert_eq!(shown["monthly_tokens"]["quota"], Value::Null);
    assert_eq!(shown["monthly_tokens"]["is_own"], true);
    let shown = admin_json(&service, &format!("organization set-quota {id} plan"));
    assert_eq!(shown["monthly_tokens"]["is_own"], false);
    assert_eq!(
        admin_json(&service, &format!("organization show {id}")),
        shown
    );
}

#[tokio::test]
async fn a_statement_has_every_posting_in_three_forms() {
    let mut service = TestService::with_prices().await;
    let customer = customer_with_credit(&service).await;
    let id = customer.organization;
    service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    // More postings than one page of the command.
    corrupt(
        &service.north,
        "insert into shard.posting (organization, number, kind, at, credit, revenue, loss, funding, balance, note)
         select organization, 2 + n, 'deposit', at + n * interval '1 minute', 1, 0, 0, -1, balance + n, '=1+1'
         from shard.posting, generate_series(1, 1500) n where number = 2;
         update shard.account set posted = posted + 1500, postings = postings + 1500",
    )
    .await;
    let all = admin_json(&service, &format!("ledger statement {id}"));
    let postings = all["postings"].as_array().unwrap();
    assert_eq!(postings.len(), 1502);
    assert_eq!(
        (&all["opening_balance"], &all["closing_balance"]),
        (&0.into(), &10_000_000_500_i64.into())
    );
    assert_eq!(
        (&postings[1]["kind"], &postings[1]["cargo"]),
        (&"settlement".into(), &1.into())
    );
    assert_eq!(
        (&postings[1]["credit"], &postings[1]["revenue"]),
        (&(-1000).into(), &1000.into())
    );

    let csv = admin_output(&service, &format!("ledger statement {id} --form csv"));
    assert_eq!(csv.lines().count(), 1503);
    assert!(csv.lines().nth(3).unwrap().ends_with(",'=1+1"), "{csv}");
    let text = admin_output(
        &service,
        &format!("ledger statement {id} --since 2026-01-01T00:02:00Z --until 2026-01-01T00:03:00Z"),
    );
    insta::assert_snapshot!(text.replace(&id.to_string(), "[organization]"), @r"
    [organization] from 2026-01-01T00:02:00.000000Z up to 2026-01-01T00:03:00.000000Z, in US dollars

      NUMBER  AT                           KIND             CREDIT             BALANCE          CARGO      REVENUE                LOSS         REFERENCE             NOTE
                                           opening                                9.999999
           3  2026-01-01T00:02:00.000000Z  deposit            0.000000001         9.999999001                                                                        =1+1
                                           closing                                9.999999001

    postings: 1
    ");
}

/// The line without how long the check took.
fn without_duration(line: &str) -> &str {
    line.split_once(", in ").map_or(line, |(before, _)| before)
}

#[tokio::test]
async fn the_check_is_clean_or_ends_with_1_and_the_faults() {
    let mut service = TestService::with_second_shard().await.priced();
    let north = customer_with_credit(&service).await;
    service
        .load(&north, &model_chat_request("priced", "Hello.", 64))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let output = admin_output(&service, "ledger check");
    let lines = output.lines().map(without_duration).collect::<Vec<_>>();
    insta::assert_snapshot!(lines.join("\n"), @r"
    shard north: clean
      accounts 1, postings 2, open holds 0, outcomes 1
    shard south: clean
      accounts 0, postings 0, open holds 0, outcomes 0
    ");
    let clean = admin_json(&service, "ledger check");
    assert_eq!(clean["clean"], true);

    corrupt(
        &service.north,
        "update shard.posting set balance = balance + 1 where number = 2",
    )
    .await;
    let output = run_admin(&service, "ledger check --json");
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["clean"], false);
    let shards = report["shards"].as_array().unwrap();
    assert_eq!(
        (&shards[0]["shard"], &shards[0]["clean"]),
        (&"north".into(), &false.into())
    );
    assert_eq!(
        (&shards[1]["shard"], &shards[1]["clean"]),
        (&"south".into(), &true.into())
    );
    let faults = shards[0]["faults"].as_array().unwrap();
    let names: Vec<_> = faults
        .iter()
        .map(|fault| fault["identity"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["chain", "account"]);
    assert_eq!(faults[0]["organization_id"], north.organization.to_string());
    assert_eq!(faults[0]["posting"], 2);
}
