//! Which loads enter the queue, and which are refused at once.

use super::*;

fn organization(number: u8) -> OrganizationId {
    let id = format!(
        "org_{:032x}",
        0x019b_76da_807b_774b_8051_2345_6789_ab00_u128 + u128::from(number)
    );
    id.parse().unwrap()
}

fn empty_queue() -> (Arc<AdmissionControl>, Instant) {
    (Arc::new(AdmissionControl::default()), Instant::now())
}

fn queued(admission: &Arc<AdmissionControl>, count: usize, now: Instant) -> Vec<QueueTicket> {
    let tickets = (0..count).map_while(|_| admission.admit(organization(1), 100, now).ok());
    tickets.collect()
}

/// Ends a group that took this long, with no other beside it.
fn write_group(
    admission: &AdmissionControl,
    size: u32,
    answered: u32,
    took: Duration,
    oldest: Instant,
) {
    let group = WrittenGroup {
        size,
        answered,
        took,
    };
    let end = admission.0.lock().last_end.unwrap_or(oldest) + took;
    admission.end_group(oldest, group, end);
}

#[test]
fn a_burst_fills_the_queue_and_no_more() {
    let (admission, now) = empty_queue();
    admission.begin_group(now);
    let tickets = queued(&admission, 10_000, now + MAX_BURST_WAIT);
    assert_eq!(tickets.len(), MAX_QUEUED_LOADS);
    drop(tickets);
    assert_eq!(queued(&admission, 10, now).len(), 10);
}

#[test]
fn an_overload_is_bounded_by_what_is_stored_soon() {
    let (admission, now) = empty_queue();
    for size in [1, 2, 8, 50, 500, 500, 500, 500, 500, 500] {
        // Each load takes 2 ms, whatever the size of its group.
        write_group(&admission, size, size, Duration::from_millis(2) * size, now);
    }
    admission.begin_group(now);
    let later = now + MAX_BURST_WAIT + Duration::from_millis(1);
    let tickets = queued(&admission, 10_000, later);
    assert!((1400..=1600).contains(&tickets.len()), "{}", tickets.len());
    let refused = admission.check(later).unwrap_err();
    assert!((3..=4).contains(&refused.retry_after_seconds));
    // The next group takes all of them, so there is room again.
    for mut ticket in tickets {
        ticket.begin();
    }
    assert_eq!(admission.check(later), Ok(()));
}

#[test]
fn a_writer_that_stores_nothing_lets_a_few_wait() {
    let (admission, now) = empty_queue();
    admission.begin_group(now);
    let later = now + Duration::from_secs(20);
    let tickets = queued(&admission, 10_000, later);
    assert_eq!(tickets.len(), MIN_QUEUED_LOADS);
    assert_eq!(admission.max_group_loads(), 16);
    // Loads that another writer transfers are not refused.
    let other = Arc::new(AdmissionControl::default());
    for ticket in queued(&other, 10, now) {
        assert!(admission.transfer(&ticket).is_ok());
    }
    write_group(&admission, 1, 0, Duration::from_secs(20), now);
    // A new load tests whether the writer stores again.
    assert_eq!(admission.check(later), Ok(()));
}

#[test]
fn groups_grow_while_a_distant_database_takes_its_time() {
    let (admission, mut now) = empty_queue();
    let group = Duration::from_secs(4);
    let mut size = 1;
    for _ in 0..12 {
        admission.begin_group(now);
        now += group;
        let tickets = queued(&admission, 512, now);
        write_group(&admission, size, size, group, now);
        size = u32::try_from(tickets.len()).unwrap();
    }
    assert_eq!(size, 512);
}

#[test]
fn h4_bytes_are_bounded_and_free_once_answered() {
    let (admission, now) = empty_queue();
    let half = MAX_QUEUED_BYTES / 2;
    let admit = |bytes| admission.admit(organization(1), bytes, now);
    let mut first = admit(half).unwrap();
    let second = admit(half).unwrap();
    assert!(admit(1).is_err());
    // The bytes still count while the group is being written.
    first.begin();
    assert!(admit(1).is_err());
    drop((first, second));
    // An empty queue takes a load of any size.
    assert!(admit(MAX_QUEUED_BYTES + 1).is_ok());
}

#[test]
fn an_organization_is_here_until_its_last_load_is_answered() {
    let (admission, now) = empty_queue();
    let first = admission.admit(organization(1), 1, now).unwrap();
    let mut second = admission.admit(organization(1), 1, now).unwrap();
    drop(first);
    second.begin();
    assert!(admission.has_loads_of(organization(1)));
    assert!(!admission.has_loads_of(organization(2)));
    drop(second);
    assert!(!admission.has_loads_of(organization(1)));
}
