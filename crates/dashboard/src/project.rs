//! Pages of a project: overview, cargo, groups, batches, files, callbacks, usage, models, keys, settings.

pub(crate) mod batches;

pub(crate) mod callback_settings;

pub(crate) mod callbacks;

pub(crate) mod files;

pub(crate) mod groups;

pub(crate) mod cargo;

pub(crate) mod key_names;

pub(crate) mod keys;

pub(crate) mod models;

mod alerts;

pub(crate) mod api_call;

pub(crate) mod overview;

pub(crate) mod settings;

pub(crate) mod usage;
