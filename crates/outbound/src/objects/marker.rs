//! The marker of a shard's rows: by it a database finds out that it is older than its bucket.

use bytes::Bytes;
use domain::bucket_marker::Marker;
use http::{Method, StatusCode};
use uuid::Uuid;

use super::Objects;
use super::call::Call;
use super::failure::Failure;
use super::key::Key;

impl Objects {
    /// None: none was written yet.
    pub async fn read_marker(&self, shard: &str) -> Result<Option<Marker>, Failure> {
        const WHAT: &str = "read the marker of the rows";
        let key = self.marker_key(shard);
        let answer = self.call(&self.about(WHAT, Method::GET, &key)).await?;
        if answer.status == StatusCode::NOT_FOUND && answer.code() != "NoSuchBucket" {
            return Ok(None);
        }
        let answer = answer.accepted(WHAT)?;
        let marker = std::str::from_utf8(&answer.body).ok().and_then(parse);
        marker.map(Some).ok_or(Failure::Unreadable(WHAT))
    }

    pub async fn write_marker(&self, shard: &str, marker: Marker) -> Result<(), Failure> {
        const WHAT: &str = "write the marker of the rows";
        let key = self.marker_key(shard);
        let call = Call {
            body: Bytes::from(text(marker)),
            ..self.about(WHAT, Method::PUT, &key)
        };
        self.call(&call).await?.accepted(WHAT).map(drop)
    }

    fn marker_key(&self, shard: &str) -> Key {
        self.own_key(&format!("marker/{}", plain(shard)))
    }
}

/// Nothing in a key needs to be escaped.
fn plain(shard: &str) -> String {
    let bytes = shard.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        other => format!(".{other:02x}"),
    });
    bytes.collect()
}

fn text(marker: Marker) -> String {
    format!("{} {}\n", marker.generation, marker.nonce.simple())
}

fn parse(text: &str) -> Option<Marker> {
    let (generation, nonce) = text.trim_end().split_once(' ')?;
    Some(Marker {
        generation: generation.parse().ok()?,
        nonce: Uuid::try_parse(nonce).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let marker = Marker {
            generation: 42,
            nonce: Uuid::from_u128(7),
        };
        assert_eq!(parse(&text(marker)), Some(marker));
        for bad in ["", "42", "x 7", "42 x"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_shard_has_a_key_of_its_own() {
        assert_eq!(plain("north-1_A"), "north-1_A");
        assert_eq!(plain("a b/ü"), "a.20b.2f.c3.bc");
    }
}
