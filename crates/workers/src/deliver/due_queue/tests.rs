//! Which destination is next, and which waits for a slot.

use std::time::Duration;

use chrono::TimeDelta;
use domain::host_pace::HostAnswer;
use domain::id::CargoId;

use super::*;
use crate::callback_slots::CallbackLimits;
use crate::stage::Wakeup;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const QUICK: HostAnswer = HostAnswer::Answered(Duration::from_millis(20));
const TIMEOUT: HostAnswer = HostAnswer::Failed(Duration::from_secs(30));

fn slots() -> CallbackSlots {
    let limits = CallbackLimits {
        slots: 400,
        per_destination: 16,
        payload_bytes: 1 << 20,
    };
    CallbackSlots::new(limits, Wakeup::default())
}

fn destination(organization: u128) -> Destination {
    Destination {
        organization: uuid::Uuid::from_u128(organization).into(),
        host: organization.to_string(),
    }
}

fn due(destination: &Destination, seconds: i64) -> DueDestination {
    DueDestination {
        destination: destination.clone(),
        due_from: NOW + TimeDelta::seconds(seconds),
    }
}

fn cargo(number: u128) -> CargoId {
    CargoId::from_uuid(uuid::Uuid::from_u128(number))
}

fn claimed(turn: &DeliveryClaimQuota, count: usize) -> Vec<ClaimedDelivery> {
    let delivery = |number: usize| ClaimedDelivery {
        cargo: cargo(u128::try_from(number).unwrap()),
        destination: turn.destination.clone(),
        due_at: NOW + TimeDelta::seconds(i64::try_from(number).unwrap()),
        number: 1,
        takeovers: 0,
        is_resend: false,
    };
    (0..count).map(delivery).collect()
}

fn call(slots: &CallbackSlots, destination: &Destination, answer: HostAnswer) {
    slots.take(cargo(0), destination, NOW);
    slots.release(destination, 0, Some(answer), NOW);
}

#[test]
fn dead_receivers_beyond_their_share_cost_nothing() {
    let (slots, mut queue) = (slots(), DueQueue::default());
    for number in 1..=9000 {
        call(&slots, &destination(number), TIMEOUT);
        queue.add(due(&destination(number), 0), &slots);
    }
    let turns = queue.next_quotas(&slots, NOW);
    assert_eq!(turns.len(), 100, "a quarter of all slots");
    for turn in &turns {
        slots.take(cargo(1), &turn.destination, NOW);
    }
    queue.apply_claim(turns, &[], &slots);
    // Their class is full: none of them is considered, and a quick host is served at once.
    assert!(queue.next_quotas(&slots, NOW).is_empty());
    let quick = destination(0);
    call(&slots, &quick, QUICK);
    queue.add(due(&quick, 0), &slots);
    let turns = queue.next_quotas(&slots, NOW);
    assert_eq!(turns.len(), 1);
    assert_eq!((&turns[0].destination, turns[0].max), (&quick, 4));
}

#[test]
fn a_destination_without_a_slot_waits_for_one_of_its_own() {
    let (slots, mut queue) = (slots(), DueQueue::default());
    let one = destination(1);
    queue.add(due(&one, 0), &slots);
    let turns = queue.next_quotas(&slots, NOW);
    let delivery = claimed(&turns[0], 1);
    slots.take(cargo(1), &one, NOW);
    queue.apply_claim(turns, &delivery, &slots);
    assert!(queue.next_quotas(&slots, NOW).is_empty());
    assert!(queue.fair_queues.values().all(FairQueue::is_empty) && !queue.is_empty());
    queue.unblock(destination(2), &slots);
    assert!(queue.next_quotas(&slots, NOW).is_empty());
    slots.release(&one, 0, Some(QUICK), NOW);
    queue.unblock(one, &slots);
    assert_eq!(queue.next_quotas(&slots, NOW)[0].max, 4);
}

#[test]
fn a_turn_starts_where_the_last_one_ended_unless_a_row_came_late() {
    let (slots, mut queue) = (slots(), DueQueue::default());
    let one = destination(1);
    for _ in 0..5 {
        call(&slots, &one, QUICK);
    }
    queue.add(due(&one, -60), &slots);
    let mut from = Vec::new();
    for late in [None, Some(-5), None] {
        if let Some(late) = late {
            queue.add(due(&one, late), &slots);
        }
        let turns = queue.next_quotas(&slots, NOW);
        from.push((turns[0].due_from - NOW).num_seconds());
        let all = claimed(&turns[0], turns[0].max);
        queue.apply_claim(turns, &all, &slots);
    }
    assert_eq!(from, [-60, -5, 7]);
}

#[test]
fn what_has_nothing_left_is_forgotten() {
    let (slots, mut queue) = (slots(), DueQueue::default());
    for number in 1..=1000 {
        queue.add(due(&destination(number), 0), &slots);
    }
    while !queue.is_empty() {
        let turns = queue.next_quotas(&slots, NOW);
        queue.apply_claim(turns, &[], &slots);
    }
    assert!(queue.blocked.is_empty() && queue.fair_queues.values().all(FairQueue::is_empty));
}
