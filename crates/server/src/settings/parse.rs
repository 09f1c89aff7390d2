//! Parsers of settings. An error says what was expected: "a whole number …".

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use domain::retry_schedule::RetrySchedule;
use ipnet::IpNet;
use tracing_subscriber::EnvFilter;
use url::Url;

pub(super) fn whole_number<T: TryFrom<u64>, const MIN: u64, const MAX: u64>(
    text: &str,
) -> Result<T, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (MIN..=MAX).contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("a whole number from {MIN} to {MAX}"))
}

pub(super) fn seconds<const MIN: u64, const MAX: u64>(text: &str) -> Result<Duration, String> {
    let expected = |_| format!("a whole number of seconds from {MIN} to {MAX}");
    whole_number::<u64, MIN, MAX>(text)
        .map(Duration::from_secs)
        .map_err(expected)
}

pub(super) fn milliseconds<const MIN: u64, const MAX: u64>(text: &str) -> Result<Duration, String> {
    let expected = |_| format!("a whole number of milliseconds from {MIN} to {MAX}");
    whole_number::<u64, MIN, MAX>(text)
        .map(Duration::from_millis)
        .map_err(expected)
}

pub(super) fn socket(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "an IP address and a port, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::]:8080".to_owned()
    })
}

pub(super) fn http_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    url.filter(Url::has_host)
        .ok_or_else(|| "an http or https URL".to_owned())
}

/// A name that is sent in a URL.
pub(super) fn name(text: &str) -> Result<String, String> {
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("a name without spaces".to_owned());
    }
    Ok(text.to_owned())
}

/// Always `Ok`: a missing file is reported when it is read.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the table needs the signature of a fallible parser"
)]
pub(super) fn path(text: &str) -> Result<Option<PathBuf>, String> {
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

pub(super) fn schedule(text: &str) -> Result<RetrySchedule, String> {
    let expected = "whole seconds separated by commas, such as 30,120,600,1800,3600";
    text.parse().map_err(|_| expected.to_owned())
}

pub(super) fn cidrs(text: &str) -> Result<Vec<IpNet>, String> {
    let parts = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let one = |part: &str| part.parse::<IpNet>().ok().or_else(|| single_address(part));
    parts.map(one).collect::<Option<_>>().ok_or_else(|| {
        "a list of address ranges separated by commas, such as 10.0.0.0/8,fd00::/8".to_owned()
    })
}

fn single_address(part: &str) -> Option<IpNet> {
    part.parse::<IpAddr>().ok().map(IpNet::from)
}

pub(super) fn filter(text: &str) -> Result<String, String> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("a log filter, such as info, warn or info,workers=debug".to_owned()),
    }
}
