//! The pages of one project.

pub(crate) mod cargo;

pub(crate) mod keys;

pub(crate) mod settings;
