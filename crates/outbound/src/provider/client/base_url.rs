//! The base URL of a provider, and the URLs of its requests.

use http::Uri;
use url::Url;

use super::failure::ProviderSetupFailure;

/// Stored without a trailing slash.
#[derive(Debug, Clone)]
pub(super) struct BaseUrl {
    text: String,
    origin: url::Origin,
}

#[derive(Debug)]
pub(super) struct TargetUrl {
    pub(super) uri: Uri,
    /// Whether the URL has the same origin as the base URL.
    pub(super) is_provider_origin: bool,
}

impl BaseUrl {
    pub(super) fn new(url: &Url) -> Result<Self, ProviderSetupFailure> {
        let is_plain = matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !is_plain {
            return Err(ProviderSetupFailure::BaseUrl);
        }
        Ok(Self {
            text: url.as_str().trim_end_matches('/').to_owned(),
            origin: url.origin(),
        })
    }

    pub(super) fn resolve(&self, to: &str) -> Option<TargetUrl> {
        if to.starts_with('/') {
            let uri = format!("{}{to}", self.text).parse().ok()?;
            return Some(TargetUrl {
                uri,
                is_provider_origin: true,
            });
        }
        let url = Url::parse(to).ok()?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        Some(TargetUrl {
            uri: url.as_str().parse().ok()?,
            is_provider_origin: url.origin() == self.origin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Option<BaseUrl> {
        BaseUrl::new(&Url::parse(text).unwrap()).ok()
    }

    #[test]
    fn paths_are_appended_to_the_base_url() {
        for text in ["http://host:1/openai/v1", "http://host:1/openai/v1/"] {
            let target = base(text).unwrap().resolve("/files?limit=1").unwrap();
            assert_eq!(target.uri, "http://host:1/openai/v1/files?limit=1");
            assert!(target.is_provider_origin);
        }
    }

    #[test]
    fn another_origin_is_not_the_provider() {
        let base = base("https://host/v1").unwrap();
        assert!(
            base.resolve("https://host:443/other")
                .unwrap()
                .is_provider_origin
        );
        assert!(!base.resolve("https://other/v1").unwrap().is_provider_origin);
        assert!(!base.resolve("http://host/v1").unwrap().is_provider_origin);
        assert!(base.resolve("file:///etc/passwd").is_none());
        assert!(base.resolve("nonsense").is_none());
    }

    #[test]
    fn a_base_url_with_user_query_or_fragment_is_refused() {
        for text in [
            "ftp://host",
            "http://user@host",
            "http://host/?a",
            "http://host/#a",
        ] {
            assert!(base(text).is_none(), "{text}");
        }
    }
}
