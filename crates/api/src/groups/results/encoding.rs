//! Compresses the lines of a results stream, in the way that the caller accepts.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use http::header::ACCEPT_ENCODING;

/// The fastest level: results are text, and most of the gain comes with it.
const ZSTD_LEVEL: i32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultEncoding {
    Plain,
    Gzip,
    Zstd,
}

impl ResultEncoding {
    /// The best of those that `Accept-Encoding` names.
    pub(super) fn accepted_by(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT_ENCODING).iter();
        let values = values.filter_map(|value| value.to_str().ok());
        let codings = values.flat_map(|value| value.split(','));
        let accepted: Vec<&str> = codings.filter_map(accepted_coding).collect();
        let is_accepted = |name: &str| accepted.iter().any(|it| it.eq_ignore_ascii_case(name));
        if is_accepted("zstd") {
            Self::Zstd
        } else if is_accepted("gzip") {
            Self::Gzip
        } else {
            Self::Plain
        }
    }

    /// As `Content-Encoding` names it.
    pub(super) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }
}

/// The name of a coding, unless its weight is zero.
fn accepted_coding(text: &str) -> Option<&str> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next()?;
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    let weight = weight.map_or(Ok(1.0), str::parse::<f64>);
    let is_accepted = weight.is_ok_and(|weight| weight > 0.0);
    is_accepted.then_some(name)
}

/// Writes to memory. Every page is flushed, so that the caller can read its lines at once.
pub(super) enum LineEncoder {
    Plain,
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl LineEncoder {
    pub(super) fn new(encoding: ResultEncoding) -> io::Result<Self> {
        Ok(match encoding {
            ResultEncoding::Plain => Self::Plain,
            ResultEncoding::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), Compression::fast())),
            ResultEncoding::Zstd => {
                let encoder = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                Self::Zstd(encoder)
            }
        })
    }

    pub(super) fn encode(&mut self, lines: Vec<u8>) -> io::Result<Bytes> {
        let encoded = match self {
            Self::Plain => lines,
            Self::Gzip(encoder) => {
                encoder.write_all(&lines)?;
                encoder.flush()?;
                std::mem::take(encoder.get_mut())
            }
            Self::Zstd(encoder) => {
                encoder.write_all(&lines)?;
                encoder.flush()?;
                std::mem::take(encoder.get_mut())
            }
        };
        Ok(encoded.into())
    }

    /// The end of the body.
    pub(super) fn finish(self) -> io::Result<Bytes> {
        let end = match self {
            Self::Plain => Vec::new(),
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        Ok(end.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use http::HeaderValue;

    use super::*;

    fn accepted_by(value: &'static str) -> ResultEncoding {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(value));
        ResultEncoding::accepted_by(&headers)
    }

    #[test]
    fn the_best_accepted_encoding_is_chosen() {
        assert_eq!(
            ResultEncoding::accepted_by(&HeaderMap::new()),
            ResultEncoding::Plain
        );
        assert_eq!(accepted_by("gzip, deflate, br, zstd"), ResultEncoding::Zstd);
        assert_eq!(accepted_by("GZIP;q=0.5, deflate"), ResultEncoding::Gzip);
        assert_eq!(accepted_by("zstd;q=0, gzip; q=1"), ResultEncoding::Gzip);
        assert_eq!(accepted_by("zstd;q=0.0, identity"), ResultEncoding::Plain);
    }

    fn encode(encoding: ResultEncoding) -> Vec<u8> {
        let mut encoder = LineEncoder::new(encoding).unwrap();
        let first = encoder.encode(b"one\n".to_vec()).unwrap();
        assert!(!first.is_empty());
        let second = encoder.encode(b"two\n".to_vec()).unwrap();
        [first, second, encoder.finish().unwrap()].concat()
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        assert_eq!(encode(ResultEncoding::Plain), b"one\ntwo\n");
        let zstd = encode(ResultEncoding::Zstd);
        assert_eq!(zstd::stream::decode_all(&zstd[..]).unwrap(), b"one\ntwo\n");
        let gzip = encode(ResultEncoding::Gzip);
        let mut text = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&gzip[..]);
        decoder.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\n");
    }
}
