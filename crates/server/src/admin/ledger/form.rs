//! What every form of a statement has in common.

use domain::id::OrganizationId;
use domain::time::Timestamp;
use store::shard::statement::{Line, Span};

use crate::admin::AdminFailure;

/// Which postings are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) organization: OrganizationId,
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
}

/// How a statement is written: what comes before, each line, what comes after.
pub(super) trait Form {
    fn head(&mut self, wanted: Wanted, span: Span) -> Result<String, AdminFailure>;
    fn line(&mut self, line: &Line) -> Result<String, AdminFailure>;
    fn tail(&mut self, span: Span) -> String;
}
