//! Slots among quick, unknown, slow and failing hosts.

use std::time::Duration;

use chrono::TimeDelta;

use super::*;

const START: Timestamp = Timestamp::UNIX_EPOCH;
const QUICK: HostAnswer = HostAnswer::Answered(Duration::from_millis(20));
const TIMEOUT: HostAnswer = HostAnswer::Failed(Duration::from_secs(30));

fn state(slots: usize, per_destination: usize) -> SlotState {
    SlotState::new(CallbackLimits {
        slots,
        per_destination,
        payload_bytes: 1000,
    })
}

fn destination(organization: u128, host: &str) -> Destination {
    let organization = uuid::Uuid::from_u128(organization).into();
    Destination {
        organization,
        host: host.to_owned(),
    }
}

/// Takes all free slots of the destination.
fn fill(state: &mut SlotState, destination: &Destination) -> usize {
    let mut taken = 0;
    while state.free_slots(destination, START).is_ok() {
        state.take(destination, START);
        taken += 1;
    }
    taken
}

/// Calls the host `times` times, one call after another.
fn call(state: &mut SlotState, destination: &Destination, answer: HostAnswer, times: usize) {
    for _ in 0..times {
        state.take(destination, START);
        state.release(destination, 0, Some(answer), START);
    }
}

#[test]
fn a_destination_gets_what_its_answers_earn() {
    let mut state = state(100, 8);
    let host = destination(1, "new");
    assert_eq!(fill(&mut state, &host), 1);
    state.release(&host, 0, Some(QUICK), START);
    assert_eq!(fill(&mut state, &host), 4);
    call(&mut state, &host, QUICK, 100);
    assert_eq!(fill(&mut state, &host), 4, "8 are in flight");
}

#[test]
fn an_organization_with_many_hosts_takes_an_eighth() {
    let mut state = state(80, 3);
    let hosts: Vec<_> = (0..100)
        .map(|host| destination(1, &host.to_string()))
        .collect();
    for host in &hosts {
        call(&mut state, host, QUICK, 1);
    }
    let taken: usize = hosts.iter().map(|host| fill(&mut state, host)).sum();
    assert_eq!(taken, 10);
    assert_eq!(
        state.free_slots(&hosts[99], START),
        Err(NoSlotReason::Organization)
    );
    assert!(state.free_slots(&destination(2, "0"), START).is_ok());
}

#[test]
fn a_host_that_many_organizations_call_takes_a_quarter() {
    let mut state = state(80, 3);
    let mut taken = 0;
    for organization in 0..100 {
        let host = destination(organization, "shared");
        call(&mut state, &host, QUICK, 1);
        taken += fill(&mut state, &host);
    }
    assert_eq!(taken, 20);
    assert_eq!(
        state.free_slots(&destination(99, "shared"), START),
        Err(NoSlotReason::Host)
    );
}

#[test]
fn nine_thousand_dead_receivers_leave_slots_to_the_quick_ones() {
    let mut state = state(4096, 256);
    let quick = destination(0, "quick");
    call(&mut state, &quick, QUICK, 300);
    // A third is known to hang; the others were never called.
    for number in 1..=9000 {
        let dead = destination(number, &number.to_string());
        if number % 3 == 0 {
            call(&mut state, &dead, TIMEOUT, 1);
        }
        fill(&mut state, &dead);
    }
    assert_eq!(state.in_use(HostClass::Failing).slots, 1024);
    assert_eq!(state.in_use(HostClass::Unknown).slots, 1024);
    assert_eq!(fill(&mut state, &quick), 256);
}

#[test]
fn a_quick_host_that_stops_answering_gets_no_more() {
    let mut state = state(4096, 256);
    let host = destination(1, "hangs");
    call(&mut state, &host, QUICK, 300);
    state.take(&host, START);
    let at = |seconds| START + TimeDelta::seconds(seconds);
    assert_eq!(state.free_slots(&host, at(1)), Ok(255));
    assert_eq!(
        state.free_slots(&host, at(3)),
        Err(NoSlotReason::Destination)
    );
    state.take(&host, at(3));
    state.release(&host, 0, Some(QUICK), at(4));
    assert_eq!(state.free_slots(&host, at(5)), Ok(255));
}

#[test]
fn slots_are_counted_under_the_class_that_the_answers_say() {
    let mut state = state(100, 10);
    let host = destination(1, "turns bad");
    call(&mut state, &host, QUICK, 10);
    assert_eq!(fill(&mut state, &host), 10);
    assert_eq!(state.in_use(HostClass::Quick).slots, 10);
    for _ in 0..4 {
        state.release(&host, 0, Some(TIMEOUT), START);
    }
    assert_eq!(state.in_use(HostClass::Quick).slots, 0);
    assert_eq!(state.in_use(HostClass::Failing).slots, 6);
    for _ in 0..6 {
        state.release(&host, 0, Some(QUICK), START);
    }
    assert_eq!(state.total, SlotUsage::default());
    assert!(state.destinations.is_empty() && state.hosts.is_empty());
    assert!(state.organizations.is_empty());
    assert!(
        HostClass::ALL
            .iter()
            .all(|class| state.in_use(*class) == SlotUsage::default())
    );
}

#[test]
fn another_organizations_first_contact_with_a_failing_host_counts_as_failing() {
    let mut state = state(100, 10);
    call(&mut state, &destination(1, "dead"), TIMEOUT, 1);
    assert_eq!(state.class(&destination(2, "dead")), HostClass::Failing);
    assert_eq!(state.class(&destination(2, "other")), HostClass::Unknown);
}

#[test]
fn h4_payloads_take_only_the_memory_of_their_class() {
    let mut state = state(100, 10);
    let (dead, quick) = (destination(1, "dead"), destination(2, "quick"));
    call(&mut state, &dead, TIMEOUT, 1);
    call(&mut state, &quick, QUICK, 10);
    state.take(&dead, START);
    // A single payload always fits, however large.
    assert!(state.fits(&dead, 5000));
    state.add_bytes(&dead, 250);
    assert!(!state.fits(&dead, 1));
    assert_eq!(state.free_slots_of_class(HostClass::Failing), 0);
    assert!(state.fits(&quick, 750));
    state.take(&quick, START);
    state.add_bytes(&quick, 200);
    assert!(!state.fits(&quick, 100), "a quarter for one organization");
    assert!(state.fits(&destination(3, "quick too"), 250));
    state.release(&dead, 250, None, START);
    assert!(state.fits(&dead, 250));
}
