//! Settings of tracing: the collector, and which loads are traced.

use domain::trace_context::SampleRatio;
use http::{HeaderName, HeaderValue, Uri};
use url::Url;

use crate::settings::parse::http_url;

/// The path of traces, as OTLP defines it.
const TRACES_PATH: &str = "/v1/traces";

/// Headers for the collector. Their values are secrets and are never printed.
#[derive(Debug, Clone, Default)]
pub struct CollectorHeaders(pub Vec<(HeaderName, HeaderValue)>);

/// A URL without a path gets the usual one.
pub(super) fn collector(text: &str) -> Result<Uri, String> {
    let has_no_user = |url: &Url| url.username().is_empty() && url.password().is_none();
    let url = http_url(text).ok().filter(has_no_user);
    let url = url.map(|mut url| {
        if url.path() == "/" {
            url.set_path(TRACES_PATH);
        }
        url
    });
    url.and_then(|url| url.as_str().parse().ok())
        .ok_or_else(|| {
            "an http or https URL without a user, such as http://collector:4318".to_owned()
        })
}

pub(super) fn sample_ratio(text: &str) -> Result<SampleRatio, String> {
    SampleRatio::parse(text)
        .ok_or_else(|| "a number from 0 to 1 with at most six decimals, such as 0.01".to_owned())
}

pub(super) fn collector_headers(text: &str) -> Result<CollectorHeaders, String> {
    let parts = text.split(',').map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    let header = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let name: HeaderName = name.trim().parse().ok()?;
        let mut value: HeaderValue = value.trim().parse().ok()?;
        value.set_sensitive(true);
        Some((name, value))
    };
    let headers: Option<Vec<_>> = parts.map(header).collect();
    headers
        .map(CollectorHeaders)
        .ok_or_else(|| "headers as name=value, separated by commas".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_without_a_path_gets_the_usual_one() {
        let address = |text| collector(text).map(|uri| uri.to_string()).ok();
        let usual = Some("http://collector:4318/v1/traces".to_owned());
        assert_eq!(address("http://collector:4318"), usual);
        assert_eq!(address("http://collector:4318/"), usual);
        let own = "https://otlp.example/tenant/v1/traces";
        assert_eq!(address(own), Some(own.to_owned()));
        for wrong in [
            "collector:4318",
            "grpc://collector:4317",
            "http://a:b@collector",
        ] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn headers_are_secrets() {
        let headers = collector_headers("Authorization=Basic YTpi==, x-scope = a,").unwrap();
        let values = headers.0.iter().map(|(_, value)| value.to_str().unwrap());
        assert_eq!(values.collect::<Vec<_>>(), ["Basic YTpi==", "a"]);
        let shown = format!("{headers:?}");
        assert!(!shown.contains("YTpi"), "{shown}");
        assert!(collector_headers("").unwrap().0.is_empty());
        for wrong in ["name", "na me=value", "name=\u{1}"] {
            assert!(collector_headers(wrong).is_err(), "{wrong}");
        }
    }
}
