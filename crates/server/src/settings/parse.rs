//! Parsers of settings. An error says what was expected: "a whole number …".

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use domain::callback_signature::SigningRoot;
use domain::master_key;
use domain::retry_schedule::RetrySchedule;
use ipnet::IpNet;
use outbound::master_key::MasterKeyCommand;
use tracing_subscriber::EnvFilter;
use url::{Host, Url};

use crate::clock::ClockSpeed;

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

pub(super) fn clock_speed(text: &str) -> Result<ClockSpeed, String> {
    let expected = "a whole number from 1 to 3600, @ and a Unix time in microseconds";
    ClockSpeed::parse(text).ok_or_else(|| expected.to_owned())
}

pub(super) fn root(text: &str) -> Result<SigningRoot, String> {
    SigningRoot::parse(text)
        .ok_or_else(|| "32 bytes in base64, such as `openssl rand -base64 32` prints".to_owned())
}

pub(super) fn master_key_command(text: &str) -> Result<MasterKeyCommand, String> {
    let expected = "an absolute path, with arguments separated by spaces";
    MasterKeyCommand::parse(text).ok_or_else(|| expected.to_owned())
}

pub(super) fn master_key_id(text: &str) -> Result<String, String> {
    if master_key::is_valid_id(text) {
        Ok(text.to_owned())
    } else {
        Err("a word of at most 200 visible characters that does not begin with - or #".to_owned())
    }
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

/// Host names in lower case; a leading `.` or `*.` says nothing more.
pub(super) fn host_names(text: &str) -> Result<Vec<String>, String> {
    let parts = text.split(',').map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    let one = |part: &str| {
        let name = part.trim_start_matches("*.").trim_start_matches('.');
        match Host::parse(name.trim_end_matches('.')) {
            Ok(Host::Domain(name)) => Some(name),
            Ok(Host::Ipv4(_) | Host::Ipv6(_)) | Err(_) => None,
        }
    };
    parts.map(one).collect::<Option<_>>().ok_or_else(|| {
        "a list of host names separated by commas, such as corp.example,localhost".to_owned()
    })
}

pub(super) fn ports(text: &str) -> Result<Vec<RangeInclusive<u16>>, String> {
    let parts = text.split(',').map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    let one = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (1..=last).contains(&first).then_some(first..=last)
    };
    parts.map(one).collect::<Option<_>>().ok_or_else(|| {
        "a list of ports and ranges separated by commas, such as 443,8000-8999".to_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_and_ports_are_lists() {
        let names = host_names("Corp.Example., *.internal, .lan,");
        let expected = ["corp.example", "internal", "lan"].map(str::to_owned);
        assert_eq!(names, Ok(expected.to_vec()));
        assert!(host_names("10.0.0.1").is_err() && host_names("a b").is_err());
        assert_eq!(ports("443, 8000-8999"), Ok(vec![443..=443, 8000..=8999]));
        assert_eq!(ports(""), Ok(Vec::new()));
        for wrong in ["0", "70000", "9-8", "a", "1-"] {
            assert!(ports(wrong).is_err(), "{wrong}");
        }
    }
}
