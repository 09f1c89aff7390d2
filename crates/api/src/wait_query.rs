//! How long a request waits, and for what: `?wait=`, `?until=` and `Prefer: wait=`.

use std::time::Duration;

use axum::extract::Query;
use axum::http::{HeaderMap, Uri};

use crate::api_error::ApiError;
use crate::validation_errors::ValidationErrors;
use crate::waiters::WaitMilestone;

pub(crate) const MAX_WAIT_SECONDS: u32 = 60;
pub(crate) const INVALID_WAIT: &str = "wait should be a whole number of seconds from 0 to 60";

const PREFER: &str = "prefer";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestedWait {
    /// Zero: the request is answered at once.
    pub(crate) duration: Duration,
    pub(crate) milestone: WaitMilestone,
}

/// Other fields of the query are ignored, as they always were. The query wins over the header.
pub(crate) fn parse_wait(uri: &Uri, headers: &HeaderMap) -> Result<RequestedWait, ApiError> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let pairs = pairs.map(|Query(pairs)| pairs).unwrap_or_default();
    let mut wrong = ValidationErrors::at(["query"]);
    let (mut duration, mut milestone) = (None, WaitMilestone::Completed);
    for (name, value) in pairs {
        match name.as_str() {
            "wait" => match parse_seconds(&value) {
                Some(seconds) => duration = Some(seconds),
                None => wrong.add_at("wait", "value_error", INVALID_WAIT),
            },
            "until" => match value.as_str() {
                "completed" => milestone = WaitMilestone::Completed,
                "delivered" => milestone = WaitMilestone::Delivered,
                _ => {
                    let msg = "until should be completed or delivered";
                    wrong.add_at("until", "value_error", msg);
                }
            },
            _ => {}
        }
    }
    wrong.into_result(Some(())).map_err(ApiError::validation)?;
    let duration = match duration {
        Some(duration) => duration,
        None => preferred_wait(headers)?.unwrap_or_default(),
    };
    Ok(RequestedWait {
        duration,
        milestone,
    })
}

fn parse_seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok()?;
    (0..=MAX_WAIT_SECONDS)
        .contains(&seconds)
        .then(|| Duration::from_secs(seconds.into()))
}

/// The preference `wait` of RFC 7240, as in `Prefer: respond-async, wait=10`.
fn preferred_wait(headers: &HeaderMap) -> Result<Option<Duration>, ApiError> {
    let lines = headers.get_all(PREFER).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let mut preferences = lines.flat_map(|line| line.split(','));
    let wait = preferences.find_map(|preference| {
        let preference = preference.split(';').next()?;
        let (name, value) = preference.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then_some(value)
    });
    let Some(wait) = wait else { return Ok(None) };
    match parse_seconds(wait.trim().trim_matches('"')) {
        Some(duration) => Ok(Some(duration)),
        None => Err(ApiError::validation_at(["header", PREFER], INVALID_WAIT)),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn parse(query: &str, prefer: Option<&'static str>) -> Result<(u64, WaitMilestone), String> {
        let uri = format!("/cargo/x/tracking{query}").parse().unwrap();
        let prefer = prefer.map(|it| {
            (
                HeaderName::from_static(PREFER),
                HeaderValue::from_static(it),
            )
        });
        let wait = parse_wait(&uri, &prefer.into_iter().collect());
        wait.map(|wait| (wait.duration.as_secs(), wait.milestone))
            .map_err(|wrong| serde_json::to_string(&wrong.into_body()).unwrap())
    }

    #[test]
    fn a_wait_is_in_the_query_or_in_the_header() {
        let (completed, delivered) = (WaitMilestone::Completed, WaitMilestone::Delivered);
        for (query, prefer, expected) in [
            ("", None, (0, completed)),
            ("?other=x", None, (0, completed)),
            ("?wait=60", None, (60, completed)),
            ("?wait=7&until=delivered", None, (7, delivered)),
            ("?until=completed", Some("wait=3"), (3, completed)),
            ("", Some("respond-async, Wait=\"4\"; x=y"), (4, completed)),
            ("?wait=5", Some("wait=never"), (5, completed)),
            ("", Some("respond-async"), (0, completed)),
        ] {
            assert_eq!(parse(query, prefer), Ok(expected), "{query} {prefer:?}");
        }
    }

    #[test]
    fn a_wrong_wait_is_refused() {
        for query in ["?wait=61", "?wait=-1", "?wait=", "?wait=1.5", "?until=x"] {
            assert!(parse(query, None).is_err(), "{query}");
        }
        let wrong = parse("", Some("wait=soon")).unwrap_err();
        insta::assert_snapshot!(wrong, @r#"{"detail":[{"type":"value_error","loc":["header","prefer"],"msg":"wait should be a whole number of seconds from 0 to 60"}]}"#);
    }
}
