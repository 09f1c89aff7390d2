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
        denied: Vec::new(),
    }
}

#[test]
fn low_cloud_services_count_as_internal() {
    let (nothing, opened) = (
        AllowedAddresses::default(),
        allow_ranges(&["168.63.129.16/32"]),
    );
    for address in [
        "168.63.129.16",
        "::ffff:168.63.129.16",
        "161.26.0.10",
        "166.8.0.1",
        "166.11.255.255",
        "100.100.100.200",
        "169.254.169.254",
        "fd00:ec2::254",
    ] {
        assert!(!nothing.may_call(ip(address)), "{address}");
    }
    for beside in ["168.63.129.15", "168.63.129.17", "161.27.0.1", "166.12.0.1"] {
        assert!(nothing.may_call(ip(beside)), "{beside}");
    }
    assert!(opened.may_call(ip("168.63.129.16")));
}

#[test]
fn low_a_denied_range_is_never_called() {
    let denied = AllowedAddresses {
        denied: vec![
            "8.8.8.0/24".parse().unwrap(),
            "10.1.0.0/16".parse().unwrap(),
        ],
        ..allow_ranges(&["10.0.0.0/8"])
    };
    for address in ["8.8.8.8", "::ffff:8.8.8.8", "10.1.2.3"] {
        assert!(!denied.may_call(ip(address)), "{address}");
    }
    for address in ["8.8.4.4", "10.2.0.1"] {
        assert!(denied.may_call(ip(address)), "{address}");
    }
    let mixed = denied.vet([ip("8.8.4.4"), ip("8.8.8.8")]);
    assert_eq!(mixed, Err(AddressRefusal::NotAllowed));
}

#[test]
fn low_hosts_and_ports_can_be_denied() {
    let rules = DestinationRules {
        denied_hosts: vec!["corp.example".to_owned(), "localhost".to_owned()],
        allowed_ports: vec![443..=443, 8000..=8999],
        ..DestinationRules::default()
    };
    for denied in [
        "corp.example",
        "a.b.corp.example",
        "corp.example.",
        "localhost",
    ] {
        let checked = rules.check_host(denied);
        assert_eq!(checked, Err(AddressRefusal::HostDenied), "{denied}");
    }
    for other in [
        "notcorp.example",
        "corp.example.org",
        "example",
        "127.0.0.1",
    ] {
        assert_eq!(rules.check_host(other), Ok(()), "{other}");
    }
    for (port, is_allowed) in [
        (443, true),
        (8000, true),
        (8999, true),
        (80, false),
        (22, false),
    ] {
        assert_eq!(rules.check_port(port).is_ok(), is_allowed, "{port}");
    }
    assert_eq!(DestinationRules::default().check_port(22), Ok(()));
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
