//! A project: what it used and what became of it, its files, its keys and its settings.

pub(crate) mod files;

pub(crate) mod keys;

mod needs;

pub(crate) mod overview;

pub(crate) mod settings;

pub(crate) mod usage;
