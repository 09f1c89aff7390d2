//! A project: its files, its keys and its settings.

pub(crate) mod files;

pub(crate) mod keys;

pub(crate) mod settings;
