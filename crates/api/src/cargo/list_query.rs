//! The query string of `GET /cargo`.

use std::borrow::Cow;

use axum::extract::Query;
use chrono::{DateTime, Datelike as _};
use domain::cargo::CargoStatus;
use domain::cargo_group::CustomId;
use domain::id::GroupId;
use domain::time::Timestamp;
use http::Uri;
use store::view::cargo_search::CargoSearch;

use crate::api_error::ApiError;
use crate::cursor;
use crate::validation_errors::ValidationErrors;

pub(crate) const DEFAULT_CARGO_PAGE_SIZE: u32 = 50;
pub(crate) const MAX_CARGO_PAGE_SIZE: u32 = 200;
/// The port of a host without one.
const DEFAULT_PORT: u16 = 443;
const MAX_TEXT_CHARS: usize = 512;
const NOT_A_TIME: &str = "should be a time of RFC 3339 from 1970 to 9999, such as \
                          2026-11-15T12:00:00Z, with + written as %2B";

type FieldError = Cow<'static, str>;

/// The filters and the page size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CargoListQuery {
    pub(crate) search: CargoSearch,
    pub(crate) limit: u32,
}

pub(crate) fn parse_cargo_list_query(uri: &Uri) -> Result<CargoListQuery, ApiError> {
    let invalid = "The query string is invalid. Use name=value&name=value.";
    let Query(pairs): Query<Vec<(String, String)>> =
        Query::try_from_uri(uri).map_err(|_| ApiError::validation_at(["query"], invalid))?;
    let mut wrong = ValidationErrors::at(["query"]);
    let mut query = CargoListQuery {
        search: CargoSearch::default(),
        limit: DEFAULT_CARGO_PAGE_SIZE,
    };
    let names_group = pairs.iter().any(|(name, _)| name == "group_id");
    for (name, value) in &pairs {
        let Some(field) = FIELDS.into_iter().find(|field| field == name) else {
            continue;
        };
        if let Err(msg) = query.read(field, value) {
            wrong.add_at(field, "value_error", format!("{field} {msg}"));
        }
    }
    if query.search.custom_id.is_some() && !names_group {
        let msg = "custom_id needs group_id: it is unique in its group only";
        wrong.add_at("custom_id", "value_error", msg);
    }
    wrong.into_result(Some(query)).map_err(ApiError::validation)
}

const FIELDS: [&str; 10] = [
    "status",
    "success",
    "model",
    "callback_host",
    "group_id",
    "custom_id",
    "created_after",
    "created_before",
    "limit",
    "cursor",
];

impl CargoListQuery {
    /// Unknown fields are ignored.
    fn read(&mut self, field: &str, value: &str) -> Result<(), FieldError> {
        let search = &mut self.search;
        match field {
            "status" => search.statuses.push(parse_status(value)?),
            "success" => search.success = Some(parse_flag(value)?),
            "model" => search.model = Some(parse_text(value)?),
            "callback_host" => search.callback_host = Some(parse_host(value)?),
            "group_id" => {
                let group = value.parse::<GroupId>();
                let group = group.map_err(|_| "should be the id of a group")?;
                search.group = Some(group);
            }
            "custom_id" => {
                let custom_id = CustomId::new(value);
                search.custom_id = Some(custom_id.map_err(|_| "should be a custom id")?);
            }
            "created_after" => search.created_after = Some(parse_time(value)?),
            "created_before" => search.created_before = Some(parse_time(value)?),
            "limit" => self.limit = parse_limit(value)?,
            // An empty cursor is that of the first page.
            "cursor" if value.is_empty() => {}
            "cursor" => {
                let before = cursor::decode_cursor(value);
                let msg = "should be an unchanged next_cursor of an earlier response";
                search.before = Some(before.ok_or(msg)?);
            }
            _ => {}
        }
        Ok(())
    }
}

fn parse_status(text: &str) -> Result<CargoStatus, FieldError> {
    let found = CargoStatus::ALL.into_iter().find(|it| it.as_wire() == text);
    found.ok_or_else(|| {
        let words = CargoStatus::ALL.map(CargoStatus::as_wire);
        format!("should be one of {}", words.join(", ")).into()
    })
}

/// Python writes `True`.
fn parse_flag(text: &str) -> Result<bool, FieldError> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("should be true or false".into()),
    }
}

