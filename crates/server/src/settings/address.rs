//! Database addresses. They hold passwords, so they are printed masked only.

use std::fmt;
use std::sync::Arc;

use outbound::rate_limits::RedisRateLimiter;
use store::pool::host_urls;
use url::Url;

pub(super) const MASK: &str = "****";

/// The address of a PostgreSQL; `Debug` and `Display` hide its password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

/// A shard's name and the address of its database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardAddress {
    pub name: Arc<str>,
    pub url: DatabaseUrl,
}

impl DatabaseUrl {
    /// The whole address with its password, for connecting only.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Host and port of the first host: databases on one server share them.
    pub fn server(&self) -> (String, u16) {
        let first = host_urls(&self.0).into_iter().next();
        let url = first.and_then(|url| Url::parse(&url).ok());
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

/// An empty text means that there is no value.
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
    let is_database = |address: &String| {
        let url = Url::parse(address).ok();
        url.is_some_and(|url| matches!(url.scheme(), "postgres" | "postgresql"))
    };
    if host_urls(text).iter().all(is_database) {
        Ok(DatabaseUrl(text.to_owned()))
    } else {
        Err(
            "an address such as postgres://user:password@host:5432/database \
             (percent-encode special characters in the password)"
                .to_owned(),
        )
    }
}

pub(super) fn redis(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok();
    url.filter(|url| matches!(url.scheme(), "redis" | "rediss") && url.has_host())
        .filter(|url| RedisRateLimiter::new(url.as_str()).is_ok())
        .ok_or_else(|| "an address such as redis://host:6379 or rediss://host:6379".to_owned())
}

pub(super) fn shards(text: &str) -> Result<Vec<ShardAddress>, String> {
    let expected = || {
        "a list of name=address separated by commas, each name once and made of a-z, 0-9, - and _, \
         such as north=postgres://user:password@host/database,south=postgres://…"
            .to_owned()
    };
    let mut found: Vec<ShardAddress> = Vec::new();
    for part in list_members(text) {
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

/// Splits a list of `name=address`. Commas also separate the hosts of one address, so a comma ends
/// a member only if a name and a scheme follow it.
fn list_members(text: &str) -> Vec<&str> {
    let begins_member = |rest: &str| {
        let named = rest.trim_start().split_once('=');
        named.is_some_and(|(name, address)| {
            let scheme = address.split_once("://").map(|(scheme, _)| scheme);
            is_name(name) && scheme.is_some_and(is_name)
        })
    };
    let (mut parts, mut begin) = (Vec::new(), 0);
    for (comma, _) in text.match_indices(',') {
        let rest = text.get(comma + 1..).unwrap_or_default();
        if rest.trim().is_empty() || begins_member(rest) {
            parts.push(text.get(begin..comma).unwrap_or_default());
            begin = comma + 1;
        }
    }
    parts.push(text.get(begin..).unwrap_or_default());
    let parts = parts.into_iter().map(str::trim);
    parts.filter(|part| !part.is_empty()).collect()
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=63).contains(&name.len()) && name.bytes().all(allowed)
}

/// The text without its passwords. A text that cannot be parsed is hidden completely.
pub(super) fn mask(text: &str) -> String {
    let parts: Vec<_> = list_members(text).into_iter().map(mask_one).collect();
    parts.join(",")
}

fn mask_one(part: &str) -> String {
    // A shard's name precedes its address; an `=` inside the address comes after `://`.
    let named = part.split_once('=').filter(|(name, _)| is_name(name));
    let (name, address) = named.map_or((None, part), |(name, url)| (Some(name), url));
    let shown = mask_hosts(address).unwrap_or_else(|| MASK.to_owned());
    match name {
        Some(name) => format!("{name}={shown}"),
        None => shown,
    }
}

/// An address with all its hosts, masked; none if it cannot be parsed.
fn mask_hosts(address: &str) -> Option<String> {
    let urls = host_urls(address).into_iter();
    let urls = urls
        .map(|url| Url::parse(&url).ok())
        .collect::<Option<Vec<_>>>()?;
    // After the hosts come the database's name and options, never another address.
    let is_readable = |url: &Url| url.scheme().len() > 1 && !url.path().contains(['@', ',']);
    if address.matches("://").count() != 1 || !urls.iter().all(is_readable) {
        return None;
    }
    let mut urls = urls.into_iter();
    let first = mask_url(urls.next()?)?;
    let (scheme, rest) = first.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let others = urls.map(|url| {
        let host = url.host_str()?;
        Some(match url.port() {
            Some(port) => format!(",{host}:{port}"),
            None => format!(",{host}"),
        })
    });
    let others = others.collect::<Option<String>>()?;
    Some(format!("{scheme}://{authority}{others}{path}"))
}

fn mask_url(mut url: Url) -> Option<String> {
    if url.password().is_some() {
        url.set_password(Some(MASK)).ok()?;
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
    Some(url.into())
}
