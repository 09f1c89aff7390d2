//! Tests the guard with tables, spellings and a reference. No address is ever dialled.

use super::*;

mod blocks;
mod reference;
mod spellings;

fn ip(text: &str) -> IpAddr {
    text.parse()
        .unwrap_or_else(|_| panic!("{text} is no address"))
}

fn allow_ranges(ranges: &[&str]) -> AllowedAddresses {
    AllowedAddresses {
        ranges: ranges.iter().map(|range| range.parse().unwrap()).collect(),
    }
}

#[test]
fn the_tables_hold_at_least_300_addresses_and_spellings() {
    let count = blocks::probe_addresses().len() + blocks::GLOBAL.len() + spellings::TABLE.len();
    assert!(count >= 300, "{count}");
}

#[test]
fn an_opened_range_may_be_called_and_nothing_beside_it() {
    let allowed = allow_ranges(&["127.0.0.0/16", "fd00:1::/32"]);
    for address in [
        "127.0.0.1",
        "127.0.255.255",
        "::ffff:127.0.0.1",
        "fd00:1::9",
        "8.8.8.8",
    ] {
        assert!(allowed.may_call(ip(address)), "{address}");
    }
    let refused = [
        "127.1.0.0",
        "127.9.9.9",
        "::ffff:127.9.9.9",
        "10.0.0.1",
        "::1",
        "fd00:2::9",
        // These forms embed 127.0.0.1, but are other addresses.
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "2002:7f00:1::",
    ];
    for address in refused {
        assert!(!allowed.may_call(ip(address)), "{address}");
    }
}

#[test]
fn one_refused_record_refuses_the_whole_answer() {
    let nothing = AllowedAddresses::default();
    for answer in [
        &["8.8.8.8", "10.0.0.1"][..],
        &["10.0.0.1", "8.8.8.8"],
        &["8.8.8.8", "2606:4700::1111", "::1"],
        &["8.8.8.8", "::ffff:192.168.0.1"],
        &["127.0.0.1"],
    ] {
        let vetted = nothing.vet(answer.iter().map(|address| ip(address)));
        assert_eq!(vetted, Err(AddressRefusal::NotAllowed), "{answer:?}");
    }
    let hundred = (0..100)
        .map(|last| ip(&format!("8.8.8.{last}")))
        .chain([ip("fe80::1")]);
    assert_eq!(nothing.vet(hundred), Err(AddressRefusal::NotAllowed));
}

#[test]
fn an_empty_answer_is_refused() {
    assert_eq!(
        AllowedAddresses::default().vet([]),
        Err(AddressRefusal::NoAddress)
    );
}

#[test]
fn a_good_answer_keeps_its_order_and_loses_repetitions() {
    let answer = [
        "2606:4700::1111",
        "8.8.8.8",
        "::ffff:8.8.8.8",
        "8.8.4.4",
        "8.8.8.8",
    ]
    .map(ip);
    let vetted = AllowedAddresses::default().vet(answer).unwrap();
    assert_eq!(vetted, ["2606:4700::1111", "8.8.8.8", "8.8.4.4"].map(ip));
}
