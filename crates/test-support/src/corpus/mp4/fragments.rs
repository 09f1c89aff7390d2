//! MP4 in fragments: `moof` boxes after an empty `moov`.

use domain::file::{FileFailureReason, MediaType};

use super::super::{CorpusBuilder, ExpectedResult};
use super::{Film, HOUR, SECOND, fragment, head};
use crate::sample_files::building_blocks::{atom, atom_with_length, numbers};

pub(super) fn add_files(shelf: &mut CorpusBuilder) {
    let film = |rest: &[Vec<u8>]| [head(), Film::empty().moov(), rest.concat()].concat();
    let two = film(&[fragment(1, 0, &[250, 250]), fragment(1, 500, &[500])]);
    shelf.add(
        "of fragments",
        MediaType::Mp4,
        two,
        ExpectedResult::Valid(SECOND),
    );
    let late = film(&[
        fragment(1, 4_000_000, &[500]),
        fragment(1, 4_000_500, &[500]),
    ]);
    shelf.add(
        "of fragments of a broadcast",
        MediaType::Mp4,
        late,
        ExpectedResult::Valid(SECOND),
    );
    let long = ExpectedResult::Refused(FileFailureReason::VideoTooLong);
    let apart = film(&[fragment(1, 0, &[500]), fragment(1, HOUR, &[500])]);
    shelf.add("of fragments far apart", MediaType::Mp4, apart, long);
    let sum = film(&[fragment(1, 0, &[HOUR, u32::MAX, u32::MAX])]);
    shelf.add("long by its fragments", MediaType::Mp4, sum, long);
    let mehd = atom(b"mvex", &atom(b"mehd", &numbers(&[0, HOUR])));
    let said = [
        head(),
        Film {
            moov_extra: mehd,
            ..Film::new()
        }
        .moov(),
    ]
    .concat();
    shelf.add(
        "long by the word before its fragments",
        MediaType::Mp4,
        said,
        long,
    );
    let mut put = |name: &str, bytes| shelf.add_malformed(name, MediaType::Mp4, bytes);
    put("of a fragment of no track", film(&[fragment(9, 0, &[500])]));
    put(
        "of a fragment before its film",
        [head(), fragment(1, 0, &[500]), Film::new().moov()].concat(),
    );
    put("of fragments without samples", film(&[fragment(1, 0, &[])]));
    let runs = |run: &[u32]| {
        let tfhd = atom(b"tfhd", &numbers(&[0, 1]));
        let traf = [tfhd, atom(b"trun", &numbers(run))].concat();
        film(&[atom(b"moof", &atom(b"traf", &traf))])
    };
    put("of a run that says too much", runs(&[0x100, u32::MAX, 500]));
    put(
        "of a run with all fields and none",
        runs(&[0xf01, 1000, 500]),
    );
    put("of a run without its count", runs(&[0x100]));
    put("of samples of no length", runs(&[0, 1000]));
    let nameless = atom(
        b"moof",
        &atom(b"traf", &atom(b"trun", &numbers(&[0x100, 1, 500]))),
    );
    put("of a fragment without a header", film(&[nameless]));
    put(
        "of an open fragment",
        film(&[atom_with_length(0, b"moof", &[0; 30])]),
    );
}
