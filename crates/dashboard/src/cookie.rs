//! Cookies: the session, the theme, and a single sign-on attempt.

use domain::secret_token::SecretToken;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::state::Options;

/// Browsers accept `__Host-` cookies only over HTTPS, from this host, for all its paths.
const fn session_cookie_name(secure: bool) -> &'static str {
    if secure { "__Host-session" } else { "session" }
}

fn cookie_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).into_iter();
    let pairs = lines.filter_map(|line| line.to_str().ok());
    pairs
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value)
}

pub(crate) fn read_session(headers: &HeaderMap, options: &Options) -> Option<SecretToken> {
    cookie_value(headers, session_cookie_name(options.is_secure())).and_then(SecretToken::parse)
}

/// The chosen theme; empty to follow the system's.
pub(crate) fn read_theme(headers: &HeaderMap) -> &'static str {
    match cookie_value(headers, "theme") {
        Some("light") => "light",
        Some("dark") => "dark",
        _ => "",
    }
}

fn session_cookie(secure: bool, value: &str, age: i64) -> Option<HeaderValue> {
    let (name, secure) = (
        session_cookie_name(secure),
        if secure { "; Secure" } else { "" },
    );
    let line = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}");
    HeaderValue::from_str(&line).ok()
}

pub(crate) fn issue_session(token: &SecretToken, options: &Options) -> Option<HeaderValue> {
    let age = options.sign_in.session_lifetime.num_seconds();
    session_cookie(options.is_secure(), token.reveal(), age)
}

pub(crate) fn clear_session(options: &Options) -> Option<HeaderValue> {
    session_cookie(options.is_secure(), "", 0)
}

/// State of a single sign-on attempt, valid for ten minutes.
const LOGIN_ATTEMPT_COOKIE: &str = "oidc";
/// Of sign-ins that a server before 0.1.0 started.
const OLD_LOGIN_ATTEMPT_COOKIE: &str = "elsewhere";
const LOGIN_ATTEMPT_SECONDS: i64 = 600;

pub(crate) fn issue_login_attempt(attempt: &str, options: &Options) -> Option<HeaderValue> {
    login_attempt_cookie(options, attempt, LOGIN_ATTEMPT_SECONDS)
}

pub(crate) fn clear_login_attempt(options: &Options) -> Option<HeaderValue> {
    login_attempt_cookie(options, "", 0)
}

fn login_attempt_cookie(options: &Options, value: &str, age: i64) -> Option<HeaderValue> {
    let secure = if options.is_secure() { "; Secure" } else { "" };
    let line = format!(
        "{LOGIN_ATTEMPT_COOKIE}={value}; Path=/dashboard; HttpOnly; SameSite=Lax; Max-Age={age}{secure}"
    );
    HeaderValue::from_str(&line).ok()
}

/// The token of the login attempt, and the invitation that it accepts.
pub(crate) fn read_login_attempt(
    headers: &HeaderMap,
) -> Option<(SecretToken, Option<SecretToken>)> {
    let attempt = cookie_value(headers, LOGIN_ATTEMPT_COOKIE)
        .or_else(|| cookie_value(headers, OLD_LOGIN_ATTEMPT_COOKIE))?;
    let (token, pass) = attempt.split_once('.').unwrap_or((attempt, ""));
    Some((SecretToken::parse(token)?, SecretToken::parse(pass)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_among_other_cookies() {
        let options = Options {
            public_url: "https://here.example".to_owned(),
            store_origin: None,
            trusted_proxies: Vec::new(),
            setup_plan: domain::organization::Plan::Pro,
            batch_linger: chrono::TimeDelta::zero(),
            sign_in: crate::state::SignInPolicy::default(),
        };
        let token = SecretToken::from_random([1; 32]);
        let mut headers = HeaderMap::new();
        let line = format!("theme=dark; __Host-session={}; x=y", token.reveal());
        headers.insert(COOKIE, line.parse().unwrap());
        assert_eq!(read_session(&headers, &options), Some(token.clone()));
        assert_eq!(read_theme(&headers), "dark");
        let plain = Options {
            public_url: "http://here.example".to_owned(),
            ..options.clone()
        };
        assert_eq!(read_session(&headers, &plain), None);
        let line = issue_session(&token, &options).unwrap();
        insta::assert_snapshot!(line.to_str().unwrap(), @"__Host-session=0101010101010101010101010101010101010101010101010101010101010101; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000; Secure");
    }
}
