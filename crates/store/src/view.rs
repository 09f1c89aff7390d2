//! Read models for the dashboard: one module per page. Each reads no more rows than it shows.

pub mod balance;

pub mod batches;

pub mod callbacks;

pub mod cargo;

pub mod files;

pub mod loads;

pub mod models;

pub mod cargo_detail;

pub mod operations;

pub mod overview;

pub mod people;

pub mod usage;
