//! The real child process, `longshored probe`, driven by the code of the workers.

use std::process::Command;

use bytes::Bytes;
use domain::file::{FileFailureReason, FileStructure, MediaType};
use futures::{StreamExt as _, stream};
use outbound::probe::{FeedStatus, Prober};
use test_support::corpus::{CorpusFile, all_files};

/// How many child processes run at once.
const MAX_CONCURRENT_PROBES: usize = 4;
const CHUNK_BYTES: usize = 64 << 10;

fn prober() -> Prober {
    Prober::new(env!("CARGO_BIN_EXE_longshored").into())
}

async fn probe_file(
    media_type: MediaType,
    bytes: Vec<u8>,
) -> Result<FileStructure, FileFailureReason> {
    let mut process = prober().start(media_type).unwrap();
    let mut rest = Bytes::from(bytes);
    while !rest.is_empty() {
        let chunk = rest.split_to(rest.len().min(CHUNK_BYTES));
        if process.feed(chunk).await == FeedStatus::Finished {
            break;
        }
    }
    process.finish().await.unwrap()
}

async fn find_mismatch(file: CorpusFile) -> Option<String> {
    let found = probe_file(file.media_type, file.bytes.clone()).await;
    let mismatch = format!("{}: {found:?}, not {:?}", file.name, file.expected);
    (!file.allows(found)).then_some(mismatch)
}

#[tokio::test]
async fn the_child_gives_every_corpus_file_its_expected_result() {
    let mismatches = stream::iter(all_files())
        .map(find_mismatch)
        .buffer_unordered(MAX_CONCURRENT_PROBES)
        .filter_map(|mismatch| async { mismatch });
    assert_eq!(mismatches.collect::<Vec<_>>().await, [""; 0]);
}

#[tokio::test]
async fn this_host_can_probe() {
    prober().check_sandbox().await.unwrap();
}

#[tokio::test]
async fn a_child_killed_in_the_middle_is_a_malformed_file() {
    let mut process = prober().start(MediaType::Text).unwrap();
    let chunk = Bytes::from(vec![b'a'; CHUNK_BYTES]);
    // The pipe holds one chunk: the child has started to read when the second is accepted.
    for _ in 0..3 {
        assert_eq!(process.feed(chunk.clone()).await, FeedStatus::WantsMore);
    }
    let id = process.id().unwrap().to_string();
    let killed = Command::new("kill").args(["-KILL", &id]).status().unwrap();
    assert!(killed.success());
    while process.feed(chunk.clone()).await == FeedStatus::WantsMore {}
    let found = process.finish().await.unwrap();
    assert_eq!(found, Err(FileFailureReason::MalformedDocument));
}

#[tokio::test]
async fn the_largest_video_passes_within_the_limits() {
    const MB: usize = 1 << 20;
    let film = all_files()
        .into_iter()
        .find(|it| it.name == "video/mp4 sound");
    let film = film.unwrap().bytes;
    let size = 1024 * MB - film.len();
    let head = u32::try_from(size).unwrap().to_be_bytes();
    let head = [head.as_slice(), b"free", &vec![0; size % MB - 8]].concat();
    let mut process = prober().start(MediaType::Mp4).unwrap();
    process.feed(head.into()).await;
    let chunk = Bytes::from(vec![7; MB]);
    for _ in 0..size / MB {
        assert_eq!(process.feed(chunk.clone()).await, FeedStatus::WantsMore);
    }
    process.feed(film.into()).await;
    let second = FileStructure::Video { milliseconds: 1000 };
    assert_eq!(process.finish().await.unwrap(), Ok(second));
}
