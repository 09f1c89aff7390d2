//! Two cookies: the session, and light or dark.

use domain::token::Token;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::state::Options;

/// A browser takes `__Host-` from this host alone, over https, for the whole of it.
const fn name(secure: bool) -> &'static str {
    if secure { "__Host-session" } else { "session" }
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).into_iter();
    let pairs = lines.filter_map(|line| line.to_str().ok());
    pairs
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value)
}

pub(crate) fn session(headers: &HeaderMap, options: &Options) -> Option<Token> {
    value(headers, name(options.is_secure())).and_then(Token::parse)
}

/// What the person chose; nothing where the system decides.
pub(crate) fn theme(headers: &HeaderMap) -> &'static str {
    match value(headers, "theme") {
        Some("light") => "light",
        Some("dark") => "dark",
        _ => "",
    }
}

fn set(secure: bool, value: &str, age: i64) -> Option<HeaderValue> {
    let (name, secure) = (name(secure), if secure { "; Secure" } else { "" });
    let line = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}");
    HeaderValue::from_str(&line).ok()
}

pub(crate) fn begin(token: &Token, options: &Options) -> Option<HeaderValue> {
    let age = store::control::session::IDLE.num_seconds();
    set(options.is_secure(), token.reveal(), age)
}

pub(crate) fn end(options: &Options) -> Option<HeaderValue> {
    set(options.is_secure(), "", 0)
}

/// Somebody leaves for another house: what they need to come back, for ten minutes.
const LEFT: &str = "elsewhere";
const AWAY: i64 = 600;

pub(crate) fn leave(kept: &str, options: &Options) -> Option<HeaderValue> {
    set_elsewhere(options, kept, AWAY)
}

pub(crate) fn forget(options: &Options) -> Option<HeaderValue> {
    set_elsewhere(options, "", 0)
}

fn set_elsewhere(options: &Options, value: &str, age: i64) -> Option<HeaderValue> {
    let secure = if options.is_secure() { "; Secure" } else { "" };
    let line = format!(
        "{LEFT}={value}; Path=/dashboard/elsewhere; HttpOnly; SameSite=Lax; Max-Age={age}{secure}"
    );
    HeaderValue::from_str(&line).ok()
}

/// The visit's own token, and an invitation that is followed on the way.
pub(crate) fn left(headers: &HeaderMap) -> Option<(Token, Option<Token>)> {
    let kept = value(headers, LEFT)?;
    let (token, pass) = kept.split_once('.').unwrap_or((kept, ""));
    Some((Token::parse(token)?, Token::parse(pass)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_among_other_cookies() {
        let options = Options {
            public_url: "https://here.example".to_owned(),
            store_origin: None,
            proxies: Vec::new(),
            first_plan: domain::organization::Plan::Pro,
            linger: chrono::TimeDelta::zero(),
        };
        let token = Token::of([1; 32]);
        let mut headers = HeaderMap::new();
        let line = format!("theme=dark; __Host-session={}; x=y", token.reveal());
        headers.insert(COOKIE, line.parse().unwrap());
        assert_eq!(session(&headers, &options), Some(token.clone()));
        assert_eq!(theme(&headers), "dark");
        let plain = Options {
            public_url: "http://here.example".to_owned(),
            ..options.clone()
        };
        assert_eq!(session(&headers, &plain), None);
        let line = begin(&token, &options).unwrap();
        insta::assert_snapshot!(line.to_str().unwrap(), @"__Host-session=0101010101010101010101010101010101010101010101010101010101010101; Path=/; HttpOnly; SameSite=Lax; Max-Age=604800; Secure");
    }
}
