//! The ledger under real traffic, and the commands around it.

use std::process::{Command, Output};

use domain::money::Money;
use futures::future::join;
use serde_json::Value;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};
use store::Shard;
use store::shard::audit;
use workers::stage::Stage as _;

use crate::support::credit::ask;
use crate::support::{Customer, MOCK_DELAY, Service};

/// Ten dollars.
const CREDIT: Money = Money(10_000_000_000);

/// `longshored admin`, with the databases of this service.
fn admin(service: &Service, line: &str) -> Output {
    let url = |pool: &store::Pool| pool.connect_options().to_url_lossy().to_string();
    let shards = format!(
        "north={},south={}",
        url(&service.north.pool),
        url(&service.south.pool)
    );
    Command::new(env!("CARGO_BIN_EXE_longshored"))
        .arg("admin")
        .args(line.split(' '))
        .env("SVC_CONTROL_DATABASE_URL", url(&service.control.pool))
        .env("SVC_SHARD_DATABASE_URLS", shards)
        .output()
        .unwrap()
}

pub(crate) fn done(service: &Service, line: &str) -> String {
    let output = admin(service, line);
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn document(service: &Service, line: &str) -> Value {
    serde_json::from_str(&done(service, &format!("{line} --json"))).unwrap()
}

/// What was said on the way to exit code 1.
fn refused(service: &Service, line: &str) -> String {
    let output = admin(service, line);
    assert_eq!(output.status.code(), Some(1), "{line}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

async fn customer(service: &Service) -> Customer {
    let customer = service.customer().await;
    service.add_credit(&customer, CREDIT).await;
    customer
}

/// Does what the tables forbid.
async fn spoil(shard: &Shard, statements: &str) {
    let mut connection = shard.pool.acquire().await.unwrap();
    let spoiled = format!(
        "set session_replication_role = replica; {statements}; reset session_replication_role"
    );
    connection.execute(AssertSqlSafe(spoiled)).await.unwrap();
}

#[tokio::test]
async fn the_ledger_is_clean_at_every_moment_of_live_traffic() {
    let service = Service::with_prices().await;
    let mut crew = service.another_crew().await;
    let customers = [customer(&service).await, customer(&service).await];
    let traffic = async {
        for round in 0..60 {
            for customer in &customers {
                for model in ["priced", "priced-failing", "svc-mock", "vision"] {
                    service.load(customer, &ask(model, "To and fro.", 16)).await;
                }
            }
            let now = service.clock.advance(MOCK_DELAY / 20);
            for _ in 0..2 {
                crew.gather.step(now).await.unwrap();
                crew.dispatch.step(now).await.unwrap();
                crew.collect.step(now).await.unwrap();
            }
            if round % 20 == 0 {
                service.add_credit(&customers[0], Money(1)).await;
            }
        }
        0
    };
    let looking = async {
        let since = service.now() - chrono::TimeDelta::days(1);
        for look in 0.. {
            let whole = audit::whole(&service.north).await.unwrap();
            assert_eq!(whole.faults, [], "{look}");
            let recent = audit::recent(&service.north, since).await.unwrap();
            assert_eq!(recent, [], "{look}");
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        rounds = traffic => assert_eq!(rounds, 0),
        () = looking => {}
    }
    let report = audit::whole(&service.north).await.unwrap();
    assert_eq!(report.faults, []);
    assert!(report.examined.outcomes > 100, "{report:?}");
}

#[tokio::test]
async fn the_stage_names_a_fault_every_minute_until_it_is_mended() {
    let mut service = Service::with_prices().await;
    let customer = customer(&service).await;
    service.load(&customer, &ask("priced", "Hello.", 64)).await;
    let minute = std::time::Duration::from_mins(1);
    let now = service.now();
    let audit = &mut service.crews[0].audit;
    audit.step(now).await.unwrap();
    assert_eq!(audit.found(), []);

    spoil(&service.north, "update shard.account set held = held + 1").await;
    // Not yet: it looks once a minute.
    audit.step(now).await.unwrap();
    assert_eq!(audit.found(), []);
    for _ in 0..2 {
        let now = service.clock.advance(minute);
        audit.step(now).await.unwrap();
        let [fault] = audit.found() else {
            unreachable!("{:?}", audit.found())
        };
        assert_eq!(fault.identity.as_str(), "held");
        assert_eq!(fault.organization, Some(customer.organization));
        assert_eq!((&*fault.expected, &*fault.found), ("28200", "28201"));
    }
    spoil(&service.north, "update shard.account set held = held - 1").await;
    let now = service.clock.advance(minute);
    audit.step(now).await.unwrap();
    assert_eq!(audit.found(), []);
}

#[tokio::test]
async fn one_node_of_a_shard_looks_and_another_takes_over() {
    let mut service = Service::with_prices().await;
    customer(&service).await;
    let mut other = service.another_crew().await;
    spoil(
        &service.north,
        "update shard.account set posted = posted + 1",
    )
    .await;
    let now = service.now();
    let first = &mut service.crews[0].audit;
    let (one, two) = join(first.step(now), other.audit.step(now)).await;
    one.unwrap();
    two.unwrap();
    let found = [first.found().len(), other.audit.found().len()];
    assert!(found == [1, 0] || found == [0, 1], "{found:?}");

    let first = service.crews.remove(0);
    let now = service.clock.advance(std::time::Duration::from_mins(1));
    let mut left = if found == [1, 0] {
        first.leave().await.unwrap();
        other
    } else {
        other.leave().await.unwrap();
        first
    };
    left.audit.step(now).await.unwrap();
    assert_eq!(left.audit.found().len(), 1);
}

#[tokio::test]
async fn a_stage_that_cannot_look_asks_again_later() {
    let mut service = Service::with_prices().await;
    customer(&service).await;
    spoil(&service.north, "alter table shard.posting rename to hidden").await;
    let now = service.now();
    let audit = &mut service.crews[0].audit;
    audit.step(now).await.unwrap_err();
    // Not at once: the others have work to do.
    audit.step(now).await.unwrap();
    spoil(&service.north, "alter table shard.hidden rename to posting").await;
    let now = service.clock.advance(std::time::Duration::from_mins(1));
    audit.step(now).await.unwrap();
    assert_eq!(audit.found(), []);
}

#[tokio::test]
async fn credit_is_added_once_for_each_reference() {
    let service = Service::with_prices().await;
    let customer = service.customer().await;
    let id = customer.organization;
    let paid = document(
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

    let again = document(
        &service,
        &format!("credit add {id} 250.5 --reference invoice-7"),
    );
    assert_eq!(
        (&again["posting"], &again["repeated"]),
        (&1.into(), &true.into())
    );
    let said = refused(
        &service,
        &format!("credit add {id} 250 --reference invoice-7"),
    );
    assert!(said.contains("invoice-7 belongs to posting 1"), "{said}");

    let said = refused(&service, &format!("credit withdraw {id} 250.500000001"));
    assert!(
        said.contains("only 250.50 dollars can be withdrawn"),
        "{said}"
    );
    let paid = document(&service, &format!("credit withdraw {id} 50.5"));
    assert_eq!(
        (&paid["kind"], &paid["balance"]),
        (&"withdrawal".into(), &200_000_000_000_i64.into())
    );
    let nobody = format!("org_{}", "0".repeat(32));
    let said = refused(&service, &format!("credit add {nobody} 1"));
    assert!(said.contains("there is no organization"), "{said}");
    insta::assert_snapshot!(service.books(&customer).await, @"posted 200.00 held 0.00 postings 2 | 1970-01-01 used 0 reserved 0");
}

#[tokio::test]
async fn a_quota_is_set_shown_and_given_back_to_the_plan() {
    let service = Service::with_prices().await;
    let customer = customer(&service).await;
    let id = customer.organization;
    service.load(&customer, &ask("priced", "Hello.", 64)).await;
    let shown = document(&service, &format!("organization set-quota {id} 89"));
    assert_eq!(shown["monthly_tokens"]["quota"], 89);
    assert_eq!(shown["credit"]["held"], 28_200);
    assert_eq!(shown["credit"]["available"], 9_999_971_800_i64);
    let shown = document(&service, &format!("organization set-quota {id} unlimited"));
    assert_eq!(shown["monthly_tokens"]["quota"], Value::Null);
    assert_eq!(shown["monthly_tokens"]["is_own"], true);
    let shown = document(&service, &format!("organization set-quota {id} plan"));
    assert_eq!(shown["monthly_tokens"]["is_own"], false);
    assert_eq!(
        document(&service, &format!("organization show {id}")),
        shown
    );
}

#[tokio::test]
async fn a_statement_has_every_posting_in_three_forms() {
    let mut service = Service::with_prices().await;
    let customer = customer(&service).await;
    let id = customer.organization;
    service.load(&customer, &ask("priced", "Hello.", 64)).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    // More than a page.
    spoil(
        &service.north,
        "insert into shard.posting (organization, number, kind, at, credit, revenue, loss, funding, balance, note)
         select organization, 2 + n, 'deposit', at + n * interval '1 minute', 1, 0, 0, -1, balance + n, '=1+1'
         from shard.posting, generate_series(1, 1500) n where number = 2;
         update shard.account set posted = posted + 1500, postings = postings + 1500",
    )
    .await;
    let all = document(&service, &format!("ledger statement {id}"));
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

    let csv = done(&service, &format!("ledger statement {id} --form csv"));
    assert_eq!(csv.lines().count(), 1503);
    assert!(csv.lines().nth(3).unwrap().ends_with(",'=1+1"), "{csv}");
    let text = done(
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

#[tokio::test]
async fn the_check_is_clean_or_ends_with_1_and_the_faults() {
    let mut service = Service::with_prices().await;
    let north = customer(&service).await;
    service.load(&north, &ask("priced", "Hello.", 64)).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    insta::assert_snapshot!(done(&service, "ledger check"), @r"
    shard north: clean
      accounts 1, postings 2, open holds 0, outcomes 1
    shard south: clean
      accounts 0, postings 0, open holds 0, outcomes 0
    ");
    let clean = document(&service, "ledger check");
    assert_eq!(clean["clean"], true);

    spoil(
        &service.north,
        "update shard.posting set balance = balance + 1 where number = 2",
    )
    .await;
    let output = admin(&service, "ledger check --json");
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
