//! The moments of a cargo's life, and what is told at each.

use super::*;

fn at(minutes: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + TimeDelta::minutes(minutes)
}

/// Loaded at the first minute, in a lane whose batches take ten.
fn way(batch: Option<Batch>) -> Way {
    Way {
        created_at: at(1),
        returned_at: None,
        rests_until: None,
        via: Via::Batch,
        paused: None,
        stopped: None,
        turnaround: Some(600.0),
        batch,
    }
}

fn batch(state: State) -> Batch {
    Batch {
        state,
        gathered_at: at(2),
        unknown_since: None,
        running_at: (state == State::Running).then(|| at(3)),
        next_poll_at: None,
        cancel_wanted_at: None,
        delay: None,
        is_claimed: false,
    }
}

fn told(way: &Way, now: i64) -> String {
    let minutes = |at: Timestamp| (at - Timestamp::UNIX_EPOCH).num_minutes();
    let Waiting {
        reason,
        since,
        expected_at,
    } = way.waiting(TimeDelta::minutes(1), at(now));
    format!(
        "{reason} | {} | {:?}",
        minutes(since),
        expected_at.map(minutes)
    )
}

#[test]
fn what_waits_is_expected_after_the_lane_has_rested_and_worked() {
    insta::assert_snapshot!(told(&way(None), 1), @"waiting to be gathered into a batch | 1 | Some(12)");
    // In a long queue it has not begun: the estimate goes along.
    insta::assert_snapshot!(told(&way(None), 5), @"waiting to be gathered into a batch | 1 | Some(15)");
    let back = Way {
        returned_at: Some(at(9)),
        ..way(None)
    };
    insta::assert_snapshot!(told(&back, 9), @"its batch ended without an answer to it: waiting to be gathered into another | 9 | Some(20)");
    let resting = Way {
        rests_until: Some(at(14)),
        ..back.clone()
    };
    insta::assert_snapshot!(told(&resting, 9), @"its provider could not answer it: it goes again after a rest | 9 | Some(24)");
    assert_eq!(told(&resting, 14), told(&back, 14));
    let unmeasured = Way {
        turnaround: None,
        ..way(None)
    };
    insta::assert_snapshot!(told(&unmeasured, 1), @"waiting to be gathered into a batch | 1 | None");
}

#[test]
fn what_is_not_sent_is_expected_from_when_it_is_tried() {
    insta::assert_snapshot!(told(&way(Some(batch(State::Gathered))), 2), @"its batch is waiting to be submitted | 2 | Some(12)");
    let claimed = Batch {
        is_claimed: true,
        delay: Some(Delay::Full),
        ..batch(State::Submitting)
    };
    insta::assert_snapshot!(told(&way(Some(claimed)), 2), @"its batch is being submitted to the provider | 2 | Some(12)");
    for delay in Delay::ALL {
        assert_eq!(Delay::parse(delay.as_str()), Some(delay));
    }
    let delayed = |delay| {
        let late = Batch {
            delay: Some(delay),
            next_poll_at: Some(at(6)),
            ..batch(State::Submitting)
        };
        told(&way(Some(late)), 5)
    };
    let all: Vec<String> = Delay::ALL.into_iter().map(delayed).collect();
    insta::assert_snapshot!(all.join("\n"), @"
    the provider's account is full: its batch follows when there is room | 2 | Some(16)
    the provider takes nothing right now: its batch is tried again soon | 2 | Some(16)
    its batch cannot be put together right now: it is tried again soon | 2 | Some(16)
    ");
    let unknown = Batch {
        unknown_since: Some(at(3)),
        ..batch(State::Submitting)
    };
    insta::assert_snapshot!(told(&way(Some(unknown.clone())), 4), @"whether its batch reached the provider is being looked into | 3 | Some(13)");
    insta::assert_snapshot!(told(&way(Some(unknown)), 13), @"whether its batch reached the provider is being looked into | 3 | None");
}

#[test]
fn a_paused_provider_is_told_of_until_it_has_the_batch() {
    let paused = |batch| Way {
        paused: Some(Paused {
            reason: "the credential is not accepted".to_owned(),
            since: at(2),
            retry_at: Some(at(7)),
        }),
        ..way(batch)
    };
    insta::assert_snapshot!(told(&paused(None), 4), @"its provider is paused: the credential is not accepted; the operator can mend it | 2 | None");
    assert_eq!(
        told(&paused(Some(batch(State::Submitting))), 4),
        told(&paused(None), 4)
    );
    assert_eq!(told(&paused(None), 7), told(&way(None), 7));
    let running = Some(batch(State::Running));
    assert_eq!(told(&paused(running.clone()), 4), told(&way(running), 4));
}

#[test]
fn a_lane_that_an_operator_paused_is_told_of_until_there_is_a_batch() {
    let stopped = |reason: Option<&str>, batch| Way {
        stopped: Some(Stopped {
            reason: reason.map(str::to_owned),
            since: at(2),
        }),
        ..way(batch)
    };
    insta::assert_snapshot!(told(&stopped(Some("the model is replaced"), None), 4), @"paused by the operator: the model is replaced | 2 | None");
    insta::assert_snapshot!(told(&stopped(None, None), 4), @"paused by the operator | 2 | None");
    let gathered = Some(batch(State::Gathered));
    assert_eq!(
        told(&stopped(None, gathered.clone()), 4),
        told(&way(gathered), 4)
    );
}

#[test]
fn what_is_overdue_says_so_and_is_never_expected_in_the_past() {
    let running = Batch {
        next_poll_at: Some(at(5)),
        ..batch(State::Running)
    };
    insta::assert_snapshot!(told(&way(Some(running.clone())), 4), @"the provider is working on its batch | 3 | Some(13)");
    let overdue = Batch {
        next_poll_at: Some(at(15)),
        ..running.clone()
    };
    insta::assert_snapshot!(told(&way(Some(overdue)), 14), @"the provider is working on its batch, longer than it took lately | 3 | Some(15)");
    insta::assert_snapshot!(told(&way(Some(running.clone())), 14), @"the provider is working on its batch, longer than it took lately | 3 | None");
    let claimed = Batch {
        is_claimed: true,
        ..running.clone()
    };
    insta::assert_snapshot!(told(&way(Some(claimed)), 5), @"the results of its batch are being asked for and stored | 3 | Some(13)");
    let cancelled = Batch {
        cancel_wanted_at: Some(at(600)),
        ..running
    };
    insta::assert_snapshot!(told(&way(Some(cancelled)), 601), @"its batch took too long and is being cancelled: it then takes another way | 600 | None");
}

#[test]
fn a_server_answers_or_is_asked_again() {
    let streamed = |batch| Way {
        via: Via::Realtime,
        turnaround: None,
        ..way(Some(batch))
    };
    let running = Batch {
        next_poll_at: Some(at(3)),
        is_claimed: true,
        ..batch(State::Running)
    };
    insta::assert_snapshot!(told(&streamed(running.clone()), 3), @"the model's server is working on it | 3 | None");
    let unwell = Batch {
        next_poll_at: Some(at(5)),
        is_claimed: false,
        ..running
    };
    insta::assert_snapshot!(told(&streamed(unwell), 4), @"the model's server does not answer right now: it is asked again soon | 3 | Some(5)");
}
