//! Patrol compares the object store with the rows and removes objects that no row needs.
//!
//! Patrol reads the rows after the listing, and a settled file stays settled. So it never removes
//! an object that a file may still need.

use chrono::TimeDelta;

use crate::file::FileStatus;

#[cfg(test)]
mod tests;

/// How long an object without a row is kept: its row may be about to be written.
pub const UNKNOWN_OBJECT_GRACE: TimeDelta = TimeDelta::minutes(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatrolAction {
    Keep,
    Remove,
}

/// Decides about an object in staging, by its file.
pub fn judge_staged_object(
    file: Option<FileStatus>,
    age: TimeDelta,
    grace: TimeDelta,
) -> PatrolAction {
    match file {
        Some(FileStatus::Uploading | FileStatus::Validating) => PatrolAction::Keep,
        Some(FileStatus::Ready | FileStatus::Failed | FileStatus::Expired) => PatrolAction::Remove,
        None => remove_if_older(age, grace),
    }
}

/// Decides about a published object, by the file that uploaded it. `is_live`: files use it.
pub fn judge_published_object(
    is_live: bool,
    file: Option<FileStatus>,
    age: TimeDelta,
    grace: TimeDelta,
) -> PatrolAction {
    if is_live {
        return PatrolAction::Keep;
    }
    match file {
        // Copied, and its row is about to be written.
        Some(FileStatus::Uploading | FileStatus::Validating) => PatrolAction::Keep,
        // Settled without it: a duplicate was published first, or all its files are gone.
        Some(FileStatus::Ready | FileStatus::Failed | FileStatus::Expired) => PatrolAction::Remove,
        None => remove_if_older(age, grace),
    }
}

/// Decides about a multipart upload, by its file and the upload that the file's row names.
pub fn judge_multipart_upload(
    file: Option<(FileStatus, Option<&str>)>,
    upload: &str,
    age: TimeDelta,
    grace: TimeDelta,
) -> PatrolAction {
    let Some((status, named)) = file else {
        return remove_if_older(age, grace);
    };
    match (status, named) {
        (FileStatus::Ready | FileStatus::Failed | FileStatus::Expired, _) => PatrolAction::Remove,
        (FileStatus::Uploading | FileStatus::Validating, Some(named)) if named != upload => {
            PatrolAction::Remove
        }
        (FileStatus::Uploading | FileStatus::Validating, Some(_)) => PatrolAction::Keep,
        // Begun, and the row is about to name it.
        (FileStatus::Uploading | FileStatus::Validating, None) => remove_if_older(age, grace),
    }
}

fn remove_if_older(age: TimeDelta, grace: TimeDelta) -> PatrolAction {
    if age > grace {
        PatrolAction::Remove
    } else {
        PatrolAction::Keep
    }
}
