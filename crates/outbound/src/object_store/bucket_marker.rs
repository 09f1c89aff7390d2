//! The bucket marker of a shard: a restored database detects with it that it is older than its
//! bucket.

use bytes::Bytes;
use domain::bucket_marker::BucketMarker;
use http::{Method, StatusCode};
use uuid::Uuid;

use super::ObjectStore;
use super::call::ObjectStoreCall;
use super::failure::ObjectStoreFailure;
use super::key::ObjectKey;

impl ObjectStore {
    /// None: no marker was written yet.
    pub async fn read_marker(
        &self,
        shard: &str,
    ) -> Result<Option<BucketMarker>, ObjectStoreFailure> {
        const OPERATION: &str = "read the bucket marker";
        let key = self.marker_key(shard);
        let answer = self
            .call(&self.object_call(OPERATION, Method::GET, &key))
            .await?;
        if answer.status == StatusCode::NOT_FOUND && answer.error_code() != "NoSuchBucket" {
            return Ok(None);
        }
        let answer = answer.require_success(OPERATION)?;
        let marker = std::str::from_utf8(&answer.body)
            .ok()
            .and_then(parse_marker);
        marker
            .map(Some)
            .ok_or(ObjectStoreFailure::Unreadable(OPERATION))
    }

    pub async fn write_marker(
        &self,
        shard: &str,
        marker: BucketMarker,
    ) -> Result<(), ObjectStoreFailure> {
        const OPERATION: &str = "write the bucket marker";
        let key = self.marker_key(shard);
        let call = ObjectStoreCall {
            body: Bytes::from(format_marker(marker)),
            ..self.object_call(OPERATION, Method::PUT, &key)
        };
        self.call(&call).await?.require_success(OPERATION).map(drop)
    }

    fn marker_key(&self, shard: &str) -> ObjectKey {
        self.system_key(&format!("marker/{}", escape_shard_name(shard)))
    }
}

/// Object keys must not need escaping.
fn escape_shard_name(shard: &str) -> String {
    let bytes = shard.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        other => format!(".{other:02x}"),
    });
    bytes.collect()
}

fn format_marker(marker: BucketMarker) -> String {
    format!("{} {}\n", marker.generation, marker.nonce.simple())
}

fn parse_marker(text: &str) -> Option<BucketMarker> {
    let (generation, nonce) = text.trim_end().split_once(' ')?;
    Some(BucketMarker {
        generation: generation.parse().ok()?,
        nonce: Uuid::try_parse(nonce).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let marker = BucketMarker {
            generation: 42,
            nonce: Uuid::from_u128(7),
        };
        assert_eq!(parse_marker(&format_marker(marker)), Some(marker));
        for bad in ["", "42", "x 7", "42 x"] {
            assert_eq!(parse_marker(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_shard_has_a_key_of_its_own() {
        assert_eq!(escape_shard_name("north-1_A"), "north-1_A");
        assert_eq!(escape_shard_name("a b/ü"), "a.20b.2f.c3.bc");
    }
}
