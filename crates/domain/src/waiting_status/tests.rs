//! The waiting status of a cargo at each step.

use super::*;

fn at(minutes: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + TimeDelta::minutes(minutes)
}

/// Loaded at the first minute, in a lane whose batches take ten.
fn cargo_progress(batch: Option<BatchProgress>) -> CargoProgress {
    CargoProgress {
        created_at: at(1),
        requeued_at: None,
        backoff_until: None,
        via: InferenceMode::Batch,
        paused_provider: None,
        paused_lane: None,
        turnaround: Some(600.0),
        batch,
    }
}

fn batch(state: BatchState) -> BatchProgress {
    BatchProgress {
        state,
        gathered_at: at(2),
        submission_unknown_since: None,
        running_at: (state == BatchState::Running).then(|| at(3)),
        next_poll_at: None,
        cancel_requested_at: None,
        delay: None,
        is_claimed: false,
    }
}

fn describe(progress: &CargoProgress, now: i64) -> String {
    let minutes = |at: Timestamp| (at - Timestamp::UNIX_EPOCH).num_minutes();
    let WaitingStatus {
        code,
        reason,
        since,
        expected_at,
    } = progress.waiting_status(TimeDelta::minutes(1), at(now));
    format!(
        "{} | {reason} | {} | {:?}",
        code.as_str(),
        minutes(since),
        expected_at.map(minutes)
    )
}

#[test]
fn a_waiting_cargo_is_expected_after_linger_and_turnaround() {
    insta::assert_snapshot!(describe(&cargo_progress(None), 1), @"waiting_for_batch | waiting to be gathered into a batch | 1 | Some(12)");
    // In a long queue the batch has not begun, so the estimate moves along.
    insta::assert_snapshot!(describe(&cargo_progress(None), 5), @"waiting_for_batch | waiting to be gathered into a batch | 1 | Some(15)");
    let back = CargoProgress {
        requeued_at: Some(at(9)),
        ..cargo_progress(None)
    };
    insta::assert_snapshot!(describe(&back, 9), @"requeued | its batch ended without an answer; waiting to be gathered into another batch | 9 | Some(20)");
    let resting = CargoProgress {
        backoff_until: Some(at(14)),
        ..back.clone()
    };
    insta::assert_snapshot!(describe(&resting, 9), @"retry_backoff | the provider failed to answer; retrying after backoff | 9 | Some(24)");
    assert_eq!(describe(&resting, 14), describe(&back, 14));
    let unmeasured = CargoProgress {
        turnaround: None,
        ..cargo_progress(None)
    };
    insta::assert_snapshot!(describe(&unmeasured, 1), @"waiting_for_batch | waiting to be gathered into a batch | 1 | None");
}

