//! Matroska and WebM: unknown or wrong sizes, and invalid times.

use domain::file::{FileFailureReason, FileStructure, MediaType};

use super::{CorpusBuilder, ExpectedResult};
use crate::sample_files::building_blocks::{element, element_of_unknown_size, element_with_size};

const SECOND: FileStructure = FileStructure::Video { milliseconds: 1000 };
const EBML: u32 = 0x1a45_dfa3;
const SEGMENT: u32 = 0x1853_8067;
const INFO: u32 = 0x1549_a966;
const CLUSTER: u32 = 0x1f43_b675;

fn head(doctype: &str) -> Vec<u8> {
    element(EBML, &element(0x4282, doctype.as_bytes()))
}

fn info(duration: Option<f64>, scale: u64) -> Vec<u8> {
    let scale = element(0x2a_d7b1, &scale.to_be_bytes());
    let duration = duration.map(|duration| element(0x4489, &duration.to_be_bytes()));
    element(INFO, &[scale, duration.unwrap_or_default()].concat())
}

fn tracks(kind: u8) -> Vec<u8> {
    let entry = [element(0xd7, &[1]), element(0x83, &[kind])].concat();
    element(0x1654_ae6b, &element(0xae, &entry))
}

fn block(after: i16) -> Vec<u8> {
    let [high, low] = after.to_be_bytes();
    element(0xa3, &[0x81, high, low, 0x80, 7, 7])
}

fn time(ticks: u64) -> Vec<u8> {
    element(0xe7, &ticks.to_be_bytes())
}

fn film(parts: &[Vec<u8>]) -> Vec<u8> {
    [head("webm"), element(SEGMENT, &parts.concat())].concat()
}

const MILLISECOND: u64 = 1_000_000;

pub(super) fn add_files(shelf: &mut CorpusBuilder) {
    let cluster = element(CLUSTER, &[time(0), block(0)].concat());
    let sound = film(&[info(Some(1000.0), MILLISECOND), tracks(1), cluster]);
    shelf.add_with_truncations(MediaType::Webm, &sound, SECOND);
    live(shelf);
    times(shelf);
    sizes(shelf);
    heads(shelf);
}

/// Recordings that do not state their length.
fn live(shelf: &mut CorpusBuilder) {
    let clusters = [
        element_of_unknown_size(CLUSTER, &[time(0), block(0), block(400)].concat()),
        element_of_unknown_size(CLUSTER, &[time(500), block(0), block(500)].concat()),
    ];
    let parts = [info(None, MILLISECOND), tracks(1), clusters.concat()].concat();
    let whole = [head("webm"), element_of_unknown_size(SEGMENT, &parts)].concat();
    shelf.add(
        "recorded live",
        MediaType::Webm,
        whole.clone(),
        ExpectedResult::Valid(SECOND),
    );
    let cut = whole[..whole.len() - 3].to_vec();
    shelf.add_malformed("recorded live and cut off in a block", MediaType::Webm, cut);
    let twice = [whole.clone(), whole].concat();
    shelf.add_malformed("of two recordings", MediaType::Webm, twice);
    let group = [
        element(0xa1, &[0x81, 0, 0, 0, 7]),
        element(0x9b, &[0x03, 0xe8]),
    ]
    .concat();
    let grouped = element(CLUSTER, &[time(0), element(0xa0, &group)].concat());
    let bytes = film(&[info(None, MILLISECOND), tracks(1), grouped]);
    shelf.add(
        "of one long block",
        MediaType::Webm,
        bytes,
        ExpectedResult::Valid(SECOND),
    );
}

fn times(shelf: &mut CorpusBuilder) {
    let mut put = |name: &str, duration, scale, flaw| {
        let cluster = element(CLUSTER, &[time(0), block(0)].concat());
        let bytes = film(&[info(duration, scale), tracks(1), cluster]);
        shelf.add(name, MediaType::Webm, bytes, ExpectedResult::Refused(flaw));
    };
    let broken = FileFailureReason::MalformedVideo;
    for (name, duration) in [
        ("not a number", f64::NAN),
        ("endless", f64::INFINITY),
        ("endless backwards", f64::NEG_INFINITY),
        ("less than none", -1.0),
        ("none", 0.0),
        ("less than none by a bit", -0.0),
    ] {
        put(
            &format!("whose length is {name}"),
            Some(duration),
            MILLISECOND,
            broken,
        );
    }
    put("of unknown length", None, MILLISECOND, broken);
    put("without a scale", Some(1000.0), 0, broken);
    put("with the largest scale", Some(1000.0), u64::MAX, broken);
    let long = FileFailureReason::VideoTooLong;
    put("of an hour", Some(3_600_000.0), MILLISECOND, long);
    put("of the largest length", Some(f64::MAX), MILLISECOND, long);
    put(
        "of ticks of four seconds",
        Some(1000.0),
        u32::MAX.into(),
        long,
    );
    put("a tick too long", Some(1_800_000.001), MILLISECOND, long);
    for (name, ticks) in [("an hour", 3_600_000), ("all time", u64::MAX)] {
        let cluster = element(CLUSTER, &[time(ticks), block(0)].concat());
        let bytes = film(&[info(Some(1000.0), MILLISECOND), tracks(1), cluster]);
        let name = format!("with a block after {name}");
        shelf.add(&name, MediaType::Webm, bytes, ExpectedResult::Refused(long));
    }
}

