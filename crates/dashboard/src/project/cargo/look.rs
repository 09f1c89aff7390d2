//! Finds what a filter lets through, and says honestly how far it looked.

use std::collections::HashMap;

use chrono::TimeDelta;
use domain::id::{CargoId, ProjectId};
use domain::time::Timestamp;
use store::shard::trouble::Kind;
use store::view::cargo::{self, Came, Listed, Span};
use store::view::loads;
use store::{Error, Shard};

use crate::project::cargo::filter::Filter;
use crate::project::cargo::spans;
use crate::project::cargo::window::Window;

pub(crate) const PAGE: usize = 50;
/// What one request looks at, where it must look at what it does not show.
pub(crate) const MOST: u32 = 500;
/// So many parts of the time are looked at for one page.
const PARTS: usize = 12;
const HOURS: u32 = 1000;

#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) cargo: Vec<Listed>,
    pub(crate) came: HashMap<CargoId, Came>,
    /// The group of its error, or the host, of what is found among the troubles.
    pub(crate) labels: HashMap<CargoId, String>,
    /// Before which the next page begins, if there may be one.
    pub(crate) next: Option<CargoId>,
    /// The page is not full, for no more than this was looked at: so many, back to then.
    pub(crate) looked: Option<(usize, Timestamp)>,
}

pub(crate) async fn find(
    shard: &Shard,
    project: ProjectId,
    filter: &Filter,
    window: &Window,
) -> Result<Found, Error> {
    let whole = window.span(filter);
    let mut found = match filter.stand.and_then(|stand| stand.trouble()) {
        Some(kind) => among_troubles(shard, project, filter, kind, whole).await?,
        None if filter.is_plain() => {
            let read = cargo::newest(shard, project, whole, most(PAGE + 1)).await?;
            page(read, filter, false, None)
        }
        None => among_all(shard, project, filter, window, whole).await?,
    };
    found.came = cargo::came(shard, &found.cargo).await?;
    Ok(found)
}

async fn among_troubles(
    shard: &Shard,
    project: ProjectId,
    filter: &Filter,
    kind: Kind,
    whole: Span,
) -> Result<Found, Error> {
    let label = match kind {
        Kind::Failed => filter.group.as_deref(),
        Kind::CallbackFailed => filter.host.as_deref(),
    };
    let limit = if filter.is_of_rows() {
        MOST
    } else {
        most(PAGE + 1)
    };
    let troubles = cargo::troubles(shard, project, kind, label, whole, limit).await?;
    let is_cut = filter.is_of_rows() && troubles.len() == usize::try_from(MOST).unwrap_or_default();
    let ids: Vec<CargoId> = troubles.iter().map(|(id, _)| *id).collect();
    let read = cargo::these(shard, project, &ids).await?;
    let mut found = page(read, filter, is_cut, None);
    found.labels = troubles.into_iter().collect();
    Ok(found)
}

/// Looks at one part of the time after another, until a page is full or enough was looked at.
async fn among_all(
    shard: &Shard,
    project: ProjectId,
    filter: &Filter,
    window: &Window,
    whole: Span,
) -> Result<Found, Error> {
    let mut parts = vec![whole];
    if filter.model.is_some() || filter.key.is_some() {
        let (from, to) = window.listed();
        let asked = loads::Asked {
            project,
            from,
            to,
            model: filter.model.as_deref(),
            key: filter.key,
        };
        let hours = loads::hours(shard, asked, HOURS).await?;
        let counted = shard.clock.now() - TimeDelta::hours(1);
        parts = spans::of(&hours, whole, counted);
    }
    let (mut read, mut left, mut passing) = (Vec::new(), MOST, 0);
    let mut beyond = None;
    for (place, part) in parts.iter().enumerate() {
        if place == PARTS || left == 0 || passing > PAGE {
            beyond = Some(CargoId::from_uuid(part.beyond));
            break;
        }
        let rows = cargo::newest(shard, project, *part, left).await?;
        left = left.saturating_sub(most(rows.len()));
        passing += rows.iter().filter(|cargo| filter.lets(cargo)).count();
        read.extend(rows);
    }
    Ok(page(read, filter, left == 0, beyond))
}

/// The first page of what was read. `is_cut`: there may be more behind the last of it.
fn page(read: Vec<Listed>, filter: &Filter, is_cut: bool, beyond: Option<CargoId>) -> Found {
    let (looked, last) = (
        read.len(),
        read.last().map(|last| (last.id, last.created_at)),
    );
    let mut cargo: Vec<Listed> = read.into_iter().filter(|it| filter.lets(it)).collect();
    let is_full = cargo.len() > PAGE;
    cargo.truncate(PAGE);
    let (next, looked) = if is_full {
        (cargo.last().map(|last| last.id), None)
    } else {
        match (is_cut, beyond, last) {
            (true, _, Some((id, at))) => (Some(id), Some((looked, at))),
            (_, Some(id), Some((_, at))) => (Some(id), Some((looked, at))),
            (true, None, None) | (_, Some(_), None) | (false, None, _) => (beyond, None),
        }
    };
    Found {
        cargo,
        next,
        looked,
        ..Found::default()
    }
}

fn most(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
