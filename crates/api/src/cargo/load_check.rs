//! The checks of one load that need no limit and no account. Loads and estimates share them.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use domain::admission;
use domain::callback_url::CallbackUrl;
use domain::file::ReferencedFile;
use domain::hold::Hold;
use domain::id::FileId;
use domain::idempotency::IdempotencyKey;
use domain::load_warning::LoadWarning;
use domain::model::{Catalogue, Model};
use domain::params::Params;
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
use store::shard::file::reference;

use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::cargo::{membership, request_features};
use crate::group_commit::GroupMembership;
use crate::load_validation::{self, LoadRules, ValidLoad};
use crate::state::App;

/// One load, as it is sent alone or as an item of a bulk load.
#[derive(Debug)]
pub(super) struct LoadInput {
    pub(super) body: Bytes,
    pub(super) key: Option<IdempotencyKey>,
    /// A field of the body that the route has read already, so it is not an unknown one.
    pub(super) read_field: Option<&'static str>,
    /// The span of the request, if it is traced.
    pub(super) trace: Option<TraceContext>,
}

/// A load that passed every check before the rate limit.
#[derive(Debug)]
pub(super) struct CheckedLoad<'a> {
    pub(super) model: &'a Model,
    pub(super) params: Params,
    /// An entry for each reference.
    pub(super) files: Vec<ReferencedFile>,
    pub(super) hold: Hold,
    /// The caller's deadline.
    pub(super) deadline_at: Option<Timestamp>,
    pub(super) checked_at: Timestamp,
    pub(super) callback: Option<CallbackUrl>,
    pub(super) metadata: Option<String>,
    pub(super) warnings: Vec<LoadWarning>,
    pub(super) membership: Option<GroupMembership>,
}

/// A load that could be stored once, and cannot be any more: its files are gone, or its deadline
/// has passed. If it was stored before, it is answered as then.
#[derive(Debug)]
pub(super) struct RefusedLoad {
    pub(super) error: ApiError,
    /// Boxed, because it is large and rare.
    pub(super) membership: Option<Box<GroupMembership>>,
}

/// A load that passed every check but that of its files.
#[derive(Debug)]
pub(super) struct UnresolvedLoad<'a> {
    model: &'a Model,
    params: Params,
    deadline_at: Option<Timestamp>,
    checked_at: Timestamp,
    callback: Option<CallbackUrl>,
    metadata: Option<String>,
    warnings: Vec<LoadWarning>,
    membership: Option<GroupMembership>,
}

/// Checks one load without storing anything.
pub(super) async fn check_load<'a>(
    app: &App,
    caller: &Caller,
    input: &LoadInput,
    catalogue: &'a Catalogue,
) -> Result<Result<CheckedLoad<'a>, RefusedLoad>, ApiError> {
    let load = match check_fields(app, caller, input, catalogue)? {
        Ok(load) => load,
        Err(refused) => return Ok(Err(refused)),
    };
    let shard = &app.shard_handle(caller.berth)?.shard;
    let files: Vec<FileId> = load.file_ids().into_iter().collect();
    let found = reference::find(shard, caller.project, &files).await?;
    Ok(load.resolve(&found, shard.clock.now()))
}

/// Checks everything that needs no database.
pub(super) fn check_fields<'a>(
    app: &App,
    caller: &Caller,
    input: &LoadInput,
    catalogue: &'a Catalogue,
) -> Result<Result<UnresolvedLoad<'a>, RefusedLoad>, ApiError> {
    let valid = parse_input(input, &app.rules)?;
    request_features::check_conversation(&valid.params)?;
    let model = admission::admit(&valid.params, catalogue)?;
    caller.check_model(&model.id)?;
    let membership = membership::resolve(caller, &valid)?;
    let warnings = request_features::check_features(&valid.params, model, valid.warnings)?;
    let checked_at = app.shard_handle(caller.berth)?.shard.clock.now();
    let deadline = valid.deadline.map(|deadline| deadline.resolve(checked_at));
    let deadline_at = match deadline.transpose() {
        Ok(deadline_at) => deadline_at,
        Err(error) => {
            let membership = membership.map(Box::new);
            return Ok(Err(RefusedLoad { error, membership }));
        }
    };
    Ok(Ok(UnresolvedLoad {
        model,
        params: valid.params,
        deadline_at,
        checked_at,
        callback: valid.callback,
        metadata: valid.metadata,
        warnings,
        membership,
    }))
}

impl<'a> UnresolvedLoad<'a> {
    pub(super) fn file_ids(&self) -> BTreeSet<FileId> {
        self.params.file_ids()
    }

    /// Checks the files, which were read without a lock. The writer checks them again under a lock.
    pub(super) fn resolve(
        self,
        found: &HashMap<FileId, ReferencedFile>,
        now: Timestamp,
    ) -> Result<CheckedLoad<'a>, RefusedLoad> {
        let files = match admission::resolve_file_references(&self.params, found, now) {
            Ok(files) => files,
            Err(refusal) => {
                return Err(RefusedLoad {
                    error: refusal.into(),
                    membership: self.membership.map(Box::new),
                });
            }
        };
        Ok(CheckedLoad {
            hold: Hold::of(&self.params, self.model, &files),
            model: self.model,
            params: self.params,
            files,
            deadline_at: self.deadline_at,
            checked_at: self.checked_at,
            callback: self.callback,
            metadata: self.metadata,
            warnings: self.warnings,
            membership: self.membership,
        })
    }
}

fn parse_input(input: &LoadInput, rules: &LoadRules) -> Result<ValidLoad, ApiError> {
    let mut valid = load_validation::parse_load(&input.body, rules)?;
    if let Some(field) = input.read_field {
        valid.warnings.retain(|warning| warning.field != field);
    }
    Ok(valid)
}
