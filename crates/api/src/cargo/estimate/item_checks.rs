//! Checks the loads of an estimate, each as `POST /cargo/load` would.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use domain::file::ReferencedFile;
use domain::hold::TokenBounds;
use domain::id::{FileId, ProjectId};
use domain::lane::Lane;
use domain::load_estimate::EstimatedLoad;
use store::shard::file::reference;
use tokio::task::yield_now;
use wire::bulk::RefusedItem;

use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::cargo::load_check::{self, LoadInput, UnresolvedLoad};
use crate::cargo::{bulk, lane_choice};
use crate::state::{App, ShardHandle};

/// More than honest requests name.
const MAX_FILES_PER_QUERY: usize = 10_000;

/// The loads of a request, as they were sent.
#[derive(Debug)]
pub(super) enum RequestedItems {
    Single(Bytes),
    Bulk(Vec<Bytes>),
}

/// A load that would be accepted, if limits and credit suffice.
#[derive(Debug)]
pub(super) struct EstimatedItem {
    pub(super) load: EstimatedLoad,
    /// The lane that it would join. It may not exist yet.
    pub(super) lane: Lane,
}

#[derive(Debug, Default)]
pub(super) struct CheckedItems {
    pub(super) valid: Vec<EstimatedItem>,
    pub(super) faults: Vec<RefusedItem>,
}

/// A failure on our side is an error of the whole request, because the figures would be too low.
pub(super) async fn check_items(
    app: &App,
    caller: &Caller,
    requested: RequestedItems,
) -> Result<CheckedItems, ApiError> {
    let inputs: Vec<Result<LoadInput, ApiError>> = match requested {
        RequestedItems::Single(body) => vec![Ok(LoadInput {
            body,
            key: None,
            read_field: None,
            trace: None,
        })],
        RequestedItems::Bulk(bodies) => bodies
            .into_iter()
            .enumerate()
            .map(|(index, body)| bulk::with_key(body, None, index))
            .collect(),
    };
    let catalogue = Arc::clone(&app.catalogue.borrow());
    let mut loads = Vec::with_capacity(inputs.len());
    for input in inputs {
        // A thousand loads never wait, so other requests would.
        yield_now().await;
        let load = input.and_then(|it| load_check::check_fields(app, caller, &it, &catalogue));
        loads.push(load.and_then(|load| load.map_err(|refused| refused.error)));
    }
    let handle = app.shard_handle(caller.berth)?;
    let named = loads.iter().flatten().flat_map(UnresolvedLoad::file_ids);
    let files = find_files(handle, caller.project, named.collect()).await?;
    let mut checked = CheckedItems::default();
    for (index, load) in loads.into_iter().enumerate() {
        yield_now().await;
        let item = match load {
            Ok(load) => resolve_item(handle, load, &files).await,
            Err(error) => Err(error),
        };
        match item {
            Ok(item) => checked.valid.push(item),
            Err(error) if error.status().is_server_error() => return Err(error),
            Err(error) => checked.faults.push(bulk::describe_refusal(index, error)),
        }
    }
    Ok(checked)
}

/// Reads the files of all loads together, so that an estimate costs the database less than the
/// loads would.
async fn find_files(
    handle: &ShardHandle,
    project: ProjectId,
    named: BTreeSet<FileId>,
) -> Result<HashMap<FileId, ReferencedFile>, ApiError> {
    let named: Vec<FileId> = named.into_iter().collect();
    let mut found = HashMap::new();
    for ids in named.chunks(MAX_FILES_PER_QUERY) {
        found.extend(reference::find(&handle.shard, project, ids).await?);
    }
    Ok(found)
}

async fn resolve_item(
    handle: &ShardHandle,
    load: UnresolvedLoad<'_>,
    files: &HashMap<FileId, ReferencedFile>,
) -> Result<EstimatedItem, ApiError> {
    let checked = load.resolve(files, handle.shard.clock.now());
    let checked = checked.map_err(|refused| refused.error)?;
    let (model, now) = (checked.model, checked.checked_at);
    let way = lane_choice::choose_way(handle, model, checked.deadline_at, now).await;
    let load = EstimatedLoad {
        bounds: TokenBounds::of(&checked.params, model, &checked.files),
        hold: checked.hold,
        realtime: model.prices.and_then(|prices| prices.realtime),
    };
    Ok(EstimatedItem {
        load,
        lane: way.lane,
    })
}