fn parse_text(text: &str) -> Result<String, FieldError> {
    let is_valid = !text.is_empty()
        && text.chars().count() <= MAX_TEXT_CHARS
        && !text.chars().any(char::is_control);
    if is_valid {
        return Ok(text.to_owned());
    }
    Err(format!("should have 1 to {MAX_TEXT_CHARS} visible characters").into())
}

/// Rows have hosts in lower case and with their port.
fn parse_host(text: &str) -> Result<String, FieldError> {
    let host = parse_text(text)?.to_ascii_lowercase();
    let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    if port.is_some_and(|port| port.is_ok()) {
        return Ok(host);
    }
    Ok(format!("{host}:{DEFAULT_PORT}"))
}

fn parse_time(text: &str) -> Result<Timestamp, FieldError> {
    let moment = DateTime::parse_from_rfc3339(text).map_err(|_| NOT_A_TIME)?;
    let moment = moment.to_utc();
    if (1970..=9999).contains(&moment.year()) {
        return Ok(moment);
    }
    Err(NOT_A_TIME.into())
}

fn parse_limit(text: &str) -> Result<u32, FieldError> {
    match text.parse::<u32>() {
        Ok(limit) if (1..=MAX_CARGO_PAGE_SIZE).contains(&limit) => Ok(limit),
        Ok(_) | Err(_) => {
            Err(format!("should be a whole number from 1 to {MAX_CARGO_PAGE_SIZE}").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<CargoListQuery, ApiError> {
        parse_cargo_list_query(&format!("/cargo{query}").parse().unwrap())
    }

    #[test]
    fn each_filter_is_read() {
        let cursor = "AQGbdtqAe3dLgFAAAAAAACo";
        let query = parse(&format!(
            "?status=PENDING&status=callback_failed&success=False&model=svc-mock\
             &callback_host=Example.com&group_id=grp_019b76da807b774b805000000000002a\
             &custom_id=row%207&created_after=2026-11-15T12:00:00%2B02:00\
             &created_before=2026-11-16T00:00:00Z&limit=7&cursor={cursor}&other=x"
        ));
        let query = query.unwrap();
        let search = query.search;
        assert_eq!(query.limit, 7);
        let statuses = [CargoStatus::Pending, CargoStatus::Undeliverable];
        assert_eq!(search.statuses, statuses);
        assert_eq!(search.success, Some(false));
        assert_eq!(search.model.as_deref(), Some("svc-mock"));
        assert_eq!(search.callback_host.as_deref(), Some("example.com:443"));
        assert!(search.group.is_some() && search.before.is_some());
        assert_eq!(search.custom_id.unwrap().as_str(), "row 7");
        let at = |text: &str| text.parse::<Timestamp>().ok();
        assert_eq!(search.created_after, at("2026-11-15T10:00:00Z"));
        assert_eq!(search.created_before, at("2026-11-16T00:00:00Z"));
    }

    #[test]
    fn a_list_without_a_query_is_the_newest_cargo() {
        let newest = CargoListQuery {
            search: CargoSearch::default(),
            limit: DEFAULT_CARGO_PAGE_SIZE,
        };
        for query in ["", "?", "?cursor="] {
            assert_eq!(parse(query).ok().as_ref(), Some(&newest), "{query}");
        }
    }

    #[test]
    fn hosts_have_their_port() {
        for (text, host) in [
            ("a.example", "a.example:443"),
            ("a.example:80", "a.example:80"),
            ("[2001:db8::7]", "[2001:db8::7]:443"),
            ("[2001:db8::7]:8443", "[2001:db8::7]:8443"),
        ] {
            assert_eq!(parse_host(text).as_deref(), Ok(host));
        }
    }

    #[test]
    fn everything_wrong_is_reported_at_once() {
        let wrong = parse(
            "?status=lost&success=maybe&model=&callback_host=%00&group_id=1&custom_id=%0A\
             &created_after=yesterday&created_before=99999-01-01T00:00:00Z&limit=0&cursor=x",
        );
        let wrong = serde_json::to_value(wrong.unwrap_err().into_body()).unwrap();
        let errors = wrong["detail"].as_array().unwrap();
        let fields: Vec<_> = errors.iter().map(|it| it["loc"][1].as_str()).collect();
        assert_eq!(fields, FIELDS.map(Some));
        let lonely = parse("?custom_id=a").unwrap_err().into_body();
        let lonely = serde_json::to_string(&lonely).unwrap();
        assert!(lonely.contains("custom_id needs group_id"), "{lonely}");
    }
}
