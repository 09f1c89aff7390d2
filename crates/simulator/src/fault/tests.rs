//! When faults fire.

use super::{AccountFaults, FaultName, SimulatedFault};

#[test]
fn a_fault_fires_as_often_as_it_was_told() {
    let mut faults = AccountFaults::default();
    faults.set(vec![SimulatedFault::new(FaultName::Poll500).times(2)]);
    let fired: Vec<bool> = (0..4)
        .map(|_| faults.fire(FaultName::Poll500).is_some())
        .collect();
    assert_eq!(fired, [true, true, false, false]);
    assert!(faults.all().is_empty());
}

#[test]
fn a_fault_without_a_count_fires_until_it_is_cleared() {
    let mut faults = AccountFaults::default();
    faults.set(vec![SimulatedFault::new(FaultName::Stuck)]);
    assert!((0..10).all(|_| faults.fire(FaultName::Stuck).is_some()));
    assert!(faults.fire(FaultName::Shuffle).is_none());
    faults.set(Vec::new());
    assert!(faults.fire(FaultName::Stuck).is_none());
}

#[test]
fn a_fault_can_skip_occasions() {
    let mut fault = SimulatedFault::new(FaultName::Poll429);
    fault.every = Some(3);
    let mut faults = AccountFaults::default();
    faults.add(vec![fault]);
    let fired: Vec<bool> = (0..6)
        .map(|_| faults.fire(FaultName::Poll429).is_some())
        .collect();
    assert_eq!(fired, [false, false, true, false, false, true]);
}

#[test]
fn a_fault_is_written_by_its_name_and_parameters_alone() {
    let fault = SimulatedFault::new(FaultName::Create500After).times(1);
    let written = serde_json::to_string(&fault).expect("a fault is JSON");
    assert_eq!(written, r#"{"name":"create_500_after","times":1}"#);
    let read: SimulatedFault =
        serde_json::from_str(r#"{"name":"list_lag","seconds":10}"#).expect("known");
    assert_eq!(read, SimulatedFault::new(FaultName::ListLag).seconds(10));
    serde_json::from_str::<SimulatedFault>(r#"{"name":"list_lag","second":10}"#)
        .expect_err("a typing error");
}

#[test]
fn the_page_names_every_fault() {
    let page = include_str!("../../../../docs/simulator.md");
    // The error message lists all names.
    let message = serde_json::from_str::<FaultName>("\"?\"").expect_err("no such fault");
    let message = message.to_string();
    let names: Vec<&str> = message.split('`').skip(3).step_by(2).collect();
    assert!(names.len() > 40, "{message}");
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}
