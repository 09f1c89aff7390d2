//! The origin for addresses in an answer.
//!
//! Clients send their key to these addresses, so a public `https` URL is used as it is. A developer
//! calls `127.0.0.1:8080`, and clients send their key only to the origin of their base URL, so a
//! loopback `Host` comes before the setting.

use std::net::{IpAddr, SocketAddr};

use domain::forwarded_for::TrustedProxyPeer;
use http::header::HOST;
use http::request::Parts;
use http::{HeaderMap, HeaderName};

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// What is known without a request.
#[derive(Debug, Clone, Default)]
pub struct PublicOrigin {
    /// `SVC_PUBLIC_URL`, if it is set.
    pub public_url: Option<String>,
}

impl PublicOrigin {
    /// Such as `https://api.example.com`, without a slash at the end.
    pub(crate) fn of_request(&self, parts: &Parts) -> String {
        let public = self
            .public_url
            .as_deref()
            .map(|url| url.trim_end_matches('/'));
        let is_proxied = parts.extensions.get::<TrustedProxyPeer>().is_some();
        let forwarded = |name| header(&parts.headers, &name).filter(|_| is_proxied);
        let host = forwarded(FORWARDED_HOST).or_else(|| header(&parts.headers, &HOST));
        let Some(host) = host.filter(|host| is_host(host)) else {
            return public.unwrap_or("http://localhost").to_owned();
        };
        if let Some(public) = public.filter(|url| url.starts_with("https://"))
            && !is_loopback(host)
        {
            return public.to_owned();
        }
        let proto = forwarded(FORWARDED_PROTO).filter(|it| matches!(*it, "http" | "https"));
        format!("{}://{host}", proto.unwrap_or("http"))
    }
}

/// The last value of a list counts: the nearest proxy wrote it.
fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let text = headers.get(name)?.to_str().ok()?;
    let last = text.rsplit(',').next()?.trim();
    (!last.is_empty()).then_some(last)
}

/// A name or an address, with or without a port, and nothing that could end it early.
fn is_host(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    text.len() <= 255 && text.bytes().all(is_allowed)
}

/// Whether the host is this machine, with or without a port.
fn is_loopback(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    if let Ok(address) = bare.unwrap_or(host).parse::<IpAddr>() {
        return address.is_loopback();
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin_of(
        public_url: &str,
        is_proxied: bool,
        lines: &[(&'static str, &'static str)],
    ) -> String {
        let origin = PublicOrigin {
            public_url: Some(public_url.into()),
        };
        let (mut parts, ()) = http::Request::new(()).into_parts();
        for (name, value) in lines {
            let name = HeaderName::from_static(name);
            parts.headers.insert(name, value.parse().unwrap());
        }
        if is_proxied {
            parts.extensions.insert(TrustedProxyPeer);
        }
        origin.of_request(&parts)
    }

    #[test]
    fn a_public_https_url_is_used_unless_a_developer_calls() {
        let of_host = |host| origin_of("https://api.example.com/", false, &[("host", host)]);
        for local in ["127.0.0.1:8080", "localhost:8080", "localhost", "[::1]:80"] {
            assert_eq!(of_host(local), format!("http://{local}"));
        }
        for other in [
            "api.example.com",
            "evil.example",
            "127.0.0.1.evil.example",
            "a/b",
        ] {
            assert_eq!(of_host(other), "https://api.example.com", "{other}");
        }
        let without = origin_of("https://api.example.com", false, &[]);
        assert_eq!(without, "https://api.example.com");
    }

    #[test]
    fn only_a_trusted_proxy_names_scheme_and_host() {
        let lines = [
            ("host", "inner:80"),
            ("x-forwarded-proto", "http, https"),
            ("x-forwarded-host", "outer.example"),
        ];
        let public = "http://api.internal";
        assert_eq!(origin_of(public, false, &lines), "http://inner:80");
        assert_eq!(origin_of(public, true, &lines), "https://outer.example");
        let public = "https://api.example.com";
        assert_eq!(origin_of(public, true, &lines), public);
    }
}
