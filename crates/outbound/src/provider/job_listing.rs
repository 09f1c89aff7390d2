//! Reads a provider's job list, newest first, until the jobs are older than the search allows.

use domain::time::Timestamp;

use super::batch_provider::ListedJob;
use super::client::ProviderCallFailure;

/// A longer list is an error: a search that stops early could bill a job twice.
const MAX_PAGES: usize = 1_000;

#[derive(Debug)]
pub(super) struct JobPage {
    pub(super) jobs: Vec<ListedJob>,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
}

/// Returns jobs created at or after `since`. Jobs may be slightly out of order, so only a page
/// whose jobs are all older ends the search.
///
/// `fetch` returns a future instead of being an async closure, whose future is not known to be
/// `Send`.
pub(super) async fn list_jobs_since<F: Future<Output = Result<JobPage, ProviderCallFailure>>>(
    since: Timestamp,
    fetch: impl Fn(Option<String>) -> F,
) -> Result<Vec<ListedJob>, ProviderCallFailure> {
    let mut found = Vec::new();
    let mut next = None;
    for _ in 0..MAX_PAGES {
        let page = fetch(next).await?;
        let is_old = |job: &ListedJob| job.created_at.is_some_and(|at| at < since);
        let is_older = !page.jobs.is_empty() && page.jobs.iter().all(is_old);
        found.extend(page.jobs.into_iter().filter(|job| !is_old(job)));
        next = page.next;
        if is_older || next.is_none() {
            return Ok(found);
        }
    }
    Err(ProviderCallFailure::unavailable(
        "the provider's job list is too long",
    ))
}
