//! The real child, `longshored probe`, fed by the code that workers use.

use std::process::Command;

use bytes::Bytes;
use domain::file::{Flaw, MediaType, Structure};
use futures::{StreamExt as _, stream};
use outbound::probe::{Appetite, Prober};
use probe::corpus::{Specimen, all};

/// How many children at once.
const TOGETHER: usize = 4;
const CHUNK: usize = 64 << 10;

fn prober() -> Prober {
    Prober::new(env!("CARGO_BIN_EXE_longshored").into())
}

async fn found(media_type: MediaType, bytes: Vec<u8>) -> Result<Structure, Flaw> {
    let mut probing = prober().start(media_type).unwrap();
    let mut rest = Bytes::from(bytes);
    while !rest.is_empty() {
        let chunk = rest.split_to(rest.len().min(CHUNK));
        if probing.feed(chunk).await == Appetite::Full {
            break;
        }
    }
    probing.finish().await.unwrap()
}

async fn complaint(specimen: Specimen) -> Option<String> {
    let found = found(specimen.media_type, specimen.bytes.clone()).await;
    let told = format!("{}: {found:?}, not {:?}", specimen.name, specimen.fate);
    (!specimen.allows(found)).then_some(told)
}

#[tokio::test]
async fn every_file_of_the_corpus_meets_its_fate_in_the_child() {
    let complaints = stream::iter(all())
        .map(complaint)
        .buffer_unordered(TOGETHER)
        .filter_map(|told| async { told });
    assert_eq!(complaints.collect::<Vec<_>>().await, [""; 0]);
}

#[tokio::test]
async fn this_host_can_probe() {
    prober().rehearse().await.unwrap();
}

#[tokio::test]
async fn a_child_killed_in_the_middle_is_a_malformed_file() {
    let mut probing = prober().start(MediaType::Text).unwrap();
    let words = Bytes::from(vec![b'a'; CHUNK]);
    // The pipe holds one of them: with the second it has begun to read.
    for _ in 0..3 {
        assert_eq!(probing.feed(words.clone()).await, Appetite::Hungry);
    }
    let id = probing.id().unwrap().to_string();
    let killed = Command::new("kill").args(["-KILL", &id]).status().unwrap();
    assert!(killed.success());
    while probing.feed(words.clone()).await == Appetite::Hungry {}
    let found = probing.finish().await.unwrap();
    assert_eq!(found, Err(Flaw::MalformedDocument));
}

#[tokio::test]
async fn the_largest_video_passes_within_the_limits() {
    const MB: usize = 1 << 20;
    let film = all().into_iter().find(|it| it.name == "video/mp4 sound");
    let film = film.unwrap().bytes;
    let size = 1024 * MB - film.len();
    let head = u32::try_from(size).unwrap().to_be_bytes();
    let head = [head.as_slice(), b"free", &vec![0; size % MB - 8]].concat();
    let mut probing = prober().start(MediaType::Mp4).unwrap();
    probing.feed(head.into()).await;
    let chunk = Bytes::from(vec![7; MB]);
    for _ in 0..size / MB {
        assert_eq!(probing.feed(chunk.clone()).await, Appetite::Hungry);
    }
    probing.feed(film.into()).await;
    let second = Structure::Video { milliseconds: 1000 };
    assert_eq!(probing.finish().await.unwrap(), Ok(second));
}
