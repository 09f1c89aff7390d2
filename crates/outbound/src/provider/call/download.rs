//! Results, from the wire to the disk: whole, or not at all.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::de::IgnoredAny;
use tokio::time::timeout;

use super::{Call, CallFailure, Caller};
use crate::provider::spool::Spool;

/// No line of results is longer.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

impl Caller {
    /// After a failure the spool is as it was before.
    pub(in crate::provider) async fn download(
        &self,
        call: Call,
        into: &mut Spool,
    ) -> Result<(), CallFailure> {
        let mark = into.mark();
        let within = self.patience.transfer;
        let fetched = timeout(within, self.fetch(call, into)).await;
        let late = |_| Err(CallFailure::unavailable("the results did not come in time"));
        let fetched = fetched.unwrap_or_else(late);
        if fetched.is_err() {
            into.rewind(mark);
        }
        fetched
    }

    async fn fetch(&self, call: Call, into: &mut Spool) -> Result<(), CallFailure> {
        let opened = timeout(self.patience.call, self.open(call)).await;
        let late = |_| Err(CallFailure::unavailable("no answer in time"));
        let mut body = opened.unwrap_or_else(late)?.into_body();
        let mut last = LastLine::default();
        while let Some(bytes) = self.next(&mut body).await? {
            last.take(&bytes)?;
            into.write(&bytes).await?;
        }
        if !last.is_whole() {
            return Err(CallFailure::unavailable("the results were cut off"));
        }
        // The next file begins on a line of its own.
        if !last.0.is_empty() {
            into.write(b"\n").await?;
        }
        Ok(())
    }

    async fn next(&self, body: &mut Incoming) -> Result<Option<bytes::Bytes>, CallFailure> {
        loop {
            let frame = timeout(self.patience.chunk, body.frame()).await;
            let frame = frame.map_err(|_| CallFailure::unavailable("the results stood still"))?;
            let cut = |_| CallFailure::unavailable("the results were cut off");
            let Some(frame) = frame.transpose().map_err(cut)? else {
                return Ok(None);
            };
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

/// A body without a length ends where the connection does: only its last line tells whether
/// that was the end.
#[derive(Debug, Default)]
struct LastLine(Vec<u8>);

impl LastLine {
    fn take(&mut self, bytes: &[u8]) -> Result<(), CallFailure> {
        let rest = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => {
                self.0.clear();
                bytes.get(end + 1..).unwrap_or_default()
            }
            None => bytes,
        };
        self.0.extend_from_slice(rest);
        if self.0.len() > LONGEST_LINE {
            return Err(CallFailure::Unreadable);
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.0.trim_ascii().is_empty() || serde_json::from_slice::<IgnoredAny>(&self.0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_is_whole_when_it_ended_or_is_a_document() {
        let whole = |pieces: &[&str]| {
            let mut last = LastLine::default();
            for piece in pieces {
                last.take(piece.as_bytes()).unwrap();
            }
            last.is_whole()
        };
        assert!(whole(&[]));
        assert!(whole(&["{\"a\":1}\n{\"b\"", ":2}\n"]));
        assert!(whole(&["{\"a\":1}\n{\"b\"", ":2}"]));
        assert!(whole(&["{}\n", "  "]));
        assert!(!whole(&["{\"a\":1}\n{\"b\"", ":2"]));
        assert!(!whole(&["{\"a\"", ":"]));
    }
}
