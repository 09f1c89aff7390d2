//! How savings look.

use domain::id::Berth;
use domain::money::Money;
use domain::saving::Saving;

use super::*;
use crate::admin::printer::Printer;

fn sums() -> Sums {
    let organization = |number| {
        let moment = Timestamp::from_timestamp_micros(1_767_225_600_000_000).unwrap();
        OrganizationId::new(moment, Berth::new(5).unwrap(), number)
    };
    let sum = |cargo, charged, realtime| Sum {
        cargo,
        charged: Money(charged),
        saving: Saving::between(Money(realtime), Money(charged)),
    };
    let unknown = Sum {
        saving: Saving::default(),
        ..sum(2, 500, 0)
    };
    let of = |number, model: &str| (Some(organization(number)), model.to_owned());
    BTreeMap::from([
        (
            of(1, "harbour-large"),
            sum(1000, 2_500_000_000, 5_000_000_000),
        ),
        (of(1, "unknown"), unknown),
        (of(2, "harbour-large"), sum(1, 2, 3)),
        (of(2, "harbour-small"), sum(1, 4, 3)),
    ])
}

#[test]
fn savings_for_people() {
    let text = View::new(None, sums()).shown(Printer::Text).unwrap();
    insta::assert_snapshot!(text, @"");
}

#[test]
fn savings_for_scripts() {
    let since = argument::day("2026-01-31").unwrap();
    let json = View::new(Some(since), sums()).shown(Printer::Json).unwrap();
    insta::assert_snapshot!(json, @"");
}

#[test]
fn nothing_was_saved_where_nothing_was_charged() {
    let text = View::new(None, Sums::new()).shown(Printer::Text).unwrap();
    assert_eq!(text, "none\n");
}
