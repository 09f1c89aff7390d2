//! Cookies: the session, the theme, and sign-ins that are not complete.

use domain::secret_token::SecretToken;
use domain::time::Timestamp;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::state::Options;

/// Browsers accept `__Host-` cookies only over HTTPS, from this host, for all its paths.
fn cookie_name(name: &str, options: &Options) -> String {
    let prefix = if options.is_secure() { "__Host-" } else { "" };
    format!("{prefix}{name}")
}

const SESSION_COOKIE: &str = "session";
/// A sign-in whose code is not entered yet.
const CHALLENGE_COOKIE: &str = "sign-in";

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
    cookie_value(headers, &cookie_name(SESSION_COOKIE, options)).and_then(SecretToken::parse)
}

/// The chosen theme; empty to follow the system's.
pub(crate) fn read_theme(headers: &HeaderMap) -> &'static str {
    match cookie_value(headers, "theme") {
        Some("light") => "light",
        Some("dark") => "dark",
        _ => "",
    }
}

fn private_cookie(name: &str, value: &str, age: i64, options: &Options) -> Option<HeaderValue> {
    let name = cookie_name(name, options);
    let secure = if options.is_secure() { "; Secure" } else { "" };
    let line = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}");
    HeaderValue::from_str(&line).ok()
}

pub(crate) fn issue_session(token: &SecretToken, options: &Options) -> Option<HeaderValue> {
    let age = options.sign_in.session_lifetime.num_seconds();
    private_cookie(SESSION_COOKIE, token.reveal(), age, options)
}

pub(crate) fn clear_session(options: &Options) -> Option<HeaderValue> {
    private_cookie(SESSION_COOKIE, "", 0, options)
}

pub(crate) fn issue_challenge(token: &SecretToken, options: &Options) -> Option<HeaderValue> {
    let age = store::control::second_factor::CHALLENGE_LIFETIME.num_seconds();
    private_cookie(CHALLENGE_COOKIE, token.reveal(), age, options)
}

pub(crate) fn clear_challenge(options: &Options) -> Option<HeaderValue> {
    private_cookie(CHALLENGE_COOKIE, "", 0, options)
}

pub(crate) fn read_challenge(headers: &HeaderMap, options: &Options) -> Option<SecretToken> {
    cookie_value(headers, &cookie_name(CHALLENGE_COOKIE, options)).and_then(SecretToken::parse)
}

/// State of a single sign-on attempt, valid for ten minutes. Another host of the domain cannot
/// plant it, which would sign the person in to an account of the attacker.
const LOGIN_ATTEMPT_COOKIE: &str = "oidc";
const LOGIN_ATTEMPT_SECONDS: i64 = 600;

pub(crate) fn issue_login_attempt(attempt: &str, options: &Options) -> Option<HeaderValue> {
    private_cookie(
        LOGIN_ATTEMPT_COOKIE,
        attempt,
        LOGIN_ATTEMPT_SECONDS,
        options,
    )
}

pub(crate) fn clear_login_attempt(options: &Options) -> Option<HeaderValue> {
    private_cookie(LOGIN_ATTEMPT_COOKIE, "", 0, options)
}

/// What the cookie of a single sign-on attempt holds.
#[derive(Debug)]
pub(crate) struct StoredLoginAttempt {
    pub(crate) token: SecretToken,
    /// The invitation that brought the person here.
    pub(crate) invitation: Option<SecretToken>,
    /// When the person was asked to enter their credentials again.
    pub(crate) fresh_since: Option<Timestamp>,
    /// The page to open afterwards, percent-encoded.
    pub(crate) next: String,
}

pub(crate) fn read_login_attempt(
    headers: &HeaderMap,
    options: &Options,
) -> Option<StoredLoginAttempt> {
    let attempt = cookie_value(headers, &cookie_name(LOGIN_ATTEMPT_COOKIE, options))?;
    let mut parts = attempt.splitn(4, '.');
    Some(StoredLoginAttempt {
        token: parts.next().and_then(SecretToken::parse)?,
        invitation: parts.next().and_then(SecretToken::parse),
        fresh_since: parts
            .next()
            .and_then(|seconds| seconds.parse::<i64>().ok())
            .and_then(|seconds| Timestamp::from_timestamp(seconds, 0)),
        next: parts.next().unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_among_other_cookies() {
        let options = Options {
            public_url: "https://here.example".to_owned(),
            store_origin: None,
            setup_plan: domain::organization::Plan::Pro,
            batch_linger: chrono::TimeDelta::zero(),
            sign_in: crate::state::SignInPolicy::default(),
            signing_roots: None,
            retention_days: 30,
            requests_per_minute: 60,
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
