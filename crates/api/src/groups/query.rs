//! The query strings of the group routes. Unknown names are ignored.

use std::time::Duration;

use axum::extract::Query;
use domain::cargo_group::{GroupName, GroupStatus};
use domain::id::GroupId;
use http::Uri;
use store::shard::group::GroupFilter;
use wire::error_body::{LocationStep, ValidationError};

use crate::api_error::ApiError;
use crate::groups::cursor;

const DEFAULT_PAGE_SIZE: u32 = 50;
const MAX_PAGE_SIZE: u32 = 200;
/// Waits may end earlier: the operator sets how long requests wait at most.
const MAX_WAIT_SECONDS: u64 = 60;

/// The filter and the page of a list of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupListQuery {
    pub(crate) filter: GroupFilter,
    pub(crate) limit: u32,
    /// Only groups that are older than this one.
    pub(crate) before: Option<GroupId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultOrder {
    Position,
    Completion,
}

/// Which results of a group are sent, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupResultsQuery {
    pub(crate) order: ResultOrder,
    /// Only results after this position or number.
    pub(crate) after: Option<u64>,
    /// How long to wait for further results.
    pub(crate) wait: Duration,
    pub(crate) success: Option<bool>,
    pub(crate) includes_params: bool,
}

pub(crate) fn parse_list_query(uri: &Uri) -> Result<GroupListQuery, ApiError> {
    let mut query = GroupListQuery {
        filter: GroupFilter::default(),
        limit: DEFAULT_PAGE_SIZE,
        before: None,
    };
    read_pairs(uri, |name, value| match name {
        "name_prefix" => parse_name_prefix(value).map(|prefix| query.filter.name_prefix = prefix),
        "status" => parse_status(value).map(|status| query.filter.status = Some(status)),
        "limit" => parse_limit(value).map(|limit| query.limit = limit),
        "cursor" => parse_cursor(value).map(|before| query.before = before),
        _ => Ok(()),
    })?;
    Ok(query)
}

pub(crate) fn parse_results_query(uri: &Uri) -> Result<GroupResultsQuery, ApiError> {
    let mut query = GroupResultsQuery {
        order: ResultOrder::Position,
        after: None,
        wait: Duration::ZERO,
        success: None,
        includes_params: false,
    };
    read_pairs(uri, |name, value| match name {
        "order" => parse_order(value).map(|order| query.order = order),
        "after" => parse_after(value).map(|after| query.after = Some(after)),
        "wait" => parse_seconds(value).map(|wait| query.wait = wait),
        "success" => parse_success(value).map(|success| query.success = Some(success)),
        "include" => parse_include(value).map(|()| query.includes_params = true),
        _ => Ok(()),
    })?;
    if query.order == ResultOrder::Position && !query.wait.is_zero() {
        let msg = "wait is only for order=completion";
        return Err(ApiError::validation_at(["query", "wait"], msg));
    }
    Ok(query)
}

/// How long `GET /groups/{group_id}` may wait.
pub(crate) fn parse_wait(uri: &Uri) -> Result<Duration, ApiError> {
    let mut wait = Duration::ZERO;
    read_pairs(uri, |name, value| match name {
        "wait" => parse_seconds(value).map(|seconds| wait = seconds),
        _ => Ok(()),
    })?;
    Ok(wait)
}

/// Reads every pair, and reports all errors.
fn read_pairs(
    uri: &Uri,
    mut read: impl FnMut(&str, &str) -> Result<(), String>,
) -> Result<(), ApiError> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let Query(pairs) = pairs.map_err(|_| {
        let msg = "The query string is invalid. Use name=value&name=value.";
        ApiError::validation_at(["query"], msg)
    })?;
    let mut faults = Vec::new();
    for (name, value) in pairs {
        if let Err(msg) = read(&name, &value) {
            faults.push(ValidationError {
                kind: "value_error",
                loc: vec![LocationStep::key("query"), LocationStep::name(name)],
                msg: msg.into(),
            });
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(ApiError::validation(faults))
    }
}

