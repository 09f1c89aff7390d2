//! The queries of the list and of DELETE.

use axum::extract::Query;
use domain::file::{Kind, Status};
use domain::id::FileId;
use http::Uri;

use super::Wrong;
use crate::files::cursor;
use crate::problem::FileProblem;

const DEFAULT_PAGE: u32 = 50;
const LARGEST_PAGE: u32 = 200;

/// A page that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) status: Option<Status>,
    pub(crate) kind: Option<Kind>,
    pub(crate) limit: u32,
    /// Only what is older than this.
    pub(crate) before: Option<FileId>,
}

pub(crate) fn listing(uri: &Uri) -> Result<Listing, FileProblem> {
    let (mut listing, mut wrong) = (
        Listing {
            status: None,
            kind: None,
            limit: DEFAULT_PAGE,
            before: None,
        },
        Vec::new(),
    );
    for (name, value) in pairs(uri)? {
        let read = match name.as_str() {
            "status" => one_of(&value, Status::parse, Status::ALL, Status::as_str)
                .map(|status| listing.status = Some(status)),
            "kind" => one_of(&value, Kind::parse, Kind::ALL, Kind::as_str)
                .map(|kind| listing.kind = Some(kind)),
            "limit" => page(&value).map(|limit| listing.limit = limit),
            "cursor" => cursor::read(&value)
                .map(|before| listing.before = Some(before))
                .ok_or_else(|| "should be a next_cursor that we answered, unchanged".into()),
            _ => Ok(()),
        };
        if let Err(told) = read {
            wrong.push(format!("{name} {told}"));
        }
    }
    if wrong.is_empty() {
        return Ok(listing);
    }
    Err(FileProblem::invalid(wrong.join("; ") + "."))
}

/// Whether a file goes even while cargo in flight name it.
pub(crate) fn force(uri: &Uri) -> Result<bool, FileProblem> {
    let mut force = false;
    for (name, value) in pairs(uri)? {
        if name == "force" {
            force = match value.as_str() {
                "true" => true,
                "false" => false,
                _ => return Err(FileProblem::invalid("force should be true or false.")),
            };
        }
    }
    Ok(force)
}

fn pairs(uri: &Uri) -> Result<Vec<(String, String)>, FileProblem> {
    let Query(pairs) = Query::try_from_uri(uri)
        .map_err(|_| FileProblem::invalid("The query cannot be read: name=value&name=value."))?;
    Ok(pairs)
}

fn page(text: &str) -> Result<u32, Wrong> {
    let number = text.parse().ok();
    number
        .filter(|number| (1..=LARGEST_PAGE).contains(number))
        .ok_or_else(|| format!("should be a whole number from 1 to {LARGEST_PAGE}").into())
}

fn one_of<T: Copy>(
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
    all: &[T],
    word: impl Fn(T) -> &'static str,
) -> Result<T, Wrong> {
    parse(text).ok_or_else(|| {
        let words: Vec<_> = all.iter().map(|one| word(*one)).collect();
        format!("should be one of {}", words.join(", ")).into()
    })
}
