//! The endpoint of a bucket: in the path, or as a subdomain.

use url::Url;

use super::failure::ObjectStoreSetupFailure;
use super::key::ObjectKey;
use crate::percent_encoding::percent_encode_path;

/// How a URL names its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressingStyle {
    /// `https://host/bucket/key`
    Path,
    /// `https://bucket.host/key`
    Virtual,
}

/// A bucket at its internal or its public address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BucketEndpoint {
    /// Scheme and authority.
    origin: String,
    /// The value of the `Host` header.
    pub(super) host: String,
    /// What precedes a key: `/` or `/bucket/`.
    path_prefix: String,
}

impl BucketEndpoint {
    pub(super) fn new(
        endpoint: &Url,
        bucket: &str,
        style: AddressingStyle,
    ) -> Result<Self, ObjectStoreSetupFailure> {
        let plain = matches!(endpoint.scheme(), "http" | "https")
            && matches!(endpoint.path(), "" | "/")
            && endpoint.query().is_none()
            && endpoint.fragment().is_none()
            && endpoint.username().is_empty()
            && endpoint.password().is_none();
        let host = endpoint.host_str().filter(|host| plain && !host.is_empty());
        let host = host.ok_or(ObjectStoreSetupFailure::Address)?;
        let port = endpoint.port().map(|port| format!(":{port}"));
        let port = port.unwrap_or_default();
        let (host, root) = match style {
            AddressingStyle::Path => (format!("{host}{port}"), format!("/{bucket}/")),
            AddressingStyle::Virtual => (format!("{bucket}.{host}{port}"), "/".to_owned()),
        };
        Ok(Self {
            origin: format!("{}://{host}", endpoint.scheme()),
            host,
            path_prefix: root,
        })
    }

    /// The path of a key, or of the bucket.
    pub(super) fn path(&self, key: Option<&ObjectKey>) -> String {
        match key {
            Some(key) => format!("{}{}", self.path_prefix, percent_encode_path(key.as_str())),
            None if self.path_prefix.len() > 1 => self.path_prefix.trim_end_matches('/').to_owned(),
            None => self.path_prefix.clone(),
        }
    }

    pub(super) fn url(&self, path_and_query: &str) -> String {
        format!("{}{path_and_query}", self.origin)
    }
}

pub(super) fn check_bucket_name(name: &str) -> Result<(), ObjectStoreSetupFailure> {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-');
    if (3..=63).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(())
    } else {
        Err(ObjectStoreSetupFailure::Bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(
        url: &str,
        style: AddressingStyle,
    ) -> Result<BucketEndpoint, ObjectStoreSetupFailure> {
        BucketEndpoint::new(&Url::parse(url).unwrap(), "crates", style)
    }

    #[test]
    fn a_bucket_is_in_the_path_or_in_the_name() {
        let path = bucket("http://127.0.0.1:8333", AddressingStyle::Path).unwrap();
        assert_eq!(path.host, "127.0.0.1:8333");
        assert_eq!(path.path(None), "/crates");
        assert_eq!(path.url(&path.path(None)), "http://127.0.0.1:8333/crates");
        let named = bucket("https://s3.example:443/", AddressingStyle::Virtual).unwrap();
        assert_eq!(named.host, "crates.s3.example");
        assert_eq!(named.url(&named.path(None)), "https://crates.s3.example/");
    }

    #[test]
    fn an_address_has_nothing_behind_its_host() {
        for text in [
            "ftp://a.example",
            "https://a.example/s3",
            "https://a.example/?x",
            "https://a.example/#x",
            "https://user@a.example/",
            "data:x",
        ] {
            let refused = bucket(text, AddressingStyle::Path);
            assert!(
                matches!(refused, Err(ObjectStoreSetupFailure::Address)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_bucket_has_a_name() {
        for name in ["", "ab", "Crates", "a/b", "a b c", &"a".repeat(64)] {
            assert!(check_bucket_name(name).is_err(), "{name}");
        }
        check_bucket_name("longshore-test.2").unwrap();
    }
}
