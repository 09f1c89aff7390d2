//! Where a bucket is: behind its host in the path, or before it in the name.

use url::Url;

use super::failure::SetupFailure;
use super::key::Key;
use super::sign::encode_path;

/// How an address names its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `https://host/bucket/key`
    Path,
    /// `https://bucket.host/key`
    Virtual,
}

/// A bucket at one of its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Scheme and authority.
    origin: String,
    /// As the Host header has it.
    pub(super) host: String,
    /// Before a key: `/` or `/bucket/`.
    root: String,
}

impl Bucket {
    pub(super) fn at(endpoint: &Url, bucket: &str, style: Style) -> Result<Self, SetupFailure> {
        let plain = matches!(endpoint.scheme(), "http" | "https")
            && matches!(endpoint.path(), "" | "/")
            && endpoint.query().is_none()
            && endpoint.fragment().is_none()
            && endpoint.username().is_empty()
            && endpoint.password().is_none();
        let host = endpoint.host_str().filter(|host| plain && !host.is_empty());
        let host = host.ok_or(SetupFailure::Address)?;
        let port = endpoint.port().map(|port| format!(":{port}"));
        let port = port.unwrap_or_default();
        let (host, root) = match style {
            Style::Path => (format!("{host}{port}"), format!("/{bucket}/")),
            Style::Virtual => (format!("{bucket}.{host}{port}"), "/".to_owned()),
        };
        Ok(Self {
            origin: format!("{}://{host}", endpoint.scheme()),
            host,
            root,
        })
    }

    /// The path of a key, or of the bucket itself.
    pub(super) fn path(&self, key: Option<&Key>) -> String {
        match key {
            Some(key) => format!("{}{}", self.root, encode_path(key.as_str())),
            None if self.root.len() > 1 => self.root.trim_end_matches('/').to_owned(),
            None => self.root.clone(),
        }
    }

    pub(super) fn url(&self, path_and_query: &str) -> String {
        format!("{}{path_and_query}", self.origin)
    }
}

pub(super) fn check_bucket(name: &str) -> Result<(), SetupFailure> {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-');
    if (3..=63).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(())
    } else {
        Err(SetupFailure::Bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(url: &str, style: Style) -> Result<Bucket, SetupFailure> {
        Bucket::at(&Url::parse(url).unwrap(), "crates", style)
    }

    #[test]
    fn a_bucket_is_in_the_path_or_in_the_name() {
        let path = bucket("http://127.0.0.1:8333", Style::Path).unwrap();
        assert_eq!(path.host, "127.0.0.1:8333");
        assert_eq!(path.path(None), "/crates");
        assert_eq!(path.url(&path.path(None)), "http://127.0.0.1:8333/crates");
        let named = bucket("https://s3.example:443/", Style::Virtual).unwrap();
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
            let refused = bucket(text, Style::Path);
            assert!(matches!(refused, Err(SetupFailure::Address)), "{text}");
        }
    }

    #[test]
    fn a_bucket_has_a_name() {
        for name in ["", "ab", "Crates", "a/b", "a b c", &"a".repeat(64)] {
            assert!(check_bucket(name).is_err(), "{name}");
        }
        check_bucket("longshore-test.2").unwrap();
    }
}
