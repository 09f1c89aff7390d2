//! Settings of the object store and of the malware scanner.

use std::fmt;
use std::path::PathBuf;

use url::Url;

use crate::settings::address::MASK;
use crate::settings::parse::http_url;

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret itself, for signing only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// The address of the malware scanner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScannerAddress {
    Tcp(String),
    Unix(PathBuf),
}

/// Web origins that may upload from a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorsOrigins(pub Vec<String>);

pub(super) fn store(text: &str) -> Result<Url, String> {
    let bare = |url: &Url| {
        let no_user = url.username().is_empty() && url.password().is_none();
        no_user && url.query().is_none() && url.fragment().is_none() && url.path() == "/"
    };
    let url = http_url(text).ok().filter(bare);
    url.ok_or_else(|| {
        "an http or https URL of an object store without user, path or query, \
         such as http://storage.internal:8333"
            .to_owned()
    })
}

/// An address to connect to: a name or an IP address, and a port.
pub(super) fn host_and_port(text: &str) -> Result<String, String> {
    let url = store(&format!("http://{text}")).ok();
    let named =
        url.and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
    // The scheme's default port would be dropped from the URL, but it must be given.
    let is_given = text.rsplit_once(':').is_some_and(|(_, port)| {
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    named
        .filter(|_| is_given)
        .map(|(host, port)| format!("{host}:{port}"))
        .ok_or_else(|| "a host and a port, such as objects:8333".to_owned())
}

pub(super) fn bucket(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    if (3..=63).contains(&text.len()) && text.bytes().all(allowed) {
        return Ok(text.to_owned());
    }
    Err("a bucket name: 3 to 63 characters of a-z, 0-9, - and .".to_owned())
}

pub(super) fn region(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !text.is_empty() && text.bytes().all(allowed) {
        return Ok(text.to_owned());
    }
    Err("a region name, such as us-east-1".to_owned())
}

pub(super) fn prefix(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let named = |step: &str| !step.is_empty() && step.bytes().all(allowed) && step != "..";
    let inner = text.strip_suffix('/');
    let good = inner.is_some_and(|inner| inner.split('/').all(named));
    if text.is_empty() || (good && text.len() <= 200) {
        return Ok(text.to_owned());
    }
    Err("a key prefix that ends with /, such as longshore/".to_owned())
}

pub(super) fn secret(text: &str) -> Result<Secret, String> {
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Secret(text.to_owned()));
    }
    Err("a key of printable characters without spaces".to_owned())
}

pub(super) fn origins(text: &str) -> Result<CorsOrigins, String> {
    let expected = || {
        "* or a list of origins separated by commas, such as https://app.example,http://localhost:5173"
            .to_owned()
    };
    if text == "*" {
        return Ok(CorsOrigins(vec![text.to_owned()]));
    }
    let parts = text.split(',').map(str::trim);
    let one = |part: &str| {
        let url = store(part).ok()?;
        Some(url.origin().ascii_serialization())
    };
    parts
        .map(one)
        .collect::<Option<_>>()
        .map(CorsOrigins)
        .ok_or_else(expected)
}

pub(super) fn scanner(text: &str) -> Result<ScannerAddress, String> {
    let unix = text.strip_prefix("unix:").map(PathBuf::from);
    if let Some(path) = unix.filter(|path| path.is_absolute()) {
        return Ok(ScannerAddress::Unix(path));
    }
    let tcp = Url::parse(text).ok().filter(|url| url.scheme() == "tcp");
    let at = tcp
        .as_ref()
        .and_then(|url| Some((url.host_str()?, url.port()?)));
    match at {
        Some((host, port)) if !host.is_empty() => Ok(ScannerAddress::Tcp(format!("{host}:{port}"))),
        _ => Err("tcp://host:3310 or unix:/path/of/the/socket".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scanner_listens_on_a_port_or_a_socket() {
        let tcp = |at: &str| Ok(ScannerAddress::Tcp(at.to_owned()));
        assert_eq!(scanner("tcp://clamd:3310"), tcp("clamd:3310"));
        assert_eq!(scanner("tcp://[::1]:3310"), tcp("[::1]:3310"));
        let unix = scanner("unix:/run/clamd.sock");
        assert_eq!(unix, Ok(ScannerAddress::Unix("/run/clamd.sock".into())));
        for wrong in [
            "clamd:3310",
            "tcp://clamd",
            "unix:clamd.sock",
            "http://clamd:1",
            "tcp://:1",
        ] {
            assert!(scanner(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_prefix_ends_with_a_slash() {
        for good in ["", "longshore/", "a/b_c/1.0/"] {
            assert_eq!(prefix(good).as_deref(), Ok(good));
        }
        for wrong in ["longshore", "/", "/a/", "a//", "../", "ä/", "a b/"] {
            assert!(prefix(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_of_a_store_holds_no_key() {
        assert!(store("http://storage.internal:8333").is_ok());
        for wrong in [
            "http://key:secret@storage:8333",
            "http://storage/bucket",
            "s3://bucket",
            "http://storage/?a=b",
        ] {
            assert!(store(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_to_connect_to_has_a_port() {
        for (text, address) in [
            ("objects:8333", "objects:8333"),
            ("10.0.0.7:80", "10.0.0.7:80"),
            ("[::1]:8333", "[::1]:8333"),
        ] {
            assert_eq!(host_and_port(text).as_deref(), Ok(address));
        }
        for wrong in [
            "objects",
            "objects:",
            ":80",
            "http://objects:80",
            "a b:1",
            "[::1]",
        ] {
            assert!(host_and_port(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn origins_are_all_or_named() {
        assert_eq!(origins("*"), Ok(CorsOrigins(vec!["*".to_owned()])));
        let named = origins("https://app.example, http://localhost:5173/").unwrap();
        assert_eq!(named.0, ["https://app.example", "http://localhost:5173"]);
        assert!(origins("app.example").is_err());
        assert!(origins("https://app.example,").is_err());
    }

    #[test]
    fn a_secret_is_never_printed() {
        let key = secret("hunter2=/+").unwrap();
        assert_eq!(key.reveal(), "hunter2=/+");
        assert_eq!(format!("{key:?}"), "****");
        assert!(secret("hunter 2").is_err());
    }
}
