//! The tracking record, field by field.

use domain::time::Timestamp;

use super::*;

fn moment(text: &str) -> WireTimestamp {
    WireTimestamp(text.parse::<Timestamp>().unwrap())
}

fn pending() -> TrackingResponse {
    TrackingResponse {
        cargo_id: "crg_019b76da807b774b805000000000002a".to_owned(),
        status: CargoStatusBody::Pending,
        model: "svc-mock".to_owned(),
        kind: CargoKindBody::Chat,
        attempt: 1,
        created_at: moment("2026-11-15T09:30:00Z"),
        batched_at: None,
        processing_at: None,
        completed_at: None,
        deadline_at: moment("2026-11-16T09:30:00Z"),
        success: None,
        response: None,
        error: None,
        error_code: None,
        usage: None,
        cost: CostBody::in_nano_dollars(Money::ZERO, None, None),
        callback: None,
        waiting: Some(WaitingBody {
            code: "c",
            reason: "r".to_owned(),
            since: moment("2026-11-15T09:30:00Z"),
            expected_at: None,
        }),
        metadata: None,
        erased_at: None,
        warnings: None,
        route: None,
        group_id: None,
        custom_id: None,
        position: None,
        cancel_requested_at: None,
    }
}

#[test]
fn every_field_is_there_from_the_start_and_in_order() {
    insta::assert_snapshot!(serde_json::to_string(&pending()).unwrap(), @r#"{"cargo_id":"crg_019b76da807b774b805000000000002a","status":"PENDING","model":"svc-mock","kind":"chat","attempt":1,"created_at":"2026-11-15T09:30:00.000000Z","batched_at":null,"processing_at":null,"completed_at":null,"deadline_at":"2026-11-16T09:30:00.000000Z","success":null,"response":null,"error":null,"error_code":null,"usage":null,"cost":{"held":0,"charged":null,"realtime":null,"saved":null,"currency":"USD","scale":9},"callback":null,"waiting":{"code":"c","reason":"r","since":"2026-11-15T09:30:00.000000Z","expected_at":null},"metadata":null,"erased_at":null}"#);
}

#[test]
fn a_delivered_record() {
    let record = TrackingResponse {
        status: CargoStatusBody::Delivered,
        batched_at: Some(moment("2026-11-15T09:30:01Z")),
        processing_at: Some(moment("2026-11-15T09:30:02Z")),
        completed_at: Some(moment("2026-11-15T09:31:00.5Z")),
        success: Some(true),
        response: raw_json(br#"{"id":  "as stored"}"#.to_vec()),
        usage: Some(UsageBody {
            input_tokens: 6,
            output_tokens: 4,
            input_tokens_details: None,
            output_tokens_details: None,
        }),
        cost: CostBody::in_nano_dollars(
            Money(9),
            Some(Money(4)),
            Some(Saving::between(Money(7), Money(4))),
        ),
        callback: Some(CallbackTrackingBody {
            url: "https://example.com/".to_owned(),
            attempts: 1,
            last_attempt_at: Some(moment("2026-11-15T09:31:01Z")),
            last_status_code: Some(200),
            last_error: None,
            next_attempt_at: None,
            delivered_at: Some(moment("2026-11-15T09:31:01Z")),
        }),
        waiting: None,
        metadata: raw_json(b"{\"z\":1,\"a\":1e999}".to_vec()),
        ..pending()
    };
    insta::assert_snapshot!(serde_json::to_string(&record).unwrap(), @r#"{"cargo_id":"crg_019b76da807b774b805000000000002a","status":"callback_delivered","model":"svc-mock","kind":"chat","attempt":1,"created_at":"2026-11-15T09:30:00.000000Z","batched_at":"2026-11-15T09:30:01.000000Z","processing_at":"2026-11-15T09:30:02.000000Z","completed_at":"2026-11-15T09:31:00.500000Z","deadline_at":"2026-11-16T09:30:00.000000Z","success":true,"response":{"id":  "as stored"},"error":null,"error_code":null,"usage":{"input_tokens":6,"output_tokens":4},"cost":{"held":9,"charged":4,"realtime":7,"saved":3,"currency":"USD","scale":9},"callback":{"url":"https://example.com/","attempts":1,"last_attempt_at":"2026-11-15T09:31:01.000000Z","last_status_code":200,"last_error":null,"next_attempt_at":null,"delivered_at":"2026-11-15T09:31:01.000000Z"},"waiting":null,"metadata":{"z":1,"a":1e999},"erased_at":null}"#);
}

#[test]
fn warnings_and_the_route_follow_if_there_are_any() {
    let record = TrackingResponse {
        warnings: raw_json(br#"[{"field":"x"}]"#.to_vec()),
        route: Some(RouteBody {
            via: "flex",
            reason: Some("flex_queue_short".to_owned()),
        }),
        ..pending()
    };
    let written = serde_json::to_string(&record).unwrap();
    let end = r#""erased_at":null,"warnings":[{"field":"x"}],"route":{"via":"flex","reason":"flex_queue_short"}}"#;
    assert!(written.ends_with(end), "{written}");
}

#[test]
fn statuses_are_spelled_as_the_domain_spells_them() {
    for status in cargo::CargoStatus::ALL {
        let written = serde_json::to_value(CargoStatusBody::from(status)).unwrap();
        assert_eq!(written, status.as_wire());
    }
    for kind in [model::ModelKind::Chat, model::ModelKind::Embedding] {
        assert_eq!(
            serde_json::to_value(CargoKindBody::from(kind)).unwrap(),
            kind.as_str()
        );
    }
}

#[test]
fn only_json_is_stored_json() {
    assert!(raw_json(b"{".to_vec()).is_none());
    assert!(raw_json(b"\"\xff\"".to_vec()).is_none());
    assert!(raw_json(b"[".repeat(100_000)).is_none());
}
