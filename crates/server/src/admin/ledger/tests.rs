//! The three formats of a statement, and the output of a check.

use std::time::Duration;

use domain::id::{Berth, CargoId};
use domain::ledger::{DoubleEntry, PostingKind};
use domain::money::Money;
use store::shard::ledger_audit::{self, LedgerAuditReport, LedgerFault, LedgerInvariant};
use store::shard::statement::{StatementLine, StatementRange};

use super::check::{ExaminedLedgerRows, split_report};
use super::csv::{CsvStatement, escape_formula};
use super::formatter::StatementFormatter;
use super::json::JsonStatement;
use super::text::TextStatement;
use super::*;
use crate::admin::consistency_check::{ConsistencyReport, ShardConsistency};

fn moment(second: i64) -> Timestamp {
    Timestamp::from_timestamp_micros(1_767_225_600_000_000 + second * 1_000_000).unwrap()
}

fn organization() -> OrganizationId {
    OrganizationId::new(moment(0), Berth::new(5).unwrap(), 1)
}

fn line(number: u64, kind: PostingKind, entries: DoubleEntry, balance: i64) -> StatementLine {
    StatementLine {
        number,
        at: moment(i64::try_from(number).unwrap()),
        kind,
        entries,
        balance: Money(balance),
        cargo: if kind == PostingKind::Settlement {
            12
        } else {
            0
        },
        reference: None,
        note: None,
    }
}

fn lines() -> Vec<StatementLine> {
    let paid_in = StatementLine {
        reference: Some("invoice-1007".to_owned()),
        note: Some("=HYPERLINK(\"x\"), \"quoted\"".to_owned()),
        ..line(
            2,
            PostingKind::Deposit,
            DoubleEntry::deposit(Money(250_000_000_000)),
            260_500_000_000,
        )
    };
    let settled = DoubleEntry::settlement(Money(28_200), Money(1));
    let paid_out = DoubleEntry::withdrawal(Money(60_000_000_000));
    vec![
        paid_in,
        line(3, PostingKind::Settlement, settled, 260_499_971_800),
        line(4, PostingKind::Withdrawal, paid_out, 200_499_971_800),
    ]
}

fn statement(mut formatter: impl StatementFormatter, lines: &[StatementLine]) -> String {
    let end = 2 + u64::try_from(lines.len()).unwrap();
    let span = StatementRange {
        first: 2,
        end,
        opening: Money(10_500_000_000),
        closing: lines
            .last()
            .map_or(Money(10_500_000_000), |line| line.balance),
    };
    let request = StatementRequest {
        organization: organization(),
        since: Some(moment(0)),
        until: None,
    };
    let mut text = formatter.head(request, span).unwrap();
    for line in lines {
        text.push_str(&formatter.line(line).unwrap());
    }
    text + &formatter.tail(span)
}

