//! What pages are read from: one file for each page. Nothing here changes a row.

pub mod files;

pub mod operations;

pub mod people;
