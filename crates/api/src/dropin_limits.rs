//! How much the drop-ins do at the same time: large bodies, checks of files and streams of results.
//! Each is cheap to ask for and costly to serve.

use std::sync::Arc;

use domain::concurrency_limit::ConcurrencyLimit;
use domain::id::ProjectId;
use http::HeaderMap;

use crate::api_error::ApiError;
use crate::project_permit::{ProjectPermit, too_many_at_once};
use crate::request_body::declared_length;

const MAX_UPLOADS: usize = 16;
const MAX_UPLOADS_PER_PROJECT: usize = 2;
/// Bodies of at most this size are not counted.
const SMALL_BODY_BYTES: u64 = 1 << 20;
const MAX_FILE_CHECKS: usize = 2;
const MAX_FILE_CHECKS_PER_PROJECT: usize = 1;
const MAX_DOWNLOADS: usize = 64;
const MAX_DOWNLOADS_PER_PROJECT: usize = 4;

#[derive(Debug)]
pub(crate) struct DropinLimits {
    uploads: Arc<ConcurrencyLimit<ProjectId>>,
    file_checks: Arc<ConcurrencyLimit<ProjectId>>,
    downloads: Arc<ConcurrencyLimit<ProjectId>>,
}

impl Default for DropinLimits {
    fn default() -> Self {
        Self {
            uploads: ConcurrencyLimit::new(MAX_UPLOADS, MAX_UPLOADS_PER_PROJECT),
            file_checks: ConcurrencyLimit::new(MAX_FILE_CHECKS, MAX_FILE_CHECKS_PER_PROJECT),
            downloads: ConcurrencyLimit::new(MAX_DOWNLOADS, MAX_DOWNLOADS_PER_PROJECT),
        }
    }
}

impl DropinLimits {
    /// A body that is stored while it arrives. None: it is small.
    pub(crate) fn begin_upload(
        &self,
        project: ProjectId,
        headers: &HeaderMap,
    ) -> Result<Option<ProjectPermit>, ApiError> {
        if is_small(headers) {
            return Ok(None);
        }
        let permit = self.uploads.try_acquire(project);
        let permit = permit.ok_or_else(|| too_many_at_once("large bodies are being received"))?;
        Ok(Some(permit))
    }

    /// The check of an input file.
    pub(crate) fn begin_file_check(&self, project: ProjectId) -> Result<ProjectPermit, ApiError> {
        let permit = self.file_checks.try_acquire(project);
        permit.ok_or_else(|| too_many_at_once("input files are being checked"))
    }

    /// A stream of a file or of results.
    pub(crate) fn begin_download(&self, project: ProjectId) -> Result<ProjectPermit, ApiError> {
        let permit = self.downloads.try_acquire(project);
        permit.ok_or_else(|| too_many_at_once("files or results are being sent"))
    }
}

fn is_small(headers: &HeaderMap) -> bool {
    declared_length(headers).is_some_and(|length| length <= SMALL_BODY_BYTES)
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http::HeaderValue;
    use http::header::CONTENT_LENGTH;

    use super::*;
    use crate::project_permit::hold_while_streaming;

    fn project(number: u128) -> ProjectId {
        ProjectId::from(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn large_bodies_of_a_project_are_few_and_small_ones_are_not_counted() {
        let (limits, large) = (DropinLimits::default(), HeaderMap::new());
        let begin = |number| limits.begin_upload(project(number), &large).ok().flatten();
        let held: Vec<_> = (0..3).map(|_| begin(1)).collect();
        assert_eq!(held.iter().flatten().count(), 2);
        assert!(begin(2).is_some());
        let mut small = HeaderMap::new();
        small.insert(CONTENT_LENGTH, HeaderValue::from(SMALL_BODY_BYTES));
        assert!(matches!(limits.begin_upload(project(1), &small), Ok(None)));
        drop(held);
        assert!(begin(1).is_some());
    }

    #[test]
    fn a_project_checks_one_file_at_a_time() {
        let limits = DropinLimits::default();
        let first = limits.begin_file_check(project(1));
        let refused = limits.begin_file_check(project(1));
        assert_eq!(refused.map_err(|it| it.status().as_u16()).err(), Some(429));
        let second = limits.begin_file_check(project(2));
        assert!(limits.begin_file_check(project(3)).is_err());
        drop((first, second));
        assert!(limits.begin_file_check(project(1)).is_ok());
    }

    #[test]
    fn a_stream_holds_its_permit() {
        let limits = DropinLimits::default();
        let begin = || limits.begin_download(project(1));
        let streams: Vec<_> = (0..4)
            .filter_map(|_| Some(hold_while_streaming(stream::empty::<()>(), begin().ok()?)))
            .collect();
        assert!(begin().is_err());
        drop(streams);
        assert!(begin().is_ok());
    }
}
