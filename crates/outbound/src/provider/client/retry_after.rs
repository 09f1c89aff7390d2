//! Parses `retry-after` in every format that providers send.

use std::time::Duration;

use chrono::DateTime;
use http::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::provider::provider_error::ProviderError;

/// Longer delays are cut to this.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

/// From the headers, otherwise from the error body.
pub(super) fn parse_retry_after(headers: &HeaderMap, error: &ProviderError) -> Option<Duration> {
    parse_headers(headers).or_else(|| error.retry_after.map(|wait| wait.min(MAX_RETRY_AFTER)))
}

pub(super) fn parse_headers(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    let milliseconds = text("retry-after-ms")
        .and_then(number)
        .and_then(|it| Duration::try_from_secs_f64(it / 1000.0).ok());
    let wait = milliseconds.or_else(|| {
        let after = text(RETRY_AFTER.as_str())?;
        match number(after) {
            Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            // Relative to the provider's own clock.
            None => duration_until(after, text(DATE.as_str())?),
        }
    });
    wait.map(|wait| wait.min(MAX_RETRY_AFTER))
}

fn duration_until(then: &str, now: &str) -> Option<Duration> {
    let then = DateTime::parse_from_rfc2822(then).ok()?;
    let now = DateTime::parse_from_rfc2822(now).ok()?;
    Some((then - now).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers.iter().map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        parse_headers(&headers.collect())
    }

    #[test]
    fn every_spelling_is_understood() {
        const NOW: (&str, &str) = ("date", "Sun, 15 Nov 2026 12:00:00 GMT");
        let seconds = |it| Some(Duration::from_secs(it));
        assert_eq!(of(&[("retry-after", "10")]), seconds(10));
        assert_eq!(
            of(&[("retry-after", "0.5")]),
            Some(Duration::from_millis(500))
        );
        let both = [("retry-after", "10"), ("retry-after-ms", "250")];
        assert_eq!(of(&both), Some(Duration::from_millis(250)));
        let date = ("retry-after", "Sun, 15 Nov 2026 12:01:30 GMT");
        assert_eq!(of(&[NOW, date]), seconds(90));
        let past = ("retry-after", "Sun, 15 Nov 2026 11:00:00 GMT");
        assert_eq!(of(&[NOW, past]), seconds(0));
        assert_eq!(of(&[("retry-after", "999999999")]), Some(MAX_RETRY_AFTER));
    }

    #[test]
    fn nonsense_is_ignored() {
        assert_eq!(of(&[]), None);
        for nonsense in ["", "soon", "-5", "NaN", "1e400"] {
            assert_eq!(of(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
    }
}
