//! Lists of jobs, newest first, read until they are older than what is sought.

use domain::time::Timestamp;

use super::call::CallFailure;
use super::jobs::Candidate;

/// A list that goes on for longer is not believed. To stop early could bill a job twice.
const MOST_PAGES: usize = 1_000;

#[derive(Debug)]
pub(super) struct Page {
    pub(super) jobs: Vec<Candidate>,
    /// Where the next one begins.
    pub(super) next: Option<String>,
}

/// Those that are not older. Neighbours may stand in another order than their moments, so only
/// a page that is older as a whole ends the search.
///
/// `fetch` gives futures, not an async closure: theirs are not known to be `Send`.
pub(super) async fn until_older<F: Future<Output = Result<Page, CallFailure>>>(
    since: Timestamp,
    fetch: impl Fn(Option<String>) -> F,
) -> Result<Vec<Candidate>, CallFailure> {
    let mut found = Vec::new();
    let mut next = None;
    for _ in 0..MOST_PAGES {
        let page = fetch(next).await?;
        let is_older = !page.jobs.is_empty() && page.jobs.iter().all(|job| job.created_at < since);
        found.extend(page.jobs.into_iter().filter(|job| job.created_at >= since));
        next = page.next;
        if is_older || next.is_none() {
            return Ok(found);
        }
    }
    Err(CallFailure::unavailable("the list of jobs does not end"))
}
