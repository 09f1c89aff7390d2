//! Addresses: what stands behind the base, and what a provider names itself.

use std::fmt::Write as _;

use http::Uri;
use url::Url;

use super::failure::SetupFailure;

/// Where a provider is; without a slash at its end.
#[derive(Debug, Clone)]
pub(super) struct Base {
    text: String,
    origin: url::Origin,
}

#[derive(Debug)]
pub(super) struct Place {
    pub(super) uri: Uri,
    /// Whether it is the provider's own.
    pub(super) is_base: bool,
}

impl Base {
    pub(super) fn new(url: &Url) -> Result<Self, SetupFailure> {
        let is_plain = matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !is_plain {
            return Err(SetupFailure::Address);
        }
        Ok(Self {
            text: url.as_str().trim_end_matches('/').to_owned(),
            origin: url.origin(),
        })
    }

    pub(super) fn place(&self, to: &str) -> Option<Place> {
        if to.starts_with('/') {
            let uri = format!("{}{to}", self.text).parse().ok()?;
            return Some(Place { uri, is_base: true });
        }
        let url = Url::parse(to).ok()?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        Some(Place {
            uri: url.as_str().parse().ok()?,
            is_base: url.origin() == self.origin,
        })
    }
}

/// A name as it may stand in a path; slashes stay.
pub(in crate::provider) fn escaped(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            path.push(char::from(byte));
        } else {
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Option<Base> {
        Base::new(&Url::parse(text).unwrap()).ok()
    }

    #[test]
    fn paths_stand_behind_the_base() {
        for text in ["http://host:1/openai/v1", "http://host:1/openai/v1/"] {
            let place = base(text).unwrap().place("/files?limit=1").unwrap();
            assert_eq!(place.uri, "http://host:1/openai/v1/files?limit=1");
            assert!(place.is_base);
        }
    }

    #[test]
    fn who_is_elsewhere_is_not_the_provider() {
        let base = base("https://host/v1").unwrap();
        assert!(base.place("https://host:443/other").unwrap().is_base);
        assert!(!base.place("https://other/v1").unwrap().is_base);
        assert!(!base.place("http://host/v1").unwrap().is_base);
        assert!(base.place("file:///etc/passwd").is_none());
        assert!(base.place("nonsense").is_none());
    }

    #[test]
    fn an_address_with_more_than_a_place_is_refused() {
        for text in [
            "ftp://host",
            "http://user@host",
            "http://host/?a",
            "http://host/#a",
        ] {
            assert!(base(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_name_cannot_leave_its_path() {
        assert_eq!(escaped("files/a-b_c.d~"), "files/a-b_c.d~");
        assert_eq!(escaped("a?b#c%é "), "a%3Fb%23c%25%C3%A9%20");
    }
}
