//! How savings are printed.

use domain::id::Berth;
use domain::money::Money;
use domain::saving::Saving;

use super::*;
use crate::admin::printer::Printer;

fn sums() -> SavingsSums {
    let organization = |number| {
        let moment = Timestamp::from_timestamp_micros(1_767_225_600_000_000).unwrap();
        OrganizationId::new(moment, Berth::new(5).unwrap(), number)
    };
    let sum = |cargo, charged, realtime, cost| SavingsSum {
        cargo,
        charged: Money(charged),
        cost: Money(cost),
        saving: Saving::between(Money(realtime), Money(charged)),
    };
    let unknown = SavingsSum {
        saving: Saving::default(),
        ..sum(2, 500, 0, 0)
    };
    let of = |number, model: &str| (Some(organization(number)), model.to_owned());
    BTreeMap::from([
        (
            of(1, "example-large"),
            sum(1000, 2_500_000_000, 5_000_000_000, 2_400_000_000),
        ),
        (of(1, "unknown"), unknown),
        (of(2, "example-large"), sum(1, 2, 3, 2)),
        (of(2, "example-small"), sum(1, 4, 3, 7)),
    ])
}

#[test]
fn savings_for_people() {
    let text = SavingsView::new(None, sums())
        .render(Printer::Text)
        .unwrap();
    insta::assert_snapshot!(text, @"
    ORGANIZATION                          MODEL          CARGO  CHARGED          REALTIME         SAVED            PERCENT  COST             MARGIN
    org_019b76daa80070008050000000000001  example-large  1000   2.50 USD         5.00 USD         2.50 USD         50.0     2.40 USD         0.10 USD
    org_019b76daa80070008050000000000001  unknown        2      0.0000005 USD    -                -                -        -                -
    org_019b76daa80070008050000000000002  example-large  1      0.000000002 USD  0.000000003 USD  0.000000001 USD  33.3     0.000000002 USD  0.00 USD
    org_019b76daa80070008050000000000002  example-small  1      0.000000004 USD  0.000000003 USD  0.00 USD         0.0      0.000000007 USD  -0.000000003 USD
    total                                                1004   2.500000506 USD  5.000000006 USD  2.500000001 USD  50.0     2.400000009 USD  0.100000497 USD
    ");
}

#[test]
fn savings_for_scripts() {
    let since = argument::day("2026-01-31").unwrap();
    let json = SavingsView::new(Some(since), sums())
        .render(Printer::Json)
        .unwrap();
    insta::assert_snapshot!(json, @r#"{"since":"2026-01-31T00:00:00.000000Z","currency":"USD","scale":9,"savings":[{"organization_id":"org_019b76daa80070008050000000000001","model":"example-large","cargo":1000,"charged":2500000000,"realtime":5000000000,"saved":2500000000,"percent":"50.0","cost":2400000000,"margin":100000000},{"organization_id":"org_019b76daa80070008050000000000001","model":"unknown","cargo":2,"charged":500,"realtime":null,"saved":null,"percent":null,"cost":null,"margin":null},{"organization_id":"org_019b76daa80070008050000000000002","model":"example-large","cargo":1,"charged":2,"realtime":3,"saved":1,"percent":"33.3","cost":2,"margin":0},{"organization_id":"org_019b76daa80070008050000000000002","model":"example-small","cargo":1,"charged":4,"realtime":3,"saved":0,"percent":"0.0","cost":7,"margin":-3}],"total":{"cargo":1004,"charged":2500000506,"realtime":5000000006,"saved":2500000001,"percent":"50.0","cost":2400000009,"margin":100000497}}"#);
}

#[test]
fn nothing_was_saved_where_nothing_was_charged() {
    let text = SavingsView::new(None, SavingsSums::new())
        .render(Printer::Text)
        .unwrap();
    assert_eq!(text, "none\n");
}
