//! Where an answer is POSTed: the rules for a `callback_url`.

use url::Url;

use crate::listener_name::ListenerName;

pub const MAX_CALLBACK_URL_CHARS: usize = 2048;

/// Which schemes may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedSchemes {
    /// Production: plain HTTP is not delivered to.
    HttpsOnly,
    HttpAndHttps,
}

/// Before the name of a listener. Callbacks to such a URL go through the listen tunnel, and no
/// address is called.
const LISTEN_PREFIX: &str = "listen://";

/// A URL that may be stored. Its address is vetted at every delivery, not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackUrl {
    text: String,
    host: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallbackUrlRefusal {
    #[error("callback_url must be at most 2048 characters")]
    TooLong,
    #[error("callback_url must be an absolute http or https URL with a host")]
    NotHttp,
    #[error("callback_url must use https")]
    NotHttps,
    #[error("callback_url must not contain a user name or password")]
    Userinfo,
    #[error(
        "callback_url must be listen:// and a name of 1 to 32 lowercase letters, digits and hyphens"
    )]
    ListenerName,
}

impl CallbackUrl {
    pub fn parse(text: &str, schemes: AllowedSchemes) -> Result<Self, CallbackUrlRefusal> {
        if text.chars().count() > MAX_CALLBACK_URL_CHARS {
            return Err(CallbackUrlRefusal::TooLong);
        }
        // The parser forgives what a caller more likely mistyped: `http:///x`, tabs, backslashes.
        let forgiven = text.bytes().any(|byte| byte <= b' ' || byte == b'\\');
        let authority = text.split_once("://").map(|(_, rest)| rest);
        if forgiven || authority.is_none_or(|rest| rest.starts_with('/')) {
            return Err(CallbackUrlRefusal::NotHttp);
        }
        let url = Url::parse(text).map_err(|_| CallbackUrlRefusal::NotHttp)?;
        match (url.scheme(), schemes) {
            ("https", _) | ("http", AllowedSchemes::HttpAndHttps) => {}
            ("http", AllowedSchemes::HttpsOnly) => return Err(CallbackUrlRefusal::NotHttps),
            _ => return Err(CallbackUrlRefusal::NotHttp),
        }
        let at_sign = authority.and_then(|rest| rest.split(['/', '?', '#']).next());
        if at_sign.is_some_and(|authority| authority.contains('@')) {
            return Err(CallbackUrlRefusal::Userinfo);
        }
        let host = url
            .host_str()
            .filter(|host| !host.is_empty())
            .ok_or(CallbackUrlRefusal::NotHttp)?;
        let port = url.port_or_known_default().unwrap_or_default();
        Ok(Self {
            text: text.to_owned(),
            host: format!("{host}:{port}"),
        })
    }

    /// The same, and `listen://NAME` is accepted, too.
    pub fn parse_with_listeners(
        text: &str,
        schemes: AllowedSchemes,
    ) -> Result<Self, CallbackUrlRefusal> {
        let Some(name) = text.strip_prefix(LISTEN_PREFIX) else {
            return Self::parse(text, schemes);
        };
        if name.parse::<ListenerName>().is_err() {
            return Err(CallbackUrlRefusal::ListenerName);
        }
        // No host and port look like this, so a listener shares its limits with no host.
        Ok(Self {
            text: text.to_owned(),
            host: text.to_owned(),
        })
    }

    /// As the caller wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Host and port in one spelling. The limits of a host are counted by it.
    pub fn host(&self) -> &str {
        &self.host
    }
}

/// The listener that a stored URL names.
pub fn listener_of(url: &str) -> Option<ListenerName> {
    url.strip_prefix(LISTEN_PREFIX)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_one_spelling() {
        for text in [
            "http://127.0.0.1/x",
            "http://2130706433/",
            "http://0x7f.1:80/y?z",
        ] {
            let url = CallbackUrl::parse(text, AllowedSchemes::HttpAndHttps).unwrap();
            assert_eq!((url.as_str(), url.host()), (text, "127.0.0.1:80"));
        }
    }

    #[test]
    fn a_listener_is_named_and_shares_its_limits_with_no_host() {
        let parse = |text| CallbackUrl::parse_with_listeners(text, AllowedSchemes::HttpsOnly);
        let url = parse("listen://anna-1").unwrap();
        assert_eq!(
            (url.as_str(), url.host()),
            ("listen://anna-1", "listen://anna-1")
        );
        assert_eq!(listener_of(url.as_str()).unwrap().as_str(), "anna-1");
        assert_eq!(listener_of("https://anna-1"), None);
        for text in [
            "listen://",
            "listen://Anna",
            "listen://anna/hook",
            "listen://anna:80",
            "listen://user@anna",
            "listen://a_b",
            "listen://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(parse(text), Err(CallbackUrlRefusal::ListenerName), "{text}");
        }
        assert_eq!(parse("LISTEN://anna"), Err(CallbackUrlRefusal::NotHttp));
        assert_eq!(
            parse("http://example.com/"),
            Err(CallbackUrlRefusal::NotHttps)
        );
        // Without the tunnel, it is a URL that cannot be called.
        let plain = CallbackUrl::parse("listen://anna", AllowedSchemes::HttpAndHttps);
        assert_eq!(plain, Err(CallbackUrlRefusal::NotHttp));
    }

    #[test]
    fn what_cannot_be_called_is_refused() {
        use CallbackUrlRefusal::{NotHttp, NotHttps, TooLong, Userinfo};
        let long = format!("http://example.com/{}", "x".repeat(2048));
        let table = [
            ("", NotHttp),
            ("callback", NotHttp),
            ("/callback", NotHttp),
            ("//example.com/callback", NotHttp),
            ("ftp://example.com/", NotHttp),
            ("file:///etc/hosts", NotHttp),
            ("http://", NotHttp),
            ("http:///callback", NotHttp),
            ("http:example.com", NotHttp),
            ("http://exa mple.com/", NotHttp),
            ("http:\\\\example.com", NotHttp),
            ("http://user@example.com/", Userinfo),
            ("http://user:secret@example.com/", Userinfo),
            ("http://@example.com/", Userinfo),
            (long.as_str(), TooLong),
        ];
        for (text, refusal) in table {
            assert_eq!(
                CallbackUrl::parse(text, AllowedSchemes::HttpAndHttps),
                Err(refusal),
                "{text}"
            );
        }
        let plain = CallbackUrl::parse("http://example.com/", AllowedSchemes::HttpsOnly);
        assert_eq!(plain, Err(NotHttps));
    }
}
