//! A project: its keys and its settings.

pub(crate) mod keys;

pub(crate) mod settings;
