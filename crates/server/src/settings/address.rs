//! Addresses of databases: they hold passwords, so they are printed masked only.

use std::fmt;
use std::sync::Arc;

use outbound::counters::Counters;
use url::Url;

pub(super) const MASK: &str = "****";

/// The address of a PostgreSQL; `Debug` and `Display` hide its password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

/// A shard's name and where it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardAddress {
    pub name: Arc<str>,
    pub url: DatabaseUrl,
}

impl DatabaseUrl {
    /// The whole address, for who connects and nobody else.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Host and port: what databases of one server have in common.
    pub fn server(&self) -> (String, u16) {
        let url = Url::parse(&self.0).ok();
        let named = url.as_ref().and_then(|url| {
            let mut pairs = url.query_pairs();
            pairs
                .find(|(key, _)| key == "host")
                .map(|(_, host)| host.into_owned())
        });
        let host = url
            .as_ref()
            .and_then(Url::host_str)
            .filter(|host| !host.is_empty());
        let host = named
            .or_else(|| host.map(str::to_owned))
            .unwrap_or_default();
        (host, url.and_then(|url| url.port()).unwrap_or(5432))
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask(&self.0))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An empty text is no value.
pub(super) fn optional<T>(
    parse: impl Fn(&str) -> Result<T, String>,
) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |text| {
        if text.is_empty() {
            Ok(None)
        } else {
            parse(text).map(Some)
        }
    }
}

pub(super) fn database(text: &str) -> Result<DatabaseUrl, String> {
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "postgres" | "postgresql"));
    match url {
        Some(_) => Ok(DatabaseUrl(text.to_owned())),
        None => Err(
            "an address such as postgres://user:password@host:5432/database \
                     (percent-encode what is special in a password)"
                .to_owned(),
        ),
    }
}

pub(super) fn redis(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok();
    url.filter(|url| matches!(url.scheme(), "redis" | "rediss") && url.has_host())
        .filter(|url| Counters::new(url.as_str()).is_ok())
        .ok_or_else(|| "an address such as redis://host:6379 or rediss://host:6379".to_owned())
}

pub(super) fn shards(text: &str) -> Result<Vec<ShardAddress>, String> {
    let expected = || {
        "a list of name=address separated by commas, each name once and made of a-z, 0-9, - and _, \
         such as north=postgres://user:password@host/database,south=postgres://…"
            .to_owned()
    };
    let mut found: Vec<ShardAddress> = Vec::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let (name, url) = part.split_once('=').ok_or_else(expected)?;
        let url = database(url).map_err(|_| expected())?;
        let twice = found.iter().any(|other| *other.name == *name);
        if twice || !is_name(name) {
            return Err(expected());
        }
        found.push(ShardAddress {
            name: name.into(),
            url,
        });
    }
    Ok(found)
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=63).contains(&name.len()) && name.bytes().all(allowed)
}

/// The text without its passwords. What cannot be read is hidden whole.
pub(super) fn mask(text: &str) -> String {
    let parts: Vec<_> = text.split(',').map(|part| mask_one(part.trim())).collect();
    parts.join(",")
}

fn mask_one(part: &str) -> String {
    if part.is_empty() {
        return String::new();
    }
    // A shard's name comes before its address; an `=` of the address itself stands behind `://`.
    let named = part.split_once('=').filter(|(name, _)| is_name(name));
    let (name, address) = named.map_or((None, part), |(name, url)| (Some(name), url));
    let shown = match Url::parse(address) {
        Ok(url) if url.scheme().len() > 1 && address.contains("://") => mask_url(url),
        _ => MASK.to_owned(),
    };
    match name {
        Some(name) => format!("{name}={shown}"),
        None => shown,
    }
}

fn mask_url(mut url: Url) -> String {
    if url.password().is_some() && url.set_password(Some(MASK)).is_err() {
        return MASK.to_owned();
    }
    let pairs: Vec<_> = url.query_pairs().into_owned().collect();
    if pairs.iter().any(|(key, _)| key.contains("password")) {
        let mut query = url.query_pairs_mut();
        query.clear();
        for (key, value) in &pairs {
            let hidden = key.contains("password");
            query.append_pair(key, if hidden { MASK } else { value });
        }
    }
    url.into()
}