#[test]
fn an_unsent_batch_is_expected_from_its_next_attempt() {
    insta::assert_snapshot!(describe(&cargo_progress(Some(batch(BatchState::Gathered))), 2), @"waiting_for_submission | its batch is waiting to be submitted | 2 | Some(12)");
    let claimed = BatchProgress {
        is_claimed: true,
        delay: Some(SubmissionDelay::AccountFull),
        ..batch(BatchState::Submitting)
    };
    insta::assert_snapshot!(describe(&cargo_progress(Some(claimed)), 2), @"submitting | its batch is being submitted to the provider | 2 | Some(12)");
    for delay in SubmissionDelay::ALL {
        assert_eq!(SubmissionDelay::parse(delay.as_str()), Some(delay));
    }
    let delayed = |delay| {
        let late = BatchProgress {
            delay: Some(delay),
            next_poll_at: Some(at(6)),
            ..batch(BatchState::Submitting)
        };
        describe(&cargo_progress(Some(late)), 5)
    };
    let all: Vec<String> = SubmissionDelay::ALL.into_iter().map(delayed).collect();
    insta::assert_snapshot!(all.join("\n"), @"
    account_full | the provider account is full; its batch is submitted when there is room | 2 | Some(16)
    provider_unavailable | the provider accepts no batches right now; retrying soon | 2 | Some(16)
    batch_not_assembled | its batch cannot be assembled right now; retrying soon | 2 | Some(16)
    ");
    let unknown = BatchProgress {
        submission_unknown_since: Some(at(3)),
        ..batch(BatchState::Submitting)
    };
    insta::assert_snapshot!(describe(&cargo_progress(Some(unknown.clone())), 4), @"submission_unconfirmed | checking whether the provider received its batch | 3 | Some(13)");
    insta::assert_snapshot!(describe(&cargo_progress(Some(unknown)), 13), @"submission_unconfirmed | checking whether the provider received its batch | 3 | None");
}

#[test]
fn a_paused_provider_is_the_reason_until_it_has_the_batch() {
    let paused = |batch| CargoProgress {
        paused_provider: Some(PausedProvider {
            reason: "the provider rejected the credential".to_owned(),
            since: at(2),
            retry_at: Some(at(7)),
        }),
        ..cargo_progress(batch)
    };
    insta::assert_snapshot!(describe(&paused(None), 4), @"provider_paused | the provider is paused: the provider rejected the credential; the operator can resolve this | 2 | None");
    assert_eq!(
        describe(&paused(Some(batch(BatchState::Submitting))), 4),
        describe(&paused(None), 4)
    );
    assert_eq!(
        describe(&paused(None), 7),
        describe(&cargo_progress(None), 7)
    );
    let running = Some(batch(BatchState::Running));
    assert_eq!(
        describe(&paused(running.clone()), 4),
        describe(&cargo_progress(running), 4)
    );
}

#[test]
fn a_paused_lane_is_the_reason_until_there_is_a_batch() {
    let stopped = |reason: Option<&str>, batch| CargoProgress {
        paused_lane: Some(PausedLane {
            reason: reason.map(str::to_owned),
            since: at(2),
        }),
        ..cargo_progress(batch)
    };
    insta::assert_snapshot!(describe(&stopped(Some("the model is replaced"), None), 4), @"paused_by_operator | paused by the operator: the model is replaced | 2 | None");
    insta::assert_snapshot!(describe(&stopped(None, None), 4), @"paused_by_operator | paused by the operator | 2 | None");
    let gathered = Some(batch(BatchState::Gathered));
    assert_eq!(
        describe(&stopped(None, gathered.clone()), 4),
        describe(&cargo_progress(gathered), 4)
    );
}

#[test]
fn what_is_overdue_says_so_and_is_never_expected_in_the_past() {
    let running = BatchProgress {
        next_poll_at: Some(at(5)),
        ..batch(BatchState::Running)
    };
    insta::assert_snapshot!(describe(&cargo_progress(Some(running.clone())), 4), @"provider_processing | the provider is working on its batch | 3 | Some(13)");
    let overdue = BatchProgress {
        next_poll_at: Some(at(15)),
        ..running.clone()
    };
    insta::assert_snapshot!(describe(&cargo_progress(Some(overdue)), 14), @"provider_slow | the provider is working on its batch, longer than usual | 3 | Some(15)");
    insta::assert_snapshot!(describe(&cargo_progress(Some(running.clone())), 14), @"provider_slow | the provider is working on its batch, longer than usual | 3 | None");
    let claimed = BatchProgress {
        is_claimed: true,
        ..running.clone()
    };
    insta::assert_snapshot!(describe(&cargo_progress(Some(claimed)), 5), @"storing_results | the results of its batch are being fetched and stored | 3 | Some(13)");
    let cancelled = BatchProgress {
        cancel_requested_at: Some(at(600)),
        ..running
    };
    insta::assert_snapshot!(describe(&cargo_progress(Some(cancelled)), 601), @"batch_cancelling | its batch took too long and is being cancelled; it is then sent by another route | 600 | None");
}

#[test]
fn a_server_answers_or_is_asked_again() {
    let streamed = |batch| CargoProgress {
        via: InferenceMode::Realtime,
        turnaround: None,
        ..cargo_progress(Some(batch))
    };
    let running = BatchProgress {
        next_poll_at: Some(at(3)),
        is_claimed: true,
        ..batch(BatchState::Running)
    };
    insta::assert_snapshot!(describe(&streamed(running.clone()), 3), @"server_processing | the model's server is working on it | 3 | None");
    let unwell = BatchProgress {
        next_poll_at: Some(at(5)),
        is_claimed: false,
        ..running
    };
    insta::assert_snapshot!(describe(&streamed(unwell), 4), @"server_unavailable | the model's server does not answer right now; retrying soon | 3 | Some(5)");
}

#[test]
fn flex_waits_for_spare_capacity() {
    let flex = |batch| CargoProgress {
        via: InferenceMode::Flex,
        turnaround: Some(60.0),
        ..cargo_progress(batch)
    };
    let running = BatchProgress {
        next_poll_at: Some(at(3)),
        is_claimed: true,
        ..batch(BatchState::Running)
    };
    insta::assert_snapshot!(describe(&flex(Some(running)), 3), @"flex_processing | the provider is working on it at the flex tier | 3 | None");
    let refused = CargoProgress {
        requeued_at: Some(at(4)),
        backoff_until: Some(at(5)),
        ..flex(None)
    };
    insta::assert_snapshot!(describe(&refused, 4), @"flex_capacity | the provider has no spare capacity for the flex tier right now; retrying soon | 4 | Some(6)");
}
