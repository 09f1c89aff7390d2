//! The lines of a result, read forward or backward.

use std::io;

use bytes::{Bytes, BytesMut};
use domain::batch::ResultIngestionMode;
use outbound::provider::spool::{Spool, SpoolLines};

#[derive(Debug)]
pub(super) enum ResultLines<'a> {
    Forward(SpoolLines),
    /// The start and length of each line not read yet.
    Backward(&'a Spool, Vec<(u64, u64)>),
}

impl<'a> ResultLines<'a> {
    pub(super) async fn of(spool: &'a Spool, care: ResultIngestionMode) -> io::Result<Self> {
        Ok(if care == ResultIngestionMode::OneByOneBackward {
            Self::Backward(spool, find_lines(spool).await?)
        } else {
            Self::Forward(spool.lines())
        })
    }

    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        match self {
            Self::Forward(lines) => lines.next().await,
            Self::Backward(spool, places) => loop {
                let Some((from, length)) = places.pop() else {
                    return Ok(None);
                };
                let (mut part, mut line) = (spool.range(from, length), BytesMut::new());
                while let Some(chunk) = part.next().await? {
                    line.extend_from_slice(&chunk);
                }
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(line.freeze()));
                }
            },
        }
    }
}

/// Finds the start and length of each line, with one block in memory at a time.
async fn find_lines(spool: &Spool) -> io::Result<Vec<(u64, u64)>> {
    let mut chunks = spool.range(0, spool.length());
    let (mut places, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(chunk) = chunks.next().await? {
        for byte in &chunk {
            at += 1;
            if *byte == b'\n' {
                places.push((start, at - start));
                start = at;
            }
        }
    }
    if at > start {
        places.push((start, at - start));
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_same_lines_come_from_either_end() {
        let mut spool = Spool::new(&std::env::temp_dir()).await.unwrap();
        spool.write(b"one\n\ntwo\nthree").await.unwrap();
        let mut seen = Vec::new();
        for care in [
            ResultIngestionMode::OneByOne,
            ResultIngestionMode::OneByOneBackward,
        ] {
            let mut lines = ResultLines::of(&spool, care).await.unwrap();
            let mut texts = Vec::new();
            while let Some(line) = lines.next().await.unwrap() {
                texts.push(String::from_utf8(line.trim_ascii().to_vec()).unwrap());
            }
            seen.push(texts);
        }
        assert_eq!(seen[0], ["one", "two", "three"]);
        seen[0].reverse();
        assert_eq!(seen[0], seen[1]);
    }
}
