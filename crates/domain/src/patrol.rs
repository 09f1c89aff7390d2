//! Patrol: what lies in the object store, held against the rows.
//!
//! The listing is older than the rows that are read after it, and what is settled stays
//! settled. So nothing is removed here that anybody could still come to want.

use chrono::TimeDelta;

use crate::file::Status;

#[cfg(test)]
mod tests;

/// What no row knows may be about to get one, or its row was just taken back.
pub const GRACE: TimeDelta = TimeDelta::minutes(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Keep,
    Remove,
}

/// Of an object in staging, by its file.
pub fn of_staged(file: Option<Status>, age: TimeDelta, grace: TimeDelta) -> Deed {
    match file {
        Some(Status::Uploading | Status::Validating) => Deed::Keep,
        Some(Status::Ready | Status::Failed | Status::Expired) => Deed::Remove,
        None => unless_young(age, grace),
    }
}

/// Of published bytes, by the file that brought them. `is_live`: files have them.
pub fn of_published(is_live: bool, file: Option<Status>, age: TimeDelta, grace: TimeDelta) -> Deed {
    if is_live {
        return Deed::Keep;
    }
    match file {
        // Copied, and about to be written down.
        Some(Status::Uploading | Status::Validating) => Deed::Keep,
        // Settled without them: a twin was first, or all who had them are gone.
        Some(Status::Ready | Status::Failed | Status::Expired) => Deed::Remove,
        None => unless_young(age, grace),
    }
}

/// Of a multipart upload, by its file and the upload that the file's row names.
pub fn of_upload(
    file: Option<(Status, Option<&str>)>,
    upload: &str,
    age: TimeDelta,
    grace: TimeDelta,
) -> Deed {
    let Some((status, named)) = file else {
        return unless_young(age, grace);
    };
    match (status, named) {
        (Status::Ready | Status::Failed | Status::Expired, _) => Deed::Remove,
        (Status::Uploading | Status::Validating, Some(named)) if named != upload => Deed::Remove,
        (Status::Uploading | Status::Validating, Some(_)) => Deed::Keep,
        // Begun, and about to be named.
        (Status::Uploading | Status::Validating, None) => unless_young(age, grace),
    }
}

fn unless_young(age: TimeDelta, grace: TimeDelta) -> Deed {
    if age > grace {
        Deed::Remove
    } else {
        Deed::Keep
    }
}
