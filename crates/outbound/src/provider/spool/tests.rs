//! Small and large spools, read whole, in part and by line.

use bytes::Bytes;
use futures::TryStreamExt as _;

use super::*;

async fn spool() -> Spool {
    Spool::new(&std::env::temp_dir()).await.unwrap()
}

async fn read_all(mut chunks: SpoolChunks) -> Vec<u8> {
    let mut read = Vec::new();
    while let Some(chunk) = chunks.next().await.unwrap() {
        assert!(!chunk.is_empty());
        read.extend_from_slice(&chunk);
    }
    read
}

async fn read_lines(spool: &Spool) -> Vec<String> {
    let mut lines = spool.lines();
    let mut read = Vec::new();
    while let Some(line) = lines.next().await.unwrap() {
        read.push(String::from_utf8(line.to_vec()).unwrap());
    }
    read
}

fn pattern(length: usize) -> Vec<u8> {
    (0..=250).cycle().take(length).collect()
}

#[tokio::test]
async fn what_is_written_is_read_back_whole_and_in_part() {
    for length in [
        0,
        1,
        BLOCK_BYTES - 1,
        BLOCK_BYTES,
        BLOCK_BYTES + 1,
        3 * BLOCK_BYTES + 7,
    ] {
        let bytes = pattern(length);
        let mut spool = spool().await;
        for piece in bytes.chunks(1000) {
            spool.write(piece).await.unwrap();
        }
        assert_eq!(spool.length(), length as u64);
        assert!(spool.tail.len() < BLOCK_BYTES);
        assert_eq!(spool.sha256().0, <[u8; 32]>::from(Sha256::digest(&bytes)));
        assert_eq!(read_all(spool.chunks()).await, bytes);
        for (from, until) in [(0, length), (length / 3, length / 2), (length / 2, length)] {
            let part = spool.range(from as u64, (until - from) as u64);
            assert_eq!(part.length(), (until - from) as u64);
            assert_eq!(read_all(part).await, bytes[from..until]);
        }
        let streamed: Vec<Bytes> = spool.chunks().into_stream().try_collect().await.unwrap();
        assert_eq!(streamed.concat(), bytes);
    }
}

#[tokio::test]
async fn a_reader_sees_what_was_there_when_it_began() {
    let mut spool = spool().await;
    spool.write(b"first").await.unwrap();
    let before = spool.chunks();
    spool.write(&pattern(2 * BLOCK_BYTES)).await.unwrap();
    assert_eq!(read_all(before).await, b"first");
}

#[tokio::test]
async fn blank_lines_are_passed_over_and_the_last_line_needs_no_end() {
    let mut spool = spool().await;
    for text in ["a\r\n", "\n", "  \n", "b", "c\n\n", "d"] {
        spool.write(text.as_bytes()).await.unwrap();
    }
    assert_eq!(read_lines(&spool).await, ["a", "bc", "d"]);
}

#[tokio::test]
async fn a_line_may_be_longer_than_many_blocks() {
    let long = "x".repeat(3 * BLOCK_BYTES + 5);
    let mut spool = spool().await;
    for text in [&long, "\n", "short", "\n", &long, "\n"] {
        spool.write(text.as_bytes()).await.unwrap();
    }
    assert_eq!(read_lines(&spool).await, [&long, "short", &long]);
}

#[tokio::test]
async fn bytes_after_a_position_are_dropped_by_truncation() {
    for (before, after) in [
        (3, 5),
        (3, 2 * BLOCK_BYTES),
        (2 * BLOCK_BYTES, 3),
        (2 * BLOCK_BYTES, 2 * BLOCK_BYTES),
    ] {
        let kept = pattern(before);
        let mut spool = spool().await;
        spool.write(&kept).await.unwrap();
        let position = spool.position();
        spool.write(&vec![b'x'; after]).await.unwrap();
        spool.truncate_to(position);
        assert_eq!(read_all(spool.chunks()).await, kept);
        assert_eq!(spool.sha256().0, <[u8; 32]>::from(Sha256::digest(&kept)));
        spool.write(b"more").await.unwrap();
        assert_eq!(
            read_all(spool.chunks()).await,
            [&kept[..], b"more"].concat()
        );
    }
}

#[tokio::test]
async fn the_disk_has_only_encrypted_bytes() {
    let mut spool = spool().await;
    let text = b"marker-prompt ".repeat(40_000);
    spool.write(&text).await.unwrap();
    let length = spool.file.metadata().unwrap().len();
    let mut stored = vec![0; usize::try_from(length).unwrap()];
    spool.file.read_exact_at(&mut stored, 0).unwrap();
    assert!(stored.len() > BLOCK_BYTES);
    assert!(!stored.windows(6).any(|it| it == b"marker"));
    assert_eq!(read_all(spool.chunks()).await, text);
}

#[tokio::test]
async fn a_spool_leaves_no_name_behind() {
    let folder = std::env::temp_dir().join(format!("spools-{:x}", rand::rng().random::<u64>()));
    std::fs::create_dir(&folder).unwrap();
    let mut spool = Spool::new(&folder).await.unwrap();
    spool.write(&pattern(2 * BLOCK_BYTES)).await.unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir(&folder).unwrap();
    assert_eq!(spool.length(), 2 * BLOCK_BYTES as u64);
}
