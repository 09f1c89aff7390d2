//! How many streams of group results are sent at the same time. Each occupies a connection, and
//! keeps a page of results in memory for as long as its reader takes.

use std::sync::Arc;

use domain::concurrency_limit::ConcurrencyLimit;
use domain::id::ProjectId;

use crate::api_error::ApiError;
use crate::project_permit::{ProjectPermit, too_many_at_once};

/// A page has at most 8 MiB, unless one result is larger.
const MAX_STREAMS: usize = 256;
const MAX_STREAMS_PER_PROJECT: usize = 32;

#[derive(Debug)]
pub(crate) struct ResultStreamLimit(Arc<ConcurrencyLimit<ProjectId>>);

impl Default for ResultStreamLimit {
    fn default() -> Self {
        Self(ConcurrencyLimit::new(MAX_STREAMS, MAX_STREAMS_PER_PROJECT))
    }
}

impl ResultStreamLimit {
    pub(crate) fn begin(&self, project: ProjectId) -> Result<ProjectPermit, ApiError> {
        let permit = self.0.try_acquire(project);
        permit.ok_or_else(too_many_result_streams)
    }
}

pub(crate) fn too_many_result_streams() -> ApiError {
    too_many_at_once("streams of results are being sent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h6_a_project_has_its_share_of_streams_and_all_have_the_total() {
        let limit = ResultStreamLimit::default();
        let mut held = Vec::new();
        let mut begin_many = |number| {
            let project = ProjectId::from(uuid::Uuid::from_u128(number));
            let permits = (0..100).filter_map(|_| limit.begin(project).ok());
            let before = held.len();
            held.extend(permits);
            held.len() - before
        };
        assert_eq!(begin_many(0), 32);
        let others: usize = (1..20).map(&mut begin_many).sum();
        assert_eq!(others, 256 - 32);
        held.clear();
        assert!(limit.begin(ProjectId::from(uuid::Uuid::nil())).is_ok());
    }
}
