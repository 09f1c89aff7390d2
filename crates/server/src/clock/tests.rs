//! Which measured offsets the clock uses, and for how long.

use super::*;

const SECOND: i64 = 1_000_000;

#[test]
fn a_slow_answer_does_not_turn_the_clock_back() {
    let mut learned = MeasuredOffsets::default();
    assert_eq!(learned.record(0, 5_000), 5_000);
    assert_eq!(learned.record(SECOND, -400_000), 5_000);
    assert_eq!(learned.record(2 * SECOND, 5_100), 5_100);
}

#[test]
fn the_first_answer_counts_also_when_the_database_is_behind() {
    assert_eq!(
        MeasuredOffsets::default().record(0, -7 * SECOND),
        -7 * SECOND
    );
}

#[test]
fn a_database_whose_clock_was_set_back_is_believed_after_two_windows() {
    let mut learned = MeasuredOffsets::default();
    learned.record(0, 10 * SECOND);
    assert_eq!(learned.record(OFFSET_WINDOW_MICROS, 0), 10 * SECOND);
    assert_eq!(learned.record(2 * OFFSET_WINDOW_MICROS, 0), 0);
}

#[test]
fn what_was_learned_long_ago_is_forgotten() {
    let mut learned = MeasuredOffsets::default();
    learned.record(0, 10 * SECOND);
    assert_eq!(learned.record(5 * OFFSET_WINDOW_MICROS, -SECOND), -SECOND);
}

#[test]
fn a_fast_clock_starts_at_its_moment() {
    let speed = ClockSpeed::parse("60@1000000").unwrap();
    assert_eq!(speed.apply(SECOND / 2), SECOND / 2);
    assert_eq!(speed.apply(SECOND), SECOND);
    assert_eq!(speed.apply(3 * SECOND), 121 * SECOND);
    for invalid in ["", "60", "0@1", "60@", "60@-1", "3601@1", "a@1"] {
        assert_eq!(ClockSpeed::parse(invalid), None, "{invalid}");
    }
}

#[test]
fn the_clock_follows_its_database() {
    let clock = DatabaseClock::new();
    let reported = clock.now() + chrono::TimeDelta::hours(1);
    clock.synchronize(reported);
    assert!(clock.now() >= reported);
    assert!((clock.offset_seconds() - 3600.0).abs() < 60.0);
}
