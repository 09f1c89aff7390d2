//! Parents and links of the spans of one cargo.

use chrono::TimeDelta;

use super::*;
use crate::id::Berth;
use crate::span::{MAX_LINKS_PER_SPAN, SpanAttributeValue};

const SECOND: TimeDelta = TimeDelta::seconds(1);

fn loaded_at() -> Timestamp {
    "2026-11-17T12:00:00.000500Z".parse().unwrap()
}

fn cargo() -> TracedCargo {
    let (now, berth) = (loaded_at(), Berth::new(0).unwrap());
    TracedCargo {
        context: TraceContext::sampled(TraceId::from_entropy(7), SpanId::from_entropy(8)),
        cargo: CargoId::new(now, berth, 1),
        organization: OrganizationId::new(now, berth, 2),
        project: ProjectId::new(now, berth, 3),
        model: "svc-mock".to_owned(),
        attempt: 1,
        queued_at: now,
    }
}

fn batch(gathered_at: Timestamp) -> TracedBatch {
    TracedBatch {
        batch: BatchId::new(gathered_at, Berth::new(0).unwrap(), 4),
        provider: "mock".to_owned(),
        mode: "batch",
        model: "svc-mock".to_owned(),
        size: 1,
    }
}

#[test]
fn spans_of_a_cargo_belong_to_its_load_and_link_to_the_batch() {
    let (cargo, batch) = (cargo(), batch(loaded_at() + SECOND));
    let root = batch_span(&batch, [cargo.context], loaded_at() + SECOND * 3);
    let gather = gather_span(&cargo, &batch);
    let outcome = outcome_span(&cargo, Some(&batch), None, loaded_at() + SECOND * 3);
    for span in [&gather, &outcome] {
        assert_eq!(span.trace, cargo.context.trace);
        assert_eq!(span.parent, Some(cargo.context.span));
        assert_eq!(span.links, [TraceContext::sampled(root.trace, root.id)]);
        assert_eq!(span.error, None);
    }
    assert_ne!(gather.id, outcome.id);
    assert_eq!(root.links, [cargo.context]);
    assert_eq!(gather.ended_at, outcome.started_at);
    let times = SpanTimes {
        started_at: loaded_at() + SECOND,
        ended_at: loaded_at() + SECOND * 2,
    };
    let submit = submit_span(&batch, [cargo.context], times);
    assert_eq!((submit.trace, submit.parent), (root.trace, Some(root.id)));
}

#[test]
fn the_same_span_has_the_same_id_and_another_batch_another() {
    let cargo = cargo();
    let [one, two] = [1, 2].map(|seconds| batch(loaded_at() + SECOND * seconds));
    let id = |batch: &TracedBatch| gather_span(&cargo, batch).id;
    assert_eq!(id(&one), id(&one));
    assert_ne!(id(&one), id(&two));
}

#[test]
fn a_span_never_ends_before_it_starts() {
    // The id of the batch has no microseconds.
    let span = gather_span(&cargo(), &batch(loaded_at()));
    assert_eq!(span.started_at, span.ended_at);
}

#[test]
fn every_attempt_of_a_callback_is_a_span() {
    let cargo = cargo();
    let attempt = |number, status, error| {
        let delivery = TracedDelivery {
            context: cargo.context,
            cargo: cargo.cargo,
            project: Some(cargo.project),
            number,
            status,
            error,
        };
        let times = SpanTimes {
            started_at: loaded_at(),
            ended_at: loaded_at(),
        };
        delivery_span(&delivery, times)
    };
    let refused = attempt(1, Some(503), None);
    assert_eq!(refused.error.as_deref(), Some("503"));
    let lost = attempt(2, None, Some("connection lost"));
    assert_eq!(lost.error.as_deref(), Some("connection lost"));
    let done = attempt(3, Some(200), None);
    assert_eq!((done.error, done.parent), (None, Some(cargo.context.span)));
    assert_ne!(refused.id, lost.id);
    let sent = delivery_context(cargo.context, cargo.cargo, 3);
    assert_eq!((sent.trace, sent.span), (done.trace, done.id));
}

#[test]
fn a_span_counts_the_links_beyond_its_limit() {
    let links = vec![cargo().context; MAX_LINKS_PER_SPAN + 2];
    let span = batch_span(&batch(loaded_at()), links, loaded_at());
    assert_eq!(
        (span.links.len(), span.dropped_links),
        (MAX_LINKS_PER_SPAN, 2)
    );
}

#[test]
fn a_refused_load_has_no_cargo_and_only_our_faults_are_errors() {
    let context = cargo().context;
    let parent = None;
    let times = SpanTimes {
        started_at: loaded_at(),
        ended_at: loaded_at(),
    };
    let span = |status| load_span(RequestTrace { context, parent }, status, None, times);
    let refused = span(422);
    assert_eq!(refused.error, None);
    assert!(refused.attributes.iter().all(|it| it.name != CARGO_ID));
    let status = refused.attributes.iter().find(|it| it.name == HTTP_STATUS);
    let status = status.map(|it| it.value.clone());
    assert_eq!(status, Some(SpanAttributeValue::Number(422)));
    assert_eq!(span(503).error.as_deref(), Some("503"));
}
