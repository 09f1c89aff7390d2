//! Every file of the corpus, in this process, without catching panics.

use std::collections::HashSet;

use domain::probe_protocol::{decode_result, encode_result};
use rustix::process::{Resource, Rlimit, setrlimit};
use test_support::corpus::{ExpectedResult, all_files};

use crate::read_unguarded;

/// Limits memory, so that a decompression bomb cannot take down the machine.
fn limit_memory() {
    let most = Some(4 << 30);
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::As, limit).unwrap();
}

#[test]
fn every_file_of_the_corpus_has_its_expected_result() {
    limit_memory();
    let wrong: Vec<String> = all_files()
        .iter()
        .filter_map(|specimen| {
            let found = read_unguarded(specimen.media_type, specimen.bytes.as_slice());
            let told = format!("{}: {found:?}, not {:?}", specimen.name, specimen.expected);
            (!specimen.allows(found)).then_some(told)
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_corpus_has_hundreds_of_files_that_are_refused() {
    let all = all_files();
    let names: HashSet<&str> = all.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
    let refused = all
        .iter()
        .filter(|it| !matches!(it.expected, ExpectedResult::Valid(_)));
    assert!(refused.count() >= 200);
}

/// Longer files are mutated by the fuzzer.
const MAX_MUTATED_BYTES: usize = 64 << 10;
/// How often each file is changed.
const MUTATIONS_PER_FILE: u64 = 40;

#[test]
fn no_changed_file_of_the_corpus_panics_or_says_what_the_parent_does_not_believe() {
    limit_memory();
    for specimen in all_files()
        .iter()
        .filter(|it| it.bytes.len() <= MAX_MUTATED_BYTES)
    {
        for round in 1..=MUTATIONS_PER_FILE {
            let bytes = mutate(&specimen.bytes, round);
            let found = read_unguarded(specimen.media_type, bytes.as_slice());
            let heard = decode_result(specimen.media_type, &encode_result(found));
            assert_eq!(heard, Some(found), "{} in round {round}", specimen.name);
        }
    }
}

/// Changes, doubles or removes a few of the bytes. The same round gives the same result.
fn mutate(bytes: &[u8], round: u64) -> Vec<u8> {
    let mut state = round.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let mut bytes = bytes.to_vec();
    for _ in 0..=draw(6) {
        let at = draw(bytes.len());
        let until = (at + draw(9)).min(bytes.len());
        match draw(5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..until)),
            2 => {
                let piece = bytes[at..until].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => bytes[at..until].fill([0, 0xff, 0x7f, 0x80, b'9'][draw(5)]),
            _ => bytes[at..until]
                .iter_mut()
                .for_each(|byte| *byte ^= 1 << draw(8)),
        }
    }
    bytes
}