/// A prefix of a name is a name.
fn parse_name_prefix(text: &str) -> Result<Option<String>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let prefix =
        GroupName::new(text).map_err(|_| "should be the beginning of a name".to_owned())?;
    Ok(Some(prefix.as_str().to_owned()))
}

fn parse_status(text: &str) -> Result<GroupStatus, String> {
    let mut all = GroupStatus::ALL.iter();
    let status = all.find(|status| status.as_str() == text);
    status.copied().ok_or_else(|| {
        let words: Vec<_> = GroupStatus::ALL.iter().map(|it| it.as_str()).collect();
        format!("should be one of {}", words.join(", "))
    })
}

fn parse_limit(text: &str) -> Result<u32, String> {
    let number = text.parse::<u32>().ok();
    number
        .filter(|number| (1..=MAX_PAGE_SIZE).contains(number))
        .ok_or_else(|| format!("should be a whole number from 1 to {MAX_PAGE_SIZE}"))
}

/// An empty cursor is that of the first page.
fn parse_cursor(text: &str) -> Result<Option<GroupId>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let before = cursor::decode_cursor(text).map(Some);
    before.ok_or_else(|| "should be an unchanged next_cursor of an earlier response".to_owned())
}

fn parse_order(text: &str) -> Result<ResultOrder, String> {
    match text {
        "position" => Ok(ResultOrder::Position),
        "completion" => Ok(ResultOrder::Completion),
        _ => Err("should be position or completion".to_owned()),
    }
}

fn parse_after(text: &str) -> Result<u64, String> {
    let number = text.parse::<u64>();
    number.map_err(|_| "should be the position or number of a result".to_owned())
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<u64>().ok();
    let seconds = seconds.filter(|seconds| *seconds <= MAX_WAIT_SECONDS);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| format!("should be a whole number of seconds from 0 to {MAX_WAIT_SECONDS}"))
}

fn parse_success(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("should be true or false".to_owned()),
    }
}

fn parse_include(text: &str) -> Result<(), String> {
    match text {
        "params" => Ok(()),
        _ => Err("should be params".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_results(query: &str) -> Result<GroupResultsQuery, u16> {
        let uri = format!("/groups/x/results?{query}").parse().unwrap();
        parse_results_query(&uri).map_err(|error| error.status().as_u16())
    }

    #[test]
    fn results_are_sent_by_position_unless_the_caller_says_otherwise() {
        let plain = parse_results("").unwrap();
        assert_eq!((plain.order, plain.after), (ResultOrder::Position, None));
        let query = "order=completion&after=7&wait=60&success=false&include=params&x=1";
        let full = GroupResultsQuery {
            order: ResultOrder::Completion,
            after: Some(7),
            wait: Duration::from_mins(1),
            success: Some(false),
            includes_params: true,
        };
        assert_eq!(parse_results(query), Ok(full));
    }

    #[test]
    fn only_results_by_completion_can_wait() {
        assert_eq!(parse_results("wait=1"), Err(422));
        assert!(parse_results("wait=0").is_ok());
        for wrong in [
            "order=x",
            "after=-1",
            "order=completion&wait=61",
            "success=1",
            "include=all",
        ] {
            assert_eq!(parse_results(wrong), Err(422), "{wrong}");
        }
    }

    #[test]
    fn a_list_reports_all_errors() {
        let uri = "/groups?status=lost&limit=0&name_prefix=%00&cursor=x"
            .parse()
            .unwrap();
        let error = parse_list_query(&uri).unwrap_err();
        let body = serde_json::to_value(error.into_body()).unwrap();
        assert_eq!(body["detail"].as_array().unwrap().len(), 4);
        let uri = "/groups?status=open&name_prefix=run&cursor="
            .parse()
            .unwrap();
        let query = parse_list_query(&uri).unwrap();
        assert_eq!(query.filter.status, Some(GroupStatus::Open));
        assert_eq!(query.filter.name_prefix.as_deref(), Some("run"));
        assert_eq!((query.limit, query.before), (50, None));
    }
}
