//! The query strings of the list and of DELETE.

use axum::extract::Query;
use domain::file::{FileKind, FileStatus};
use domain::id::FileId;
use http::Uri;

use super::FieldMessage;
use crate::api_error::FileApiError;
use crate::cursor;

const DEFAULT_PAGE_SIZE: u32 = 50;
const MAX_PAGE_SIZE: u32 = 200;

/// The filter and the page of a list request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileListQuery {
    pub(crate) status: Option<FileStatus>,
    pub(crate) kind: Option<FileKind>,
    pub(crate) limit: u32,
    /// Only files that are older than this one.
    pub(crate) before: Option<FileId>,
}

pub(crate) fn parse_list_query(uri: &Uri) -> Result<FileListQuery, FileApiError> {
    let (mut listing, mut wrong) = (
        FileListQuery {
            status: None,
            kind: None,
            limit: DEFAULT_PAGE_SIZE,
            before: None,
        },
        Vec::new(),
    );
    for (name, value) in query_pairs(uri)? {
        let read = match name.as_str() {
            "status" => parse_one_of(
                &value,
                FileStatus::parse,
                FileStatus::ALL,
                FileStatus::as_str,
            )
            .map(|status| listing.status = Some(status)),
            "kind" => parse_one_of(&value, FileKind::parse, FileKind::ALL, FileKind::as_str)
                .map(|kind| listing.kind = Some(kind)),
            "limit" => parse_limit(&value).map(|limit| listing.limit = limit),
            "cursor" => parse_cursor(&value).map(|before| listing.before = before),
            _ => Ok(()),
        };
        if let Err(message) = read {
            wrong.push(format!("{name} {message}"));
        }
    }
    if wrong.is_empty() {
        return Ok(listing);
    }
    Err(FileApiError::invalid(wrong.join("; ") + "."))
}

/// Whether to delete a file that cargo in flight references.
pub(crate) fn parse_force(uri: &Uri) -> Result<bool, FileApiError> {
    let mut force = false;
    for (name, value) in query_pairs(uri)? {
        if name == "force" {
            force = parse_flag(&value)
                .ok_or_else(|| FileApiError::invalid("force should be true or false."))?;
        }
    }
    Ok(force)
}

fn query_pairs(uri: &Uri) -> Result<Vec<(String, String)>, FileApiError> {
    let Query(pairs) = Query::try_from_uri(uri).map_err(|_| {
        FileApiError::invalid("The query string is invalid. Use name=value&name=value.")
    })?;
    Ok(pairs)
}

/// As HTTP clients write a boolean: `True` in Python, `1` or `on` in a form.
fn parse_flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// An empty cursor is that of the first page.
fn parse_cursor(text: &str) -> Result<Option<FileId>, FieldMessage> {
    if text.is_empty() {
        return Ok(None);
    }
    cursor::decode_cursor(text)
        .map(Some)
        .ok_or_else(|| "should be an unchanged next_cursor of an earlier response".into())
}

fn parse_limit(text: &str) -> Result<u32, FieldMessage> {
    let number = text.parse().ok();
    number
        .filter(|number| (1..=MAX_PAGE_SIZE).contains(number))
        .ok_or_else(|| format!("should be a whole number from 1 to {MAX_PAGE_SIZE}").into())
}

fn parse_one_of<T: Copy>(
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
    all: &[T],
    word: impl Fn(T) -> &'static str,
) -> Result<T, FieldMessage> {
    parse(text).ok_or_else(|| {
        let words: Vec<_> = all.iter().map(|one| word(*one)).collect();
        format!("should be one of {}", words.join(", ")).into()
    })
}