fn sizes(shelf: &mut CorpusBuilder) {
    let start = || [info(Some(1000.0), MILLISECOND), tracks(1)].concat();
    let mut put = |name: &str, parts: &[Vec<u8>]| {
        shelf.add_malformed(name, MediaType::Webm, film(parts));
    };
    let inside = [time(0), block(0)].concat();
    for size in [0, 5, 1 << 32, (1 << 56) - 2] {
        let cluster = element_with_size(CLUSTER, size, &inside);
        put(&format!("whose cluster says {size}"), &[start(), cluster]);
        let void = element_with_size(0xec, size + 4, b"x");
        put(&format!("whose void says {}", size + 4), &[start(), void]);
    }
    for (name, id) in [("header", INFO), ("void", 0xec), ("tag", 0x1254_c367)] {
        let open = element_of_unknown_size(id, &[]);
        put(&format!("with a {name} of unknown size"), &[start(), open]);
    }
    put(
        "with a block of unknown size",
        &[
            start(),
            element(
                CLUSTER,
                &[time(0), element_of_unknown_size(0xa3, &[0x81, 0, 0])].concat(),
            ),
        ],
    );
    put(
        "with a block before its time",
        &[start(), element(CLUSTER, &block(0))],
    );
    put(
        "with an empty block",
        &[
            start(),
            element(CLUSTER, &[time(0), element(0xa3, &[])].concat()),
        ],
    );
    put(
        "with a number of nine bytes",
        &[start(), element(CLUSTER, &element(0xe7, &[1; 9]))],
    );
    put(
        "with a length of three bytes",
        &[element(INFO, &element(0x4489, &[1; 3])), tracks(1)],
    );
    put(
        "of sound alone",
        &[info(Some(1000.0), MILLISECOND), tracks(2)],
    );
    put("without tracks", &[info(Some(1000.0), MILLISECOND)]);
    put(
        "with an identifier of five bytes",
        &[start(), vec![0x08, 1, 1, 1, 1, 0x80]],
    );
    put(
        "with a size of nine bytes",
        &[start(), vec![0xec, 0, 1, 1, 1, 1, 1, 1, 1, 1]],
    );
    put("with a segment inside", &[start(), element(SEGMENT, b"")]);
    put("with half an element", &[start(), vec![0xec]]);
    let mut nested = Vec::new();
    for _ in 0..5000 {
        nested = element(CLUSTER, &nested);
    }
    let bytes = [head("webm"), element_with_size(SEGMENT, 9, &nested)].concat();
    shelf.add_malformed("of clusters in one another", MediaType::Webm, bytes);
    let after = [film(&[start()]), vec![0; 40]].concat();
    shelf.add_malformed("with zeros after its end", MediaType::Webm, after);
}

fn heads(shelf: &mut CorpusBuilder) {
    let rest = element(
        SEGMENT,
        &[info(Some(1000.0), MILLISECOND), tracks(1)].concat(),
    );
    let matroska = [head("matroska"), rest.clone()].concat();
    shelf.add(
        "sound",
        MediaType::Matroska,
        matroska.clone(),
        ExpectedResult::Valid(SECOND),
    );
    let mut put = |name: &str, bytes| shelf.add_malformed(name, MediaType::Webm, bytes);
    put("that is Matroska", matroska);
    put(
        "without a type",
        [element(EBML, b""), rest.clone()].concat(),
    );
    put(
        "whose head is unknown",
        [element_of_unknown_size(EBML, b""), rest.clone()].concat(),
    );
    put(
        "whose head is 4 GB",
        [element_with_size(EBML, 1 << 32, b""), rest.clone()].concat(),
    );
    put(
        "whose type is 4 GB",
        [
            element(EBML, &element_with_size(0x4282, 1 << 32, b"webm")),
            rest.clone(),
        ]
        .concat(),
    );
    put("of a head alone", head("webm"));
    put("of a segment alone", rest);
    put("of four bytes", EBML.to_be_bytes().to_vec());
    put(
        "of voids",
        [head("webm"), element(0xec, b"").repeat(100_000)].concat(),
    );
}
