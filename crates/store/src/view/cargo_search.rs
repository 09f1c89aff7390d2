//! `GET /cargo`: finds the cargo of a project that match filters, newest first, within a bounded
//! number of rows.

use chrono::TimeDelta;
use domain::cargo::CargoStatus;
use domain::cargo_group::CustomId;
use domain::group_digest;
use domain::id::{self, CargoId, GroupId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::cargo_id_range::CargoIdRange;
use crate::shard::failure_index::FailureKind;
use crate::shard::project_keys;
use crate::view::cargo::{self, CargoListItem};

/// A filter without an index reads so many pages of rows for one page.
const MAX_PAGES_READ: u32 = 10;
/// Ids may be so much ahead of this process's clock.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::hours(1);
/// The resolution of the time in an id.
const ID_RESOLUTION: TimeDelta = TimeDelta::milliseconds(1);

/// The filters of a list. None and an empty list do not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CargoSearch {
    pub statuses: Vec<CargoStatus>,
    pub success: Option<bool>,
    pub model: Option<String>,
    /// With its port.
    pub callback_host: Option<String>,
    pub group: Option<GroupId>,
    /// Within the group.
    pub custom_id: Option<CustomId>,
    /// Inclusive.
    pub created_after: Option<Timestamp>,
    /// Exclusive.
    pub created_before: Option<Timestamp>,
    /// Only cargo with a smaller id: the cursor.
    pub before: Option<CargoId>,
}

/// A page of the list.
#[derive(Debug, Default)]
pub struct CargoSearchPage {
    pub cargo: Vec<CargoListItem>,
    /// The cursor of the next page; None if there is none.
    pub next: Option<CargoId>,
    /// How far the search came, if it ended before the page was full.
    pub looked_until: Option<Timestamp>,
}

/// Where cargo ids come from, newest first.
#[derive(Debug, Clone, Copy)]
enum CargoSource<'a> {
    Project,
    Failures {
        kind: FailureKind,
        label: Option<&'a str>,
    },
    Group(GroupId),
}

/// Cargo that was read. Rows of an index whose cargo is gone count, too.
struct ReadRows {
    cargo: Vec<CargoListItem>,
    count: usize,
    last: Option<Uuid>,
}

/// The newest cargo that match, at most `limit`.
pub async fn find(
    shard: &Shard,
    project: ProjectId,
    search: &CargoSearch,
    limit: u32,
) -> Result<CargoSearchPage, Error> {
    let mut rest = search.id_range(shard.clock.now());
    if let (Some(group), Some(custom_id)) = (search.group, &search.custom_id) {
        return find_by_custom_id(shard, project, search, group, custom_id).await;
    }
    let source = search.source();
    let page_size = usize::try_from(limit).unwrap_or(usize::MAX);
    // One row more than the page shows whether there is another page.
    let rows_per_read = limit.saturating_add(1);
    let mut page = CargoSearchPage::default();
    for _ in 0..MAX_PAGES_READ {
        let read = source.read(shard, project, rest, rows_per_read).await?;
        let matching = read.cargo.into_iter().filter(|it| search.matches(it));
        page.cargo.extend(matching);
        if page.cargo.len() > page_size {
            page.cargo.truncate(page_size);
            page.next = page.cargo.last().map(|last| last.id);
            return Ok(page);
        }
        let Some(last) = read.last.filter(|_| read.count > page_size) else {
            return Ok(page);
        };
        rest.beyond = last;
    }
    page.next = Some(CargoId::from_uuid(rest.beyond));
    page.looked_until = Some(id::timestamp_of(rest.beyond));
    Ok(page)
}

async fn find_by_custom_id(
    shard: &Shard,
    project: ProjectId,
    search: &CargoSearch,
    group: GroupId,
    custom_id: &CustomId,
) -> Result<CargoSearchPage, Error> {
    let range = search.id_range(shard.clock.now());
    let found = find_member(shard, project, group, custom_id).await?;
    let found = found.filter(|id| (range.first..range.beyond).contains(&id.uuid()));
    let cargo = cargo::list_by_ids(shard, project, found.as_slice()).await?;
    let matching = cargo.into_iter().filter(|it| search.matches(it));
    Ok(CargoSearchPage {
        cargo: matching.collect(),
        ..CargoSearchPage::default()
    })
}

