//! Every file of the corpus, in this process: quick, and without mercy for panics.

use std::collections::HashSet;

use domain::probe::{hear, say};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::corpus::{Fate, all};
use crate::read_unguarded;

/// A bomb that goes off here must not take the machine with it.
fn within_memory() {
    let most = Some(4 << 30);
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::As, limit).unwrap();
}

#[test]
fn every_file_of_the_corpus_meets_its_fate() {
    within_memory();
    let wrong: Vec<String> = all()
        .iter()
        .filter_map(|specimen| {
            let found = read_unguarded(specimen.media_type, specimen.bytes.as_slice());
            let told = format!("{}: {found:?}, not {:?}", specimen.name, specimen.fate);
            (!specimen.allows(found)).then_some(told)
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_corpus_has_hundreds_of_files_that_are_refused() {
    let all = all();
    let names: HashSet<&str> = all.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
    let refused = all.iter().filter(|it| !matches!(it.fate, Fate::Sound(_)));
    assert!(refused.count() >= 200);
}

/// Longer files are mutated by the fuzzer.
const LONGEST: usize = 64 << 10;
/// How often each file is changed.
const ROUNDS: u64 = 40;

#[test]
fn no_changed_file_of_the_corpus_panics_or_says_what_the_parent_does_not_believe() {
    within_memory();
    for specimen in all().iter().filter(|it| it.bytes.len() <= LONGEST) {
        for round in 1..=ROUNDS {
            let bytes = changed(&specimen.bytes, round);
            let found = read_unguarded(specimen.media_type, bytes.as_slice());
            let heard = hear(specimen.media_type, &say(found));
            assert_eq!(heard, Some(found), "{} in round {round}", specimen.name);
        }
    }
}

/// The same bytes with a few of them changed, doubled or left out; the same for the same round.
fn changed(bytes: &[u8], round: u64) -> Vec<u8> {
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
