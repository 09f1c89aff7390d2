//! Finds cargo that matches the filters, within a bounded number of rows.

use std::collections::HashMap;

use chrono::TimeDelta;
use domain::id::{CargoId, ProjectId, timestamp_of};
use domain::reason_code::FailureCode;
use domain::time::Timestamp;
use store::shard::cargo_id_range::CargoIdRange;
use store::shard::failure_index::FailureKind;
use store::view::cargo::{self, CargoListItem, OutcomeSummary};
use store::view::loads;
use store::{Error, Shard};

use crate::project::cargo::filter::{CargoFilter, StatusFilter};
use crate::project::cargo::search_spans;
use crate::project::cargo::time_window::TimeWindow;

pub(crate) const PAGE_SIZE: usize = 50;
/// Rows that one request examines when it must filter rows itself.
pub(crate) const MAX_EXAMINED: u32 = 500;
/// Spans that one request examines.
const MAX_SPANS: usize = 12;
const MAX_HOURS: u32 = 1000;
/// The label of cancelled cargo in the failure index.
pub(crate) const CANCELLED_LABEL: &str = FailureCode::Cancelled.as_str();

#[derive(Debug, Default)]
pub(crate) struct CargoSearchResults {
    pub(crate) cargo: Vec<CargoListItem>,
    pub(crate) outcomes: HashMap<CargoId, OutcomeSummary>,
    /// The error group or the host of cargo found in the failure index.
    pub(crate) labels: HashMap<CargoId, String>,
    /// The cursor of the next page, if there may be one.
    pub(crate) next: Option<CargoId>,
    /// Set if the limit ended the search: rows examined, and the time of the last one.
    pub(crate) examined: Option<(usize, Timestamp)>,
}

pub(crate) async fn find(
    shard: &Shard,
    project: ProjectId,
    filter: &CargoFilter,
    window: &TimeWindow,
) -> Result<CargoSearchResults, Error> {
    let whole = window.id_range(filter);
    let mut found = match filter.status.and_then(StatusFilter::failure_kind) {
        Some(kind) => find_failures(shard, project, filter, kind, whole).await?,
        None if filter.is_time_only() => {
            let read = cargo::list_newest(shard, project, whole, to_limit(PAGE_SIZE + 1)).await?;
            build_page(read, filter, false, None)
        }
        None => scan_cargo(shard, project, filter, window, whole).await?,
    };
    found.outcomes = cargo::list_outcome_summaries(shard, &found.cargo).await?;
    Ok(found)
}

async fn find_failures(
    shard: &Shard,
    project: ProjectId,
    filter: &CargoFilter,
    kind: FailureKind,
    whole: CargoIdRange,
) -> Result<CargoSearchResults, Error> {
    let label = match kind {
        FailureKind::Failed if filter.status == Some(StatusFilter::Cancelled) => {
            Some(CANCELLED_LABEL)
        }
        FailureKind::Failed => filter.group.as_deref(),
        FailureKind::CallbackFailed => filter.host.as_deref(),
    };
    let list = |limit| cargo::list_failures(shard, project, kind, label, whole, limit);
    let mut limit = if filter.has_column_filter() {
        MAX_EXAMINED
    } else {
        to_limit(PAGE_SIZE + 1)
    };
    let mut failures = list(limit).await?;
    // Failed and cancelled cargo are in one index: only a page with both needs more rows.
    let hides_cancelled = kind == FailureKind::Failed && label.is_none();
    let is_cancelled = |failure: &(CargoId, String)| failure.1 == CANCELLED_LABEL;
    if hides_cancelled && limit < MAX_EXAMINED && failures.iter().any(is_cancelled) {
        limit = MAX_EXAMINED;
        failures = list(limit).await?;
    }
    let examined = failures.len();
    let is_cut = limit == MAX_EXAMINED && to_limit(examined) == MAX_EXAMINED;
    let end = failures.last().map(|(id, _)| *id).filter(|_| is_cut);
    if hides_cancelled {
        failures.retain(|failure| !is_cancelled(failure));
    }
    let ids: Vec<CargoId> = failures.iter().map(|(id, _)| *id).collect();
    let read = cargo::list_by_ids(shard, project, &ids).await?;
    let mut found = build_page(read, filter, is_cut, None);
    // The page is not full: the search continues after the last row of the index.
    if let Some(end) = end
        && (found.next.is_none() || found.examined.is_some())
    {
        found.next = Some(end);
        found.examined = Some((examined, timestamp_of(end.uuid())));
    }
    found.labels = failures.into_iter().collect();
    Ok(found)
}

/// Reads one span after another until the page is full or the limit is reached.
async fn scan_cargo(
    shard: &Shard,
    project: ProjectId,
    filter: &CargoFilter,
    window: &TimeWindow,
    whole: CargoIdRange,
) -> Result<CargoSearchResults, Error> {
    let mut parts = vec![whole];
    if filter.model.is_some() || filter.key.is_some() {
        let (from, to) = window.listed_range();
        let query = loads::LoadFilter {
            project,
            from,
            to,
            model: filter.model.as_deref(),
            key: filter.key,
        };
        let hours = loads::count_by_hour(shard, query, MAX_HOURS).await?;
        let counted = shard.clock.now() - TimeDelta::hours(1);
        parts = search_spans::spans_with_loads(&hours, whole, counted);
    }
    let (mut read, mut left, mut passing) = (Vec::new(), MAX_EXAMINED, 0);
    let mut beyond = None;
    for (index, part) in parts.iter().enumerate() {
        if index == MAX_SPANS || left == 0 || passing > PAGE_SIZE {
            beyond = Some(CargoId::from_uuid(part.beyond));
            break;
        }
        let rows = cargo::list_newest(shard, project, *part, left).await?;
        left = left.saturating_sub(to_limit(rows.len()));
        passing += rows.iter().filter(|cargo| filter.matches(cargo)).count();
        read.extend(rows);
    }
    Ok(build_page(read, filter, left == 0, beyond))
}

/// The first page of the rows read. `is_cut`: more rows may follow.
fn build_page(
    read: Vec<CargoListItem>,
    filter: &CargoFilter,
    is_cut: bool,
    beyond: Option<CargoId>,
) -> CargoSearchResults {
    let (looked, last) = (
        read.len(),
        read.last().map(|last| (last.id, last.created_at)),
    );
    let mut cargo: Vec<CargoListItem> = read.into_iter().filter(|it| filter.matches(it)).collect();
    let is_full = cargo.len() > PAGE_SIZE;
    cargo.truncate(PAGE_SIZE);
    let (next, looked) = if is_full {
        (cargo.last().map(|last| last.id), None)
    } else {
        match (is_cut, beyond, last) {
            (true, _, Some((id, at))) | (false, Some(id), Some((_, at))) => {
                (Some(id), Some((looked, at)))
            }
            (true, None, None) | (_, Some(_), None) | (false, None, _) => (beyond, None),
        }
    };
    CargoSearchResults {
        cargo,
        next,
        examined: looked,
        ..CargoSearchResults::default()
    }
}

fn to_limit(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
