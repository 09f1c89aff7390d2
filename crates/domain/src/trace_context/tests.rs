//! The cases of the W3C test suite for `traceparent`, and sampling.

use super::*;

const TRACE: &str = "12345678901234567890123456789012";
const SPAN: &str = "1234567890123456";

fn parse(text: &str) -> Option<String> {
    TraceContext::parse(text).map(|context| context.to_string())
}

#[test]
fn a_traceparent_is_read_and_written() {
    for flags in ["00", "01", "02", "03"] {
        let text = format!("00-{TRACE}-{SPAN}-{flags}");
        assert_eq!(parse(&text), Some(text));
    }
    // Flags without a meaning are not passed on.
    let unknown = parse(&format!("00-{TRACE}-{SPAN}-ff"));
    assert_eq!(unknown, Some(format!("00-{TRACE}-{SPAN}-03")));
}

#[test]
fn a_later_version_is_read_as_far_as_it_is_known() {
    let known = Some(format!("00-{TRACE}-{SPAN}-01"));
    for later in [
        format!("cc-{TRACE}-{SPAN}-01"),
        format!("cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like"),
        format!("01-{TRACE}-{SPAN}-03"),
    ] {
        assert_eq!(parse(&later), known, "{later}");
    }
    assert_eq!(parse(&format!("cc-{TRACE}-{SPAN}-01.what")), None);
}

#[test]
fn what_is_not_a_traceparent_is_ignored() {
    let zero_trace = "0".repeat(32);
    let zero_span = "0".repeat(16);
    let upper = TRACE.replace('1', "A");
    for text in [
        String::new(),
        "00".to_owned(),
        "é".repeat(40),
        format!("00-{TRACE}-{SPAN}"),
        format!("00-{TRACE}-{SPAN}-01-extra"),
        format!("00-{TRACE}-{SPAN}-01."),
        format!("00-{TRACE}-{SPAN}-1"),
        format!("00-{TRACE}-{SPAN}-.0"),
        format!("00-{TRACE}-{SPAN}-+1"),
        format!("00-{TRACE}-{SPAN}-0A"),
        format!("ff-{TRACE}-{SPAN}-01"),
        format!(".0-{TRACE}-{SPAN}-01"),
        format!("0-{TRACE}-{SPAN}-01"),
        format!("000-{TRACE}-{SPAN}-1"),
        format!("00-{zero_trace}-{SPAN}-01"),
        format!("00-{TRACE}-{zero_span}-01"),
        format!("00-{upper}-{SPAN}-01"),
        format!("00-.{}-{SPAN}-01", &TRACE[1..]),
        format!("00-{}-{SPAN}-01", &TRACE[1..]),
        format!("00-{TRACE}-{}-01", &SPAN[1..]),
        format!("00_{TRACE}-{SPAN}-01"),
    ] {
        assert_eq!(parse(&text), None, "{text}");
    }
}

#[test]
fn the_caller_decides_whether_its_request_is_traced() {
    let [never, always] = ["0", "1"].map(|text| SampleRatio::parse(text).unwrap());
    let caller = |flags| TraceContext::parse(&format!("00-{TRACE}-{SPAN}-{flags}"));
    assert_eq!(RequestTrace::begin(caller("00"), true, always, 7, 8), None);
    let traced = RequestTrace::begin(caller("01"), true, never, 7, 8).unwrap();
    assert_eq!(traced.context.trace.to_string(), TRACE);
    assert_eq!(traced.context.span, SpanId::from_entropy(8));
    assert_eq!(traced.parent.unwrap().to_string(), SPAN);
    assert_eq!(RequestTrace::begin(None, true, never, 7, 8), None);
    let root = RequestTrace::begin(None, true, always, u128::MAX, 8).unwrap();
    assert_eq!(root.parent, None);
    assert!(root.context.is_sampled());
}

#[test]
fn beyond_its_limit_the_ratio_decides_for_a_caller() {
    let [never, half, always] = ["0", "0.5", "1"].map(|text| SampleRatio::parse(text).unwrap());
    let caller = |flags| TraceContext::parse(&format!("00-{TRACE}-{SPAN}-{flags}"));
    let begin =
        |flags, ratio, entropy| RequestTrace::begin(caller(flags), false, ratio, entropy, 8);
    assert_eq!(begin("01", never, 7), None);
    assert_eq!(begin("00", always, 7), None);
    let traced = begin("01", always, 7).unwrap();
    assert_eq!(traced.context.trace.to_string(), TRACE);
    // Not the id that the caller chose, but a random one.
    assert!(begin("01", half, 7).is_some());
    assert_eq!(begin("01", half, u128::MAX), None);
}

#[test]
fn the_ratio_is_the_share_of_traces() {
    let ratio = SampleRatio::parse("0.25").unwrap();
    let step = u64::MAX / 1000;
    let ids = (0..1000).map(|number| TraceId::from_entropy(u128::from(number * step) + 2));
    let sampled = ids.filter(|id| ratio.samples(*id)).count();
    assert!((248..=252).contains(&sampled), "{sampled}");
}

#[test]
fn a_ratio_is_a_number_from_0_to_1() {
    let parse = |text| SampleRatio::parse(text).map(|ratio| ratio.millionths);
    let known = [
        ("0", 0),
        ("1", MILLION),
        ("1.0", MILLION),
        ("0.01", 10_000),
        ("0.000001", 1),
    ];
    for (text, millionths) in known {
        assert_eq!(parse(text), Some(millionths), "{text}");
    }
    for wrong in [
        "",
        ".",
        "1.1",
        "2",
        "-1",
        "0.",
        ".5",
        "0.0000001",
        "1e-3",
        "NaN",
        "0,1",
    ] {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_stored_context_is_read_again() {
    let context = TraceContext::parse(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
    let stored = context.to_stored();
    assert_eq!(stored.len(), TraceContext::STORED_BYTES);
    assert_eq!(TraceContext::from_stored(&stored), Some(context));
    assert_eq!(TraceContext::from_stored(&stored[1..]), None);
    assert_eq!(TraceContext::from_stored(&[]), None);
}

#[test]
fn a_derived_id_follows_from_its_parts() {
    let [one, two] = [1, 2].map(TraceId::from_entropy);
    let id = |trace, kind, part: &[u8]| SpanId::derive(trace, kind, &[part]);
    assert_eq!(id(one, "deliver", b"1"), id(one, "deliver", b"1"));
    assert_ne!(id(one, "deliver", b"1"), id(two, "deliver", b"1"));
    assert_ne!(id(one, "deliver", b"1"), id(one, "gather", b"1"));
    assert_ne!(id(one, "deliver", b"1"), id(one, "deliver", b"2"));
}
