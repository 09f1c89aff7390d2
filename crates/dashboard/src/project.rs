//! A project: its batches, files and callbacks, what it used, its models, keys and settings.

pub(crate) mod batches;

pub(crate) mod callbacks;

pub(crate) mod files;

pub(crate) mod cargo;

pub(crate) mod key_names;

pub(crate) mod keys;

pub(crate) mod models;

mod needs;

pub(crate) mod overview;

pub(crate) mod settings;

pub(crate) mod usage;
