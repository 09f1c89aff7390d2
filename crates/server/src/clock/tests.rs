//! The clock: whom it believes, and for how long.

use super::*;

const SECOND: i64 = 1_000_000;

#[test]
fn a_slow_answer_does_not_turn_the_clock_back() {
    let mut learned = Learned::default();
    assert_eq!(learned.learn(0, 5_000), 5_000);
    assert_eq!(learned.learn(SECOND, -400_000), 5_000);
    assert_eq!(learned.learn(2 * SECOND, 5_100), 5_100);
}

#[test]
fn the_first_answer_counts_also_when_the_database_is_behind() {
    assert_eq!(Learned::default().learn(0, -7 * SECOND), -7 * SECOND);
}

#[test]
fn a_database_whose_clock_was_set_back_is_believed_after_two_windows() {
    let mut learned = Learned::default();
    learned.learn(0, 10 * SECOND);
    assert_eq!(learned.learn(WINDOW, 0), 10 * SECOND);
    assert_eq!(learned.learn(2 * WINDOW, 0), 0);
}

#[test]
fn what_was_learned_long_ago_is_forgotten() {
    let mut learned = Learned::default();
    learned.learn(0, 10 * SECOND);
    assert_eq!(learned.learn(5 * WINDOW, -SECOND), -SECOND);
}

#[test]
fn the_clock_follows_its_database() {
    let clock = SystemClock::new();
    let told = clock.now() + chrono::TimeDelta::hours(1);
    clock.learn(told);
    assert!(clock.now() >= told);
    assert!((clock.offset_seconds() - 3600.0).abs() < 60.0);
}
