//! What pages read: one module for each page, no more rows than it shows.

pub mod balance;

pub mod batches;

pub mod callbacks;

pub mod files;

pub mod models;

pub mod operations;

pub mod overview;

pub mod people;

pub mod usage;
