//! Downloads results into a spool, completely or not at all.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::de::IgnoredAny;
use tokio::time::timeout;

use super::{ProviderCallFailure, ProviderClient, ProviderRequest};
use crate::provider::spool::Spool;

/// Of one result line.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

impl ProviderClient {
    /// A failure leaves the spool unchanged.
    pub(in crate::provider) async fn download(
        &self,
        call: ProviderRequest,
        into: &mut Spool,
    ) -> Result<(), ProviderCallFailure> {
        let position = into.position();
        let within = self.timeouts.transfer;
        let fetched = timeout(within, self.download_lines(call, into)).await;
        let late = |_| {
            Err(ProviderCallFailure::unavailable(
                "the result download timed out",
            ))
        };
        let fetched = fetched.unwrap_or_else(late);
        if fetched.is_err() {
            into.truncate_to(position);
        }
        fetched
    }

    async fn download_lines(
        &self,
        call: ProviderRequest,
        into: &mut Spool,
    ) -> Result<(), ProviderCallFailure> {
        let opened = timeout(self.timeouts.call, self.open_response(call)).await;
        let late = |_| {
            Err(ProviderCallFailure::unavailable(
                "no response before the timeout",
            ))
        };
        let mut body = opened.unwrap_or_else(late)?.into_body();
        let mut last = LastLine::default();
        while let Some(bytes) = self.next_chunk(&mut body).await? {
            last.push(&bytes)?;
            into.write(&bytes).await?;
        }
        if !last.is_complete() {
            return Err(ProviderCallFailure::unavailable(
                "the result download was cut off",
            ));
        }
        // The next file must begin on a new line.
        if !last.0.is_empty() {
            into.write(b"\n").await?;
        }
        Ok(())
    }

    async fn next_chunk(
        &self,
        body: &mut Incoming,
    ) -> Result<Option<bytes::Bytes>, ProviderCallFailure> {
        loop {
            let frame = timeout(self.timeouts.chunk, body.frame()).await;
            let frame = frame
                .map_err(|_| ProviderCallFailure::unavailable("the result download stalled"))?;
            let cut = |_| ProviderCallFailure::unavailable("the result download was cut off");
            let Some(frame) = frame.transpose().map_err(cut)? else {
                return Ok(None);
            };
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

/// A body without a length ends when the connection closes. Only its last line shows whether
/// the body is complete.
#[derive(Debug, Default)]
struct LastLine(Vec<u8>);

impl LastLine {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ProviderCallFailure> {
        let rest = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => {
                self.0.clear();
                bytes.get(end + 1..).unwrap_or_default()
            }
            None => bytes,
        };
        self.0.extend_from_slice(rest);
        if self.0.len() > MAX_LINE_BYTES {
            return Err(ProviderCallFailure::UnreadableResponse);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
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
                last.push(piece.as_bytes()).unwrap();
            }
            last.is_complete()
        };
        assert!(whole(&[]));
        assert!(whole(&["{\"a\":1}\n{\"b\"", ":2}\n"]));
        assert!(whole(&["{\"a\":1}\n{\"b\"", ":2}"]));
        assert!(whole(&["{}\n", "  "]));
        assert!(!whole(&["{\"a\":1}\n{\"b\"", ":2"]));
        assert!(!whole(&["{\"a\"", ":"]));
    }
}
