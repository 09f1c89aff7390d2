//! People: how they come in, what they belong to, and what they changed.

pub(crate) mod account;

pub(crate) mod audit;

pub(crate) mod elsewhere;

pub(crate) mod home;

pub(crate) mod invitation;

pub(crate) mod members;

pub(crate) mod organizations;

mod password;

pub(crate) mod reset;

pub(crate) mod setup;

pub(crate) mod sign_in;
