//! The common interface of the statement formats.

use domain::id::OrganizationId;
use domain::time::Timestamp;
use store::shard::statement::{StatementLine, StatementRange};

use crate::admin::AdminFailure;

/// Which postings the statement covers.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatementRequest {
    pub(super) organization: OrganizationId,
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
}

/// Formats a statement: the text before the postings, each posting, the text after them.
pub(super) trait StatementFormatter {
    fn head(
        &mut self,
        request: StatementRequest,
        span: StatementRange,
    ) -> Result<String, AdminFailure>;
    fn line(&mut self, line: &StatementLine) -> Result<String, AdminFailure>;
    fn tail(&mut self, span: StatementRange) -> String;
}
