//! MP4 and QuickTime: wrong lengths, wrong tables, fragments, and absurd times.

use domain::file::{FileFailureReason, FileStructure, MediaType};

use super::{CorpusBuilder, ExpectedResult};
use crate::sample_files::building_blocks::{atom, atom_with_length, long_atom, numbers};

mod fragments;

/// A film of one track, in ticks of a millisecond.
struct Film {
    movie: u32,
    media: u32,
    scale: u32,
    runs: Vec<u32>,
    handler: [u8; 4],
    /// Extra boxes of `moov` and of `trak`.
    moov_extra: Vec<u8>,
    trak_extra: Vec<u8>,
}

const SECOND: FileStructure = FileStructure::Video { milliseconds: 1000 };
const HOUR: u32 = 3_600_000;

impl Film {
    fn new() -> Self {
        Self {
            movie: 1000,
            media: 1000,
            scale: 1000,
            runs: vec![1, 10, 100],
            handler: *b"vide",
            moov_extra: Vec::new(),
            trak_extra: Vec::new(),
        }
    }

    /// A film whose length only the fragments state.
    fn empty() -> Self {
        let trex = atom(b"trex", &numbers(&[0, 1, 1, 0, 0, 0]));
        Self {
            movie: 0,
            media: 0,
            runs: vec![0],
            moov_extra: atom(b"mvex", &trex),
            ..Self::new()
        }
    }

    fn moov(&self) -> Vec<u8> {
        atom(b"moov", &self.body())
    }

    fn body(&self) -> Vec<u8> {
        let mvhd = numbers(&[0, 0, 0, self.scale, self.movie]);
        let media_header = numbers(&[0, 0, 0, self.scale, self.media, 0]);
        let hdlr = [numbers(&[0, 0]), self.handler.to_vec(), vec![0; 12]].concat();
        let stts = [vec![0; 4], numbers(&self.runs)].concat();
        let table = atom(b"stbl", &atom(b"stts", &stts));
        let media = [
            atom(b"mdhd", &media_header),
            atom(b"hdlr", &hdlr),
            atom(b"minf", &table),
        ]
        .concat();
        let tkhd = numbers(&[0, 0, 0, 1, 0, self.movie]);
        let track = [
            atom(b"tkhd", &tkhd),
            self.trak_extra.clone(),
            atom(b"mdia", &media),
        ]
        .concat();
        [
            atom(b"mvhd", &mvhd),
            atom(b"trak", &track),
            self.moov_extra.clone(),
        ]
        .concat()
    }
}

fn head() -> Vec<u8> {
    atom(b"ftyp", b"isom\0\0\x02\0isommp41")
}

/// A fragment of the track: where it begins, and how long its samples are.
fn fragment(track: u32, begins: u32, samples: &[u32]) -> Vec<u8> {
    let tfhd = atom(b"tfhd", &numbers(&[0, track]));
    let tfdt = atom(b"tfdt", &numbers(&[0, begins]));
    let count = u32::try_from(samples.len()).unwrap_or(u32::MAX);
    let trun = atom(
        b"trun",
        &[numbers(&[0x100, count]), numbers(samples)].concat(),
    );
    atom(b"moof", &atom(b"traf", &[tfhd, tfdt, trun].concat()))
}

pub(super) fn add_files(shelf: &mut CorpusBuilder) {
    let sound = [head(), atom(b"mdat", &[7; 40]), Film::new().moov()].concat();
    shelf.add_with_truncations(MediaType::Mp4, &sound, SECOND);
    let old = [
        atom(b"wide", b""),
        atom(b"mdat", &[7; 9]),
        Film::new().moov(),
    ]
    .concat();
    shelf.add(
        "without ftyp",
        MediaType::QuickTime,
        old,
        ExpectedResult::Valid(SECOND),
    );
    let open = [
        head(),
        Film::new().moov(),
        atom_with_length(0, b"mdat", &[7; 99]),
    ]
    .concat();
    shelf.add(
        "open at its end",
        MediaType::Mp4,
        open,
        ExpectedResult::Valid(SECOND),
    );
    let long = [head(), long_atom(20, b"mdat", &[7; 4]), Film::new().moov()].concat();
    shelf.add(
        "with a length of 64 bits",
        MediaType::Mp4,
        long,
        ExpectedResult::Valid(SECOND),
    );
    boxes(shelf);
    times(shelf);
    tables(shelf);
    fragments::add_files(shelf);
}

