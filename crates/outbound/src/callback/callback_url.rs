//! Parses a callback URL: the host by the URL standard, path and query as written.

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use url::Url;

/// None if this is not an absolute http or https URL.
pub(super) fn parse(text: &str) -> Option<Uri> {
    let url = Url::parse(text).ok()?;
    let scheme = match url.scheme() {
        "http" => Scheme::HTTP,
        "https" => Scheme::HTTPS,
        _ => return None,
    };
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let authority = match url.port() {
        Some(port) => Authority::try_from(format!("{host}:{port}")),
        None => Authority::try_from(host),
    };
    let path = path_as_written(text).or_else(|| path_as_parsed(&url))?;
    Uri::builder()
        .scheme(scheme)
        .authority(authority.ok()?)
        .path_and_query(path)
        .build()
        .ok()
}

/// A receiver may sign or compare the exact path, so `/a/../b` and `%7e` stay.
fn path_as_written(text: &str) -> Option<PathAndQuery> {
    // The parser must rewrite these characters.
    if text
        .bytes()
        .any(|byte| !byte.is_ascii_graphic() || byte == b'\\')
    {
        return None;
    }
    let (_, rest) = text.split_once("://")?;
    let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
    match rest.find(['/', '?']) {
        Some(0) => None,
        None => Some(PathAndQuery::from_static("/")),
        Some(start) => {
            let path = rest.get(start..)?;
            if path.starts_with('?') {
                PathAndQuery::try_from(format!("/{path}")).ok()
            } else {
                PathAndQuery::try_from(path).ok()
            }
        }
    }
}

fn path_as_parsed(url: &Url) -> Option<PathAndQuery> {
    match url.query() {
        Some(query) => PathAndQuery::try_from(format!("{}?{query}", url.path())).ok(),
        None => PathAndQuery::try_from(url.path()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_and_query_go_out_as_written() {
        for (text, target) in [
            ("http://a.example", "/"),
            ("http://a.example#top", "/"),
            ("http://a.example/", "/"),
            ("http://a.example?x=1", "/?x=1"),
            (
                "http://a.example/a/b%20c?crate=7&crate=8",
                "/a/b%20c?crate=7&crate=8",
            ),
            ("http://a.example/a/../b/./c//d", "/a/../b/./c//d"),
            ("http://a.example/%7euser/%41?q='(x)", "/%7euser/%41?q='(x)"),
            ("http://a.example/x?y#z?w", "/x?y"),
            (
                "http://a.example/x?next=https://b.example/@",
                "/x?next=https://b.example/@",
            ),
            ("http://a.example/grüße?ä", "/gr%C3%BC%C3%9Fe?%C3%A4"),
        ] {
            let uri = parse(text).unwrap();
            assert_eq!(uri.path_and_query().unwrap().as_str(), target, "{text}");
        }
    }

    #[test]
    fn the_host_is_the_parsers() {
        for (text, authority) in [
            ("http://EXAMPLE.com/", "example.com"),
            ("http://example.com:80/", "example.com"),
            ("https://example.com:443/", "example.com"),
            ("https://example.com:80/", "example.com:80"),
            ("http://0x7f.1:8080/", "127.0.0.1:8080"),
            ("http://user@127.1/", "127.0.0.1"),
            ("http://[::FFFF:127.0.0.1]:1/", "[::ffff:7f00:1]:1"),
            ("http://bücher.example/", "xn--bcher-kva.example"),
            ("http:\\\\a.example\\b", "a.example"),
        ] {
            assert_eq!(
                parse(text).unwrap().authority().unwrap().as_str(),
                authority,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_url_goes_nowhere() {
        for text in [
            "",
            "a.example/x",
            "/x",
            "ftp://a.example/",
            "listen://anna",
            "http://",
            "http://[::1%25lo]/",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
