//! `PATCH /files/{file_id}`.

use store::shard::file::Change;

use super::Fields;
use super::values::{boolean, tags, ttl};
use crate::problem::FileProblem;

pub(crate) fn change(body: &[u8]) -> Result<Change, FileProblem> {
    let mut fields = Fields::of(body)?;
    let change = Change {
        ttl_seconds: fields.optional("ttl_seconds", ttl),
        metadata: fields.optional("metadata", tags),
        pinned: fields.optional("pinned", boolean),
    };
    fields.finish(Some(change))
}