fn boxes(shelf: &mut CorpusBuilder) {
    let film = Film::new();
    let mut put = |name: &str, rest: Vec<u8>| {
        shelf.add_malformed(name, MediaType::Mp4, [head(), rest].concat());
    };
    put("without a film", atom(b"mdat", &[7; 40]));
    for length in [2, 7, 0xffff, 0x7fff_ffff, 0xffff_ffff] {
        put(
            &format!("whose film says {length}"),
            atom_with_length(length, b"moov", &film.body()),
        );
        put(
            &format!("whose data say {length}"),
            [film.moov(), atom_with_length(length, b"mdat", &[7; 40])].concat(),
        );
        let beside = atom_with_length(length, b"udta", b"x");
        put(
            &format!("with a box inside that says {length}"),
            Film {
                moov_extra: beside,
                ..Film::new()
            }
            .moov(),
        );
    }
    for length in [0, 15, 1 << 32, 1 << 63, u64::MAX] {
        put(
            &format!("whose film says {length} in 64 bits"),
            long_atom(length, b"moov", &film.body()),
        );
        let beside = long_atom(length, b"udta", b"x");
        put(
            &format!("with a box inside that says {length} in 64 bits"),
            Film {
                moov_extra: beside,
                ..Film::new()
            }
            .moov(),
        );
    }
    put(
        "with an open box inside",
        Film {
            moov_extra: atom_with_length(0, b"udta", b"x"),
            ..Film::new()
        }
        .moov(),
    );
    put(
        "whose film is open",
        atom_with_length(0, b"moov", &film.body()),
    );
    put("of two films", [film.moov(), film.moov()].concat());
    put(
        "with a few bytes more",
        [film.moov(), vec![0, 0, 0]].concat(),
    );
    put(
        "whose film is compressed",
        atom(b"moov", &atom(b"cmov", &[7; 40])),
    );
    put(
        "of sound alone",
        Film {
            handler: *b"soun",
            ..Film::new()
        }
        .moov(),
    );
    let tracks = Film::new().body().repeat(200);
    put("of 200 tracks", atom(b"moov", &tracks));
    let mut nested = Vec::new();
    for _ in 0..20_000 {
        nested = atom_with_length(
            u32::try_from(nested.len() + 8).unwrap_or(0),
            b"moov",
            &nested,
        );
    }
    put("of films in one another", nested);
    put("of empty boxes", atom(b"free", b"").repeat(500_000));
}

fn times(shelf: &mut CorpusBuilder) {
    let film = Film::new;
    let with_runs = |runs: &[u32]| Film {
        runs: runs.to_vec(),
        ..film()
    };
    let with_lengths = |movie, media| Film {
        movie,
        media,
        ..with_runs(&[0])
    };
    let edits = atom(b"elst", &numbers(&[0, 1, HOUR, 0, 0x10000]));
    let inside = atom(b"edts", &edits);
    let long = [
        (
            "long by its header",
            Film {
                movie: HOUR,
                ..film()
            },
        ),
        (
            "long by its track",
            Film {
                media: HOUR,
                ..film()
            },
        ),
        ("long by its samples", with_runs(&[1, HOUR, 1])),
        ("long by a sample", with_runs(&[1, 1, HOUR])),
        ("as long as can be", with_runs(&[1, u32::MAX, u32::MAX])),
        (
            "long by its edits",
            Film {
                trak_extra: inside,
                ..film()
            },
        ),
        (
            "a second too long",
            Film {
                scale: 1,
                ..with_lengths(1800, 1801)
            },
        ),
    ];
    for (name, film) in long {
        let bytes = [head(), film.moov()].concat();
        shelf.add(
            name,
            MediaType::Mp4,
            bytes,
            ExpectedResult::Refused(FileFailureReason::VideoTooLong),
        );
    }
    let broken = [
        ("without a scale", Film { scale: 0, ..film() }),
        ("of unknown length", with_lengths(u32::MAX, u32::MAX)),
        ("of no length", with_lengths(0, 0)),
    ];
    for (name, film) in broken {
        shelf.add_malformed(name, MediaType::Mp4, [head(), film.moov()].concat());
    }
}

fn tables(shelf: &mut CorpusBuilder) {
    let mut put = |name: &str, film: Film| {
        shelf.add_malformed(name, MediaType::Mp4, [head(), film.moov()].concat());
    };
    for count in [2, 0x1000_0000, 0x2000_0001, u32::MAX] {
        let name = format!("whose table says {count}");
        put(
            &name,
            Film {
                runs: vec![count, 1, 1000],
                ..Film::new()
            },
        );
        let edits = atom(b"elst", &numbers(&[0, count, 1000, 0, 0x10000]));
        let name = format!("whose edits say {count}");
        put(
            &name,
            Film {
                trak_extra: atom(b"edts", &edits),
                ..Film::new()
            },
        );
    }
    put(
        "whose table is empty",
        Film {
            runs: Vec::new(),
            ..Film::new()
        },
    );
    for kind in [b"mdia", b"edts", b"tkhd"] {
        let inside = atom(kind, &[0]);
        put(
            &format!("with a short box in its track ({})", kind.escape_ascii()),
            Film {
                trak_extra: inside,
                ..Film::new()
            },
        );
    }
    for kind in [b"mvhd", b"mvex", b"trak"] {
        let beside = atom(kind, &[0]);
        put(
            &format!("with a short box in its film ({})", kind.escape_ascii()),
            Film {
                moov_extra: beside,
                ..Film::new()
            },
        );
    }
}
