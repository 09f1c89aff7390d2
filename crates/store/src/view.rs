//! Read models for the dashboard and for lists of the API: one module per page. Each reads no more
//! rows than it shows.

pub mod balance;

pub mod batches;

pub mod callbacks;

pub mod cargo;

pub mod files;

pub mod groups;

pub mod loads;

pub mod models;

pub mod cargo_detail;

pub mod cargo_search;

pub mod cargo_summary;

pub mod operations;

pub mod overview;

pub mod people;

pub mod usage;
