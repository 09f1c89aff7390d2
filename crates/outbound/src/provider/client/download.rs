//! Downloads results into a spool, completely or not at all.

use serde::de::IgnoredAny;

use super::{ProviderCallFailure, ProviderClient, ProviderRequest, failure};
use crate::http_exchange::{HttpFailure, next_chunk, within};
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
        let fetched = within(self.timeouts.transfer, self.download_lines(call, into)).await;
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
        let retry_safety = call.retry_safety;
        let opened = within(self.timeouts.call, self.open_response(call)).await;
        let late = |failure| failure::from_exchange(failure, retry_safety);
        let mut body = opened.map_err(late)??.into_body();
        let mut last = LastLine::default();
        while let Some(bytes) = next_chunk(&mut body, self.timeouts.chunk)
            .await
            .map_err(interrupted)?
        {
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
}

fn interrupted(failure: HttpFailure) -> ProviderCallFailure {
    ProviderCallFailure::unavailable(match failure {
        HttpFailure::TimedOut(_) => "the result download stalled",
        HttpFailure::NotConnected(_)
        | HttpFailure::NoResponse(_)
        | HttpFailure::ResponseCut
        | HttpFailure::ResponseTooLarge => "the result download was cut off",
    })
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
