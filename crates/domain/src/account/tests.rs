//! Holds placed and ended, month by month.

use super::*;
use crate::id::Berth;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn account(posted: i64, own: Option<u64>) -> Account {
    let opened = at("2026-01-01T00:00:00Z");
    Account {
        organization: OrganizationId::new(opened, Berth::new(0).unwrap(), 1),
        posted: Money(posted),
        held: Money::ZERO,
        postings: 0,
        tokens: MonthlyTokenQuota {
            custom_quota: own,
            period: NaiveDate::default(),
            used: 0,
            reserved: 0,
        },
    }
}

const fn hold(amount: i64, tokens: u64) -> Hold {
    Hold {
        amount: Money(amount),
        price: None,
        tokens,
    }
}

#[test]
fn credit_is_held_to_the_last_nano_dollar_and_no_further() {
    let now = at("2026-01-15T12:00:00Z");
    let mut account = account(100, None);
    assert_eq!(account.place_hold(&hold(60, 1), None, now), Ok(()));
    let refusal = AccountRefusal::InsufficientCredit {
        required: Money(41),
        available: Money(40),
    };
    assert_eq!(account.place_hold(&hold(41, 1), None, now), Err(refusal));
    assert_eq!(account.place_hold(&hold(40, 1), None, now), Ok(()));
    assert_eq!(account.available(), Money::ZERO);
    // A free load needs no credit.
    assert_eq!(account.place_hold(&hold(0, 0), None, now), Ok(()));
}

#[test]
fn a_refused_load_reserves_nothing() {
    let now = at("2026-01-15T12:00:00Z");
    let mut account = account(10, Some(100));
    let before = account;
    assert!(account.place_hold(&hold(11, 50), None, now).is_err());
    assert_eq!((account.held, account.tokens.reserved), (before.held, 0));
}

#[test]
fn the_rest_of_a_hold_is_released_when_it_ends() {
    let now = at("2026-01-15T12:00:00Z");
    let mut account = account(100, Some(1000));
    let held = hold(60, 500);
    account.place_hold(&held, None, now).unwrap();
    let settlement = Settlement {
        charged: Money(20),
        lost: Money::ZERO,
        tokens: 120,
    };
    account.end_hold(&held, &settlement, now);
    assert_eq!((account.posted, account.held), (Money(80), Money::ZERO));
    assert_eq!((account.tokens.used, account.tokens.reserved), (120, 0));
}

#[test]
fn a_custom_quota_overrides_the_plans() {
    let now = at("2026-12-31T23:59:59Z");
    let refusal = AccountRefusal::QuotaExceeded {
        monthly: 10,
        spoken_for: 6,
        required: 5,
        resets_at: at("2027-01-01T00:00:00Z"),
    };
    let mut own = account(0, Some(10));
    own.place_hold(&hold(0, 6), Some(1_000_000), now).unwrap();
    assert_eq!(
        own.place_hold(&hold(0, 5), Some(1_000_000), now),
        Err(refusal)
    );
    let mut plans = account(0, None);
    plans.place_hold(&hold(0, 6), Some(10), now).unwrap();
    assert_eq!(plans.place_hold(&hold(0, 5), Some(10), now), Err(refusal));
    assert_eq!(plans.place_hold(&hold(0, 5), None, now), Ok(()));
}

#[test]
fn a_reservation_is_settled_in_the_month_in_which_it_was_made() {
    let (january, february) = (at("2026-01-31T23:59:59Z"), at("2026-02-01T00:00:00Z"));
    let mut account = account(0, Some(10));
    let held = hold(0, 10);
    account.place_hold(&held, None, january).unwrap();
    // A new month begins with nothing used or reserved.
    account.place_hold(&held, None, february).unwrap();
    let used = Settlement {
        tokens: 7,
        ..Settlement::default()
    };
    account.end_hold(&held, &used, january);
    assert_eq!((account.tokens.used, account.tokens.reserved), (0, 10));
    account.end_hold(&held, &used, february);
    assert_eq!((account.tokens.used, account.tokens.reserved), (7, 0));
}

#[test]
fn a_clock_that_steps_back_over_midnight_brings_no_month_back() {
    let (january, february) = (at("2026-01-31T23:59:59Z"), at("2026-02-01T00:00:00Z"));
    let mut account = account(0, Some(10));
    account.place_hold(&hold(0, 8), None, february).unwrap();
    assert!(account.place_hold(&hold(0, 3), None, january).is_err());
    account.place_hold(&hold(0, 2), None, january).unwrap();
    account.end_hold(&hold(0, 2), &Settlement::default(), january);
    assert_eq!(account.tokens.reserved, 8);
}