/// The cargo with a custom id. A row from before encryption was switched on has a plain digest.
async fn find_member(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
    custom_id: &CustomId,
) -> Result<Option<CargoId>, Error> {
    let keys = project_keys::write_keys(shard, [(project, 0)]).await?;
    let plain = group_digest::custom_id_digest(custom_id.as_str());
    let digests = [plain.to_vec(), keys.find(project)?.stored_digest(&plain)];
    let found = sqlx::query_scalar!(
        "select m.cargo from shard.group_member m
         where m.group_id = $1 and m.custom_id_digest = any($2)
             and exists (select from shard.cargo_group g where g.id = $1 and g.project = $3)
         limit 1",
        group.uuid(),
        digests.as_slice(),
        project.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    Ok(found.map(CargoId::from))
}

/// The newest cargo of a group in a range of ids. A group of another project has none: the cursor
/// of a page would show when its cargo was loaded.
async fn list_members(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
    span: CargoIdRange,
    most: u32,
) -> Result<Vec<CargoId>, Error> {
    let rows = sqlx::query_scalar!(
        "select m.cargo from shard.group_member m
         where m.group_id = $1 and m.cargo >= $2 and m.cargo < $3
             and exists (select from shard.cargo_group g where g.id = $1 and g.project = $5)
         order by m.cargo desc limit $4",
        group.uuid(),
        span.first,
        span.beyond,
        i64::from(most),
        project.uuid()
    )
    .fetch_all(&shard.reads)
    .await?;
    Ok(rows.into_iter().map(CargoId::from).collect())
}

impl CargoSource<'_> {
    async fn read(
        self,
        shard: &Shard,
        project: ProjectId,
        span: CargoIdRange,
        most: u32,
    ) -> Result<ReadRows, Error> {
        let ids: Vec<CargoId> = match self {
            Self::Project => {
                let cargo = cargo::list_newest(shard, project, span, most).await?;
                return Ok(ReadRows {
                    count: cargo.len(),
                    last: cargo.last().map(|last| last.id.uuid()),
                    cargo,
                });
            }
            Self::Failures { kind, label } => {
                let rows = cargo::list_failures(shard, project, kind, label, span, most).await?;
                rows.into_iter().map(|(id, _)| id).collect()
            }
            Self::Group(group) => list_members(shard, project, group, span, most).await?,
        };
        Ok(ReadRows {
            cargo: cargo::list_by_ids(shard, project, &ids).await?,
            count: ids.len(),
            last: ids.last().map(|last| last.uuid()),
        })
    }
}

impl CargoSearch {
    fn id_range(&self, now: Timestamp) -> CargoIdRange {
        let latest = now + CLOCK_TOLERANCE;
        // Wider than the filter by the resolution of ids; `matches` compares exactly.
        let before = self.created_before.map(|before| before + ID_RESOLUTION);
        let beyond = id::first_id_at(before.map_or(latest, |before| before.min(latest)));
        CargoIdRange {
            first: self.created_after.map_or(Uuid::nil(), id::first_id_at),
            beyond: self
                .before
                .map_or(beyond, |cursor| beyond.min(cursor.uuid())),
        }
    }

    /// The smallest set of rows that has all cargo that match.
    fn source(&self) -> CargoSource<'_> {
        if let Some(group) = self.group {
            return CargoSource::Group(group);
        }
        if self.statuses == [CargoStatus::Undeliverable] {
            return CargoSource::Failures {
                kind: FailureKind::CallbackFailed,
                label: self.callback_host.as_deref(),
            };
        }
        if self.success == Some(false) {
            return CargoSource::Failures {
                kind: FailureKind::Failed,
                label: None,
            };
        }
        CargoSource::Project
    }

    fn matches(&self, cargo: &CargoListItem) -> bool {
        let has_status = self.statuses.is_empty() || self.statuses.contains(&cargo.status());
        let is_after = self.created_after.is_none_or(|it| cargo.created_at >= it);
        let is_before = self.created_before.is_none_or(|it| cargo.created_at < it);
        let has_host = self.callback_host.is_none() || self.callback_host == cargo.callback_host;
        let has_success = self.success.is_none() || self.success == cargo.success;
        let has_model = self.model.as_ref().is_none_or(|it| *it == cargo.model);
        has_status && is_after && is_before && has_host && has_success && has_model
    }
}