#[test]
fn people_get_columns() {
    insta::assert_snapshot!(statement(TextStatement, &lines()), @r#"
    org_019b76daa80070008050000000000001 from 2026-01-01T00:00:00.000000Z, in US dollars

      NUMBER  AT                           KIND             CREDIT             BALANCE          CARGO      REVENUE                LOSS         REFERENCE             NOTE
                                           opening                               10.50
           2  2026-01-01T00:00:02.000000Z  deposit          250.00              260.50                                                         invoice-1007          =HYPERLINK("x"), "quoted"
           3  2026-01-01T00:00:03.000000Z  settlement        -0.0000282         260.4999718        12         0.000028201        -0.000000001
           4  2026-01-01T00:00:04.000000Z  withdrawal       -60.00              200.4999718
                                           closing                              200.4999718

    postings: 3
    "#);
    insta::assert_snapshot!(statement(TextStatement, &[]), @r"
    org_019b76daa80070008050000000000001 from 2026-01-01T00:00:00.000000Z, in US dollars

      NUMBER  AT                           KIND             CREDIT             BALANCE          CARGO      REVENUE                LOSS         REFERENCE             NOTE
                                           opening                               10.50
                                           closing                               10.50

    postings: 0
    ");
}

#[test]
fn spreadsheets_get_records_without_formulas() {
    let text = statement(CsvStatement, &lines());
    assert!(text.lines().count() == 4 && text.ends_with("\r\n"));
    insta::assert_snapshot!(text.replace('\r', ""), @r#"
    number,at,kind,credit_dollars,credit_nanodollars,balance_dollars,balance_nanodollars,cargo,revenue_dollars,revenue_nanodollars,loss_dollars,loss_nanodollars,reference,note
    2,2026-01-01T00:00:02.000000Z,deposit,250.00,250000000000,260.50,260500000000,0,,,,,invoice-1007,"'=HYPERLINK(""x""), ""quoted"""
    3,2026-01-01T00:00:03.000000Z,settlement,-0.0000282,-28200,260.4999718,260499971800,12,0.000028201,28201,-0.000000001,-1,,
    4,2026-01-01T00:00:04.000000Z,withdrawal,-60.00,-60000000000,200.4999718,200499971800,0,,,,,,
    "#);
    for (text, shown) in [
        ("=1", "'=1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\tx", "'\tx"),
        ("x=1", "x=1"),
    ] {
        assert_eq!(escape_formula(text), shown);
    }
}

#[test]
fn scripts_get_one_object() {
    let text = statement(JsonStatement::default(), &lines());
    insta::assert_snapshot!(text, @r#"
    {"organization_id":"org_019b76daa80070008050000000000001","since":"2026-01-01T00:00:00.000000Z","until":null,"currency":"USD","scale":9,"opening_balance":10500000000,"opening_balance_dollars":"10.50","closing_balance":200499971800,"closing_balance_dollars":"200.4999718","postings":[
    {"number":2,"at":"2026-01-01T00:00:02.000000Z","kind":"deposit","credit":250000000000,"credit_dollars":"250.00","balance":260500000000,"balance_dollars":"260.50","cargo":0,"reference":"invoice-1007","note":"=HYPERLINK(\"x\"), \"quoted\""},
    {"number":3,"at":"2026-01-01T00:00:03.000000Z","kind":"settlement","credit":-28200,"credit_dollars":"-0.0000282","balance":260499971800,"balance_dollars":"260.4999718","cargo":12,"revenue":28201,"revenue_dollars":"0.000028201","loss":-1,"loss_dollars":"-0.000000001","reference":null,"note":null},
    {"number":4,"at":"2026-01-01T00:00:04.000000Z","kind":"withdrawal","credit":-60000000000,"credit_dollars":"-60.00","balance":200499971800,"balance_dollars":"200.4999718","cargo":0,"reference":null,"note":null}
    ]}
    "#);
    for text in [text, statement(JsonStatement::default(), &[])] {
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    }
}

fn checked(faults: Vec<LedgerFault>) -> ConsistencyReport<ExaminedLedgerRows> {
    let examined = ledger_audit::LedgerAuditCounts {
        accounts: 3,
        postings: 12,
        open_holds: 4,
        outcomes: 20,
    };
    let clean = faults.is_empty();
    let report = LedgerAuditReport {
        counts: examined,
        faults,
    };
    let (examined, faults) = split_report(report, Duration::from_millis(1250));
    let shards = vec![ShardConsistency::new("north", examined, faults)];
    ConsistencyReport { clean, shards }
}

#[test]
fn a_clean_ledger_says_what_was_examined() {
    let clean = checked(Vec::new());
    insta::assert_snapshot!(clean.text(), @r"
    shard north: clean
      accounts 3, postings 12, open holds 4, outcomes 20, in 1.2 s
    ");
    assert!(clean.verdict().is_ok());
}

#[test]
fn a_fault_is_named_and_ends_with_a_failure() {
    let spoiled = checked(vec![LedgerFault {
        invariant: LedgerInvariant::Charge,
        organization: Some(organization()),
        posting: None,
        cargo: Some(CargoId::new(moment(0), Berth::new(5).unwrap(), 2)),
        expected: "charged 30000".to_owned(),
        found: "charged 29999".to_owned(),
    }]);
    insta::assert_snapshot!(spoiled.text(), @r"
    shard north: FAULTS: 1
      accounts 3, postings 12, open holds 4, outcomes 20, in 1.2 s
      charge: org_019b76daa80070008050000000000001 crg_019b76daa80070008050000000000002 expected charged 30000, found charged 29999; a charge is what was used at the prices of the hold, at most the hold, and nothing where cargo failed
    ");
    insta::assert_snapshot!(serde_json::to_string(&spoiled).unwrap(), @r#"{"clean":false,"shards":[{"shard":"north","clean":false,"accounts":3,"postings":12,"open_holds":4,"outcomes":20,"seconds":1.25,"failure":null,"faults":[{"identity":"charge","broken":"a charge is what was used at the prices of the hold, at most the hold, and nothing where cargo failed","organization_id":"org_019b76daa80070008050000000000001","posting":null,"cargo_id":"crg_019b76daa80070008050000000000002","expected":"charged 30000","found":"charged 29999"}]}]}"#);
    insta::assert_snapshot!(spoiled.verdict().unwrap_err(), @r#"the ledger is inconsistent, faults: 1; nothing was changed. Keep this output, and see "When a fault is found" in docs/credit-and-ledger.md"#);
}

#[test]
fn a_shard_that_does_not_answer_is_not_clean() {
    let mut unread = checked(Vec::new());
    unread.shards.push(ShardConsistency::failed(
        "south",
        "the database failed".to_owned(),
    ));
    insta::assert_snapshot!(unread.text(), @r"
    shard north: clean
      accounts 3, postings 12, open holds 4, outcomes 20, in 1.2 s
    shard south: not checked: the database failed
    ");
    insta::assert_snapshot!(unread.verdict().unwrap_err(), @"shard south could not be checked: `longshored doctor` says more");
}
