//! What pages read: nothing here changes a row, and nothing reads far more than it shows.

pub mod cargo;

pub mod loads;

pub mod one_cargo;
